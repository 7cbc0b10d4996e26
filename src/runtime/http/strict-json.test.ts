// Bodies that mean two things, or that are only there to be a burden.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HttpError } from './http-error.ts';
import { parseBody } from './strict-json.ts';

function refusal(text: string | Buffer): string {
  try {
    parseBody(Buffer.from(text));
  } catch (error) {
    if (error instanceof HttpError && error.status === 400 && typeof error.detail === 'string') return error.detail;
    throw error;
  }
  return '';
}

describe('a body', () => {
  it.each([
    ['no JSON', '{"a":', 'The body is not valid JSON at line 1, column 6: the text ends too early.'],
    ['two values', '{} {}', 'The body is not valid JSON at line 1, column 4: "{" is not expected here.'],
    [
      'a byte order mark in the middle',
      '{"a":\u{feff}1}',
      'The body is not valid JSON at line 1, column 6: "\ufeff" is not expected here.',
    ],
    [
      'brackets without end',
      '['.repeat(500_000),
      // Found before the text is parsed: parsing it delays everybody else.
      'The body is nested more than 64 deep.',
    ],
    [
      'a string without end',
      '{"a":"b',
      'The body is not valid JSON at line 1, column 6: the string that begins here has no closing quote.',
    ],
    [
      'a key without end',
      '{"a\\',
      'The body is not valid JSON at line 1, column 2: the string that begins here has no closing quote.',
    ],
    [
      'a key that is no string',
      '{"\\x":1}',
      'The body is not valid JSON at line 1, column 2: the string that begins here has an invalid escape, \\x.',
    ],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'The body is not valid UTF-8.'],
    ['a key twice', '{"name":"a","name":"b"}', 'The body has the key "name" twice in one object.'],
    ['a key twice, once escaped', '{"name":1,"n\\u0061me":2}', 'The body has the key "name" twice in one object.'],
    [
      'a key twice, deep inside',
      '{"a":[{"b":{"c":1,"d":"}","c":2}}]}',
      'The body has the key "c" twice in one object.',
    ],
    ['__proto__', '{"a":{"__proto__":{"b":1}}}', 'The body has the key "__proto__", which is not a field.'],
    ['lists in lists', '['.repeat(65) + ']'.repeat(65), 'The body is nested more than 64 deep.'],
    ['objects in objects', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, 'The body is nested more than 64 deep.'],
    ['a megabyte of brackets', '['.repeat(500_000) + ']'.repeat(500_000), 'The body is nested more than 64 deep.'],
    [
      'too many keys',
      `{${Array.from({ length: 20_001 }, (_, n) => `"${n}":0`).join(',')}}`,
      'The body has more than 20000 keys.',
    ],
    ['too many items', `[${'1,'.repeat(10_000)}1]`, 'The body has more than 10000 items in its lists.'],
    [
      'too many items in many lists',
      `{"a":[${'[1,2],'.repeat(5000)}[1]]}`,
      'The body has more than 10000 items in its lists.',
    ],
  ])('with %s is refused', (_name, text, words) => {
    expect(refusal(text)).toBe(words);
  });

  it.each([
    ['the same key in two objects', '[{"a":1},{"a":2}]'],
    ['a value like a key', '{"a":"a","b":"a"}'],
    ['quotes and braces in strings', '{"a":"\\"}{][,:","b":["\\\\","x:"]}'],
    ['64 deep', '['.repeat(64) + ']'.repeat(64)],
    ['one string', '"a"'],
  ])('with %s is taken', (_name, text) => {
    expect(parseBody(Buffer.from(text))).toEqual(JSON.parse(text));
  });

  it('is what JSON.parse makes of it, whatever it is', () => {
    // Not __proto__, and not deep: those have rows of their own.
    const value = fc.jsonValue({ maxDepth: 8 }).filter((made) => !JSON.stringify(made).includes('__proto__'));
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2, '\t'), (made, space) => {
        const text = JSON.stringify(made, undefined, space);
        expect(parseBody(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('of a megabyte takes a moment', () => {
    const escapes = `"${'\\"'.repeat(500_000)}"`;
    const begin = process.cpuUsage();
    parseBody(Buffer.from(`[${escapes}]`));
    expect(process.cpuUsage(begin).user / 1000).toBeLessThan(500);
  });
});
