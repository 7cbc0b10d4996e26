import { expect, it } from 'vitest';
import { shown } from './terminal.ts';

const ESC = '\u001B';

it.each([
  ['plain text, tabs and umlauts', 'a\tü 1', 'a\tü 1'],
  ['colours, which end with the line', `${ESC}[1;31mred${ESC}[0m x`, `${ESC}[1;31mred${ESC}[0m x${ESC}[0m`],
  ['a line of Windows', 'a\r', 'a'],
  ['a title', `${ESC}]0;T\u0007x`, '\uFFFD]0;T\uFFFDx'],
  ['a cursor that moves, and a screen that is cleared', `${ESC}[2J${ESC}[1;1Hx`, '\uFFFD[2J\uFFFD[1;1Hx'],
  ['the beginning of another line', 'a\r[pod/shop-2/server] b', 'a\uFFFD[pod/shop-2/server] b'],
  ['C1 controls and text from right to left', '\u009B2Jx\u202Ey', '\uFFFD2Jx\uFFFDy'],
] as const)('shows %s', (_what, line, text) => {
  expect(shown(line, { isShown: true })).toBe(text);
  expect(shown(line, { isShown: false })).toBe(line);
});
