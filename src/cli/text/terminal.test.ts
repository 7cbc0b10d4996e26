import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { onTerminal } from '../transport/kubectl.ts';
import { forTerminal } from './terminal.ts';

const ESC = '\u001B';

it.each([
  ['plain text, tabs and umlauts', 'a\tü 1', 'a\tü 1'],
  ['colours, which end with the line', `${ESC}[1;31mred${ESC}[0m x`, `${ESC}[1;31mred${ESC}[0m x${ESC}[0m`],
  ['a line of Windows', 'a\r', 'a'],
  ['a title', `${ESC}]0;T\u0007x`, '\uFFFD]0;T\uFFFDx'],
  ['a cursor that moves, and a screen that is cleared', `${ESC}[2J${ESC}[1;1Hx`, '\uFFFD[2J\uFFFD[1;1Hx'],
  ['the beginning of another line', 'a\r[pod/shop-2/server] b', 'a\uFFFD[pod/shop-2/server] b'],
  ['C1 controls and text from right to left', '\u009B2Jx\u202Ey', '\uFFFD2Jx\uFFFDy'],
] as const)('shows %s', (_what, line, shown) => {
  expect(forTerminal(line)).toBe(shown);
});

it("gives the lines of a program that it runs, whole, however they come, and the program's exit code", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'davit-terminal-'));
  const program = join(folder, 'kubectl');
  await writeFile(
    program,
    `#!/bin/sh\nprintf 'one\\ntw'\nsleep 0.1\nprintf 'o \\303'\nsleep 0.1\nprintf '\\274\\nthree'\nexit 3\n`,
  );
  await chmod(program, 0o755);
  const lines: string[] = [];
  const code = await onTerminal([], [], { program, onLine: (line) => lines.push(line) });
  expect([code, lines]).toEqual([3, ['one', 'two ü', 'three']]);
  await rm(folder, { recursive: true });
});
