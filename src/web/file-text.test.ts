// Fields and the text of a davit.yaml show the same.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { defaultsOf, fieldsOf, lineOf, textOf, valueAt, withValue } from './file-text.ts';
import { wordsOf } from './text.ts';

const TEXT = `# The shop.
name: shop
runtime: # as it runs
  port: 3000
  server: {command: [serve, "--port", $(PORT)]}

# Every night.
tasks:
  - name: clean
    command: [clean]
`;

describe('a field', () => {
  it('shows what stands in the text', () => {
    const fields = fieldsOf(TEXT);
    expect(valueAt(fields, ['runtime', 'port'])).toBe(3000);
    expect(valueAt(fields, ['tasks', 0, 'command'])).toEqual(['clean']);
    expect(valueAt(fields, ['runtime', 'queue', 'command'])).toBeUndefined();
    expect(valueAt(fields, ['name', 'length'])).toBeUndefined();
    expect(valueAt(fields, ['constructor'])).toBeUndefined();
  });

  it('changes its value alone, and comments stay', () => {
    const shown = TEXT.replace('runtime: #', 'runtime:\n  #');
    expect(withValue(TEXT, ['runtime', 'port'], 8080)).toBe(shown.replace('3000', '8080'));
    expect(withValue(TEXT, ['tasks', 0, 'command'], ['clean', 'all of it'])).toBe(
      shown.replace('[clean]', '[clean, all of it]'),
    );
  });

  it('is added where nothing is, and taken away with what is empty then', () => {
    const text = withValue('name: shop\n', ['runtime', 'server', 'command'], ['a', 'b c']);
    expect(fieldsOf(text)).toEqual({ name: 'shop', runtime: { server: { command: ['a', 'b c'] } } });
    expect(text).toContain('command: [a, b c]');
    expect(withValue(text, ['runtime', 'server', 'command'], undefined)).toBe('name: shop\n');
    expect(withValue('', ['resource_spec', 'cpu'], 0.5)).toBe('resource_spec:\n  cpu: 0.5\n');
    expect(withValue('resource_spec:\n  cpu: 0.5\n', ['resource_spec', 'cpu'], undefined)).toBe('');
    expect(withValue('a: 1\n', ['b', 'c'], undefined)).toBe('a: 1\n');
  });

  it.each(['a: [', 'a\nb', '- a', '"a"', 'a: 1\na: 2', 'a: *b'])('leaves %j, which is no file', (text) => {
    expect(fieldsOf(text)).toBeUndefined();
    expect(withValue(text, ['b'], 1)).toBe(text);
  });

  it('survives what fills the memory', () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'
      .split('')
      .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`).join(',')}]`)
      .join('\n')}\n`;
    expect(fieldsOf(bomb)).toBeUndefined();
  });
});

describe('the text of a file', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue()), (content) => {
        const json = JSON.parse(JSON.stringify(content)) as object;
        expect(fieldsOf(textOf(json))).toEqual(json);
      }),
      { numRuns: 200 },
    );
  });

  it('shows no character that hides another', () => {
    const text = textOf({ env: [{ name: 'A', value: 'x\u202Ecod.exe\u0007' }] });
    expect(text).toMatch(/^[\x20-\x7e\n]*$/);
    expect(fieldsOf(text)).toEqual({ env: [{ name: 'A', value: 'x\u202Ecod.exe\u0007' }] });
  });
});

describe('a command', () => {
  it('is the same as it is shown', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (command) => {
        expect(wordsOf(lineOf(command))).toEqual(command);
      }),
    );
  });
});

it.each([
  ['server', {}, 0.25],
  ['server', { deployment_type: 'prod', resource_spec: { cpu: 4 } }, 1],
  ['queue', { resource_spec: { cpu: 4 } }, 4],
  ['jobs', {}, 0.25],
  ['postgres', { resource_spec: { cpu: 4 } }, 0.1],
])('part %s of a file with %j has %d CPU by default', (component, fields, cpu) => {
  const sizes = {
    plain: { server: { cpu: 0.25 }, postgres: { cpu: 0.1 }, redis: {} },
    prod: { server: { cpu: 1 }, postgres: {}, redis: {} },
  };
  const platform = { default_type: 'plain', sizes } as unknown as Platform;
  expect(defaultsOf(platform, fields, component)['cpu']).toBe(cpu);
});
