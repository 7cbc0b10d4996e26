import fc from 'fast-check';
import { expect, it } from 'vitest';
import { syntaxFault } from './json-error.ts';

it.each<[string, number, number, string]>([
  ['', 1, 1, 'the text ends too early'],
  ['{', 1, 2, 'the text ends too early'],
  ['{\n  "a": 1,\n}', 3, 1, '"}" is not expected here'],
  ['{\n  "a" 1}', 2, 7, '"1" is not expected here'],
  ['[1, 2', 1, 6, 'the text ends too early'],
  ['[1,,2]', 1, 4, '"," is not expected here'],
  ['{"a": tru}', 1, 7, '"t" is not expected here'],
  ['{} x', 1, 4, '"x" is not expected here'],
  ['// x\n{}', 1, 1, '"/" is not expected here'],
  ['{"a": "x\n"}', 1, 7, 'the string that begins here contains a line break, which JSON writes as \\n'],
  ['{"a": "x\u0001"}', 1, 7, 'the string that begins here contains the control character "\\u0001"'],
  ['{"a": "x', 1, 7, 'the string that begins here has no closing quote'],
  ['{"a": "x\\', 1, 7, 'the string that begins here has no closing quote'],
  [String.raw`["ok", "C:\Users"]`, 1, 8, String.raw`the string that begins here has an invalid escape, \U`],
  ["{'a': 1}", 1, 2, '"\'" is not expected here'],
  ['{"a": 01}', 1, 8, '"1" is not expected here'],
  ['[\u{1F600}]', 1, 2, '"\u{1F600}" is not expected here'],
])('%j: line %i, column %i: %s', (text, line, column, why) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  expect(syntaxFault(text)).toEqual({ line, column, why });
});

it('stops at the thousandth level, which is deeper than anything that is meant', () => {
  expect(syntaxFault('['.repeat(500_000))).toEqual({
    line: 1,
    column: 1002,
    why: 'it is nested more than 1000 deep',
  });
  expect(syntaxFault(`${'['.repeat(1000)}1${']'.repeat(1000)} x`)).toMatchObject({ line: 1, column: 2003 });
});

it('finds no error within valid JSON', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(syntaxFault(`${text}\n#`)).toMatchObject({ line: 2, column: 1 });
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
    syntaxFault(`${start}${filler.repeat(100_000)}${end}${filler.repeat(100_000)}`);
  expect(process.cpuUsage(begin).user / 1000).toBeLessThan(2000);
});
