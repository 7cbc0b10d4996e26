import fc from 'fast-check';
import { expect, it } from 'vitest';
import { errorPosition } from './json-error.ts';

it.each<[string, number, number]>([
  ['', 1, 1],
  ['{', 1, 2],
  ['{\n  "a": 1,\n}', 3, 1],
  ['{\n  "a" 1}', 2, 7],
  ['[1, 2', 1, 6],
  ['[1,,2]', 1, 4],
  ['{"a": tru}', 1, 7],
  ['{} x', 1, 4],
  ['// x\n{}', 1, 1],
  ['{"a": "x\n"}', 1, 7],
  ["{'a': 1}", 1, 2],
  ['{"a": 01}', 1, 8],
])('%j: line %i, column %i', (text, line, column) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  expect(errorPosition(text)).toEqual({ line, column });
});

it('stops at the thousandth level, which is deeper than anything that is meant', () => {
  expect(errorPosition('['.repeat(500_000))).toEqual({ line: 1, column: 1002 });
  expect(errorPosition(`${'['.repeat(1000)}1${']'.repeat(1000)} x`)).toEqual({ line: 1, column: 2003 });
});

it('finds no error within valid JSON', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(errorPosition(`${text}\n#`)).toEqual({ line: 2, column: 1 });
    }),
  );
});

it.each<[string, string]>([
  ['a text without an end', '{"a": "'],
  ['a control character in a text', '{"a": "\u0001", "b": "'],
  ['a line break in a text, as in a PEM', '{"key": "-----BEGIN KEY-----\n'],
  ['an escape that is none', String.raw`{"a": "\x`],
  ['texts in a list that does not end', '["a", "b\\n", '],
  ['spaces before what is missing', '[1 '],
])('takes linear time where it finds %s', (_name, text) => {
  const [start, end] = [text.slice(0, -1), text.slice(-1)];
  const begin = process.cpuUsage();
  for (const filler of ['a', 'a\\n', '\\u0041', '"', '\\"', ' ', '1,', '"a",', '"a":'])
    errorPosition(`${start}${filler.repeat(100_000)}${end}${filler.repeat(100_000)}`);
  expect(process.cpuUsage(begin).user / 1000).toBeLessThan(2000);
});
