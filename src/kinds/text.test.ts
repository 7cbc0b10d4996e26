import { describe, expect, it } from 'vitest';
import { LONGEST_MESSAGE, listed, quoted, shortened } from './text.ts';

describe('shortened', () => {
  it.each([
    { of: 'short', most: 10, gives: 'short' },
    { of: 'exactly ten', most: 11, gives: 'exactly ten' },
    { of: 'exactly ten!', most: 11, gives: 'exactly te…' },
    { of: 'ab😀cd', most: 4, gives: 'ab…' },
    {
      of: 'a\u001B[31m\u0000b\u007F\u009B\u202E\uFEFF\n\t',
      most: 20,
      gives: 'a\uFFFD[31m\uFFFDb\uFFFD\uFFFD\uFFFD\uFFFD\n\t',
    },
    { of: 'half \uD83D', most: 10, gives: 'half \uFFFD' },
  ])('$of in $most: $gives', ({ of, most, gives }) => expect(shortened(of, most)).toBe(gives));
});

describe('quoted', () => {
  it('is one line without its full stop', () => expect(quoted(' a\n  b.\n')).toBe('a b'));
  it('is bounded', () => expect(quoted('x'.repeat(5_000_000)).length).toBe(1024));
  it.each([
    { of: 'colours', text: '\u001B[31ma\u009B0m b' },
    { of: 'titles and links', text: '\u001B]0;title\u0007a \u001B]8;;https://x.example\u001B\\b' },
    { of: 'other functions', text: '\u001B7a\u001B(B b' },
  ])('leaves out $of', ({ text }) => expect(quoted(text)).toBe('a b'));
  it('keeps the text of a title without its end', () => expect(quoted('\u001B]0;a b')).toBe('0;a b'));
  it('is empty for nothing', () => expect(quoted(undefined)).toBe(''));
});

describe('listed', () => {
  it('a short list is whole', () => expect(listed(['a', 'b'])).toBe('a, b'));
  it('of a long one the beginning, and how many more', () => {
    const items = Array.from({ length: 107 }, (_, index) => `s${index}`);
    expect(listed(items)).toMatch(/^s0, s1, .*, s19 … and 87 more$/);
  });
  it('of long names fewer', () => {
    const text = listed(Array.from({ length: 100 }, (_, index) => `${index}${'n'.repeat(500)}`));
    expect(text.length).toBeLessThan(LONGEST_MESSAGE * 0.6);
    expect(text).toMatch(/… and 9\d more$/);
  });
});
