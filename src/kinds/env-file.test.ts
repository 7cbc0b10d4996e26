import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEnvText } from './env-file.ts';

describe('a .env file', () => {
  it('is read in its order, with quotes, comments, several lines and export', () => {
    const text =
      '\uFEFF# sizes\r\nZ=1\r\nexport B = two words # why\n\nA="a\\nb"  # c\nC=\'a\\n#b\'\nD=`"`\nE=\nF="x\ny"';
    expect(readEnvText(text, 'x')).toEqual({
      variables: [
        { name: 'Z', value: '1' },
        { name: 'B', value: 'two words' },
        { name: 'A', value: 'a\nb' },
        { name: 'C', value: 'a\\n#b' },
        { name: 'D', value: '"' },
        { name: 'E', value: '' },
        { name: 'F', value: 'x\ny' },
      ],
    });
    expect(readEnvText('# nothing\n\n', 'x')).toEqual({ variables: [] });
  });

  it.each<[what: string, text: string, place: string, words: RegExp]>([
    ['a line without =', 'A=1\n  export B\n', '2:3', /sets no variable\. Write KEY=VALUE/],
    ['a line as in YAML', 'A: hunter2\n', '1:1', /sets no variable/],
    ['no name', '=x', '1:1', /name of a variable/],
    ['a name with a space', 'A B=x', '1:1', /name of a variable/],
    ['a name with a hyphen', 'A=1\nMY-KEY=x', '2:1', /name of a variable/],
    ['a quote without its end', 'A=1\nB= "x\nC=2\n', '2:4', /^The quote " that opens here is never closed\.$/],
    ['a quote in a value', 'A="a\\"b"', '1:7', /ends at the quote before this/],
    ['words after a quote', "A='x' y", '1:6', /ends at the quote before this/],
    ['a # within a value', 'PASSWORD=a#b', '1:11', /Does a comment begin here\?/],
    [
      'a name that is set twice',
      'A=hunter2\nB="x\ny"\n export A=hunter2\n',
      '4:2',
      /^A is set twice: line 1 sets it as well\.$/,
    ],
    ['the same again', 'A=1\nA=1', '2:1', /^A is set twice: line 1 /],
  ])('%s is told with its place, and without the value', (_what, text, place, words) => {
    const read = readEnvText(text, 'shop.env');
    const [error = ''] = 'errors' in read ? read.errors : [];
    expect(error.startsWith(`shop.env:${place}: `)).toBe(true);
    expect(error.slice(`shop.env:${place}: `.length)).toMatch(words);
    expect(error).not.toMatch(/hunter2/);
  });

  it('every error is told at once', () => {
    const read = readEnvText('A\nB=1\nC D=1\n', 'x');
    expect('errors' in read && read.errors.map((error) => error.split(' ')[0])).toEqual(['x:1:1:', 'x:3:1:']);
  });

  it('what is no error has the values that Node.js reads', () => {
    const name = fc.constantFrom('A', 'B', 'C_1', 'export D');
    const word = fc.constantFrom('x', 'y z', 'ü=1', "it's", '$(A)');
    const quoted = fc.constantFrom('"a\\nb"', '"a\nb"', "'a\\nb'", '`"`', '"# no"', "'x=y\n\nz'");
    const comment = fc.constantFrom('', '  ', ' # why', ' #"\'');
    const line = fc
      .tuple(name, fc.constantFrom('=', ' = '), fc.oneof(word, quoted), comment)
      .map((parts) => `${parts.join('')}\n`);
    // A name that is set twice is an error of ours.
    const nameOf = (one: string): string => /^(?:export )?(\w+) ?=/.exec(one)?.[1] ?? one;
    const text = fc
      .uniqueArray(fc.oneof(line, fc.constantFrom('\n', '# A=1\n', ' \n')), {
        minLength: 1,
        maxLength: 8,
        selector: nameOf,
      })
      .map((lines) => lines.join(''));
    fc.assert(
      fc.property(text, (whole) => {
        const read = readEnvText(whole, 'x');
        const ours = 'variables' in read ? read.variables.map((one) => [one.name, one.value]) : read.errors;
        expect(Object.fromEntries(ours as [string, string][])).toEqual({ ...parseEnv(whole) });
      }),
      { numRuns: 300 },
    );
  });
});
