import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stringAt } from './json-scan.ts';

const PATH = ['repository', 'full_name'];

function found(text: string, step = 7): string | undefined {
  return [...stringAt(Buffer.from(text), PATH, step)].find((one) => one !== undefined);
}

it.each<[text: string, expected: string | undefined]>([
  ['{"repository":{"full_name":"team/shop"}}', 'team/shop'],
  [
    ' { "a" : [ { "repository" : { "full_name" : "no" } } ] , "repository" : { "b":{"full_name":"no"}, "full_name" : "yes" } }',
    'yes',
  ],
  ['{"repository":[{"full_name":"no"}]}', undefined],
  ['{"repository":"full_name","full_name":"no"}', undefined],
  ['{"a":"repository","b":{"full_name":"no"}}', undefined],
  ['{"repository":{"full_name":7}}', undefined],
  ['{"repository":{"full_name":null},"x":{"full_name":"no"}}', undefined],
  ['{"repository":{"a":"}"},"b":"\\\\\\"{","full_name":"no"}', undefined],
  ['{"re\\u0070ository":{"full_name":"te\\u0061m"}}', 'team'],
  ['{"repository":{},"repository2":{"full_name":"no"}}', undefined],
  ['[{"repository":{"full_name":"no"}}]', undefined],
  ['{"repository":{"full_name":"no', undefined],
  ['{"repository":{"full_name":"\\x"}}', undefined],
  [`{"repository":{"full_name":"${'x'.repeat(5000)}"}}`, undefined],
  ['['.repeat(1000), undefined],
  ['"', undefined],
  ['', undefined],
])('%s', (text, expected) => {
  expect(found(text)).toBe(expected);
});

it('finds what JSON.parse finds', () => {
  const leaf = fc.oneof(fc.string(), fc.constantFrom('repository', 'full_name'), fc.integer(), fc.constant(null));
  const key = fc.oneof(fc.constantFrom('repository', 'full_name'), fc.string());
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value')), fc.dictionary(key, tie('value'))),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, value), fc.boolean(), (body, isIndented) => {
      const { repository } = body as { repository?: { full_name?: unknown } };
      const isObject = typeof repository === 'object' && repository !== null && !Array.isArray(repository);
      const name = isObject && Object.hasOwn(repository, 'full_name') ? repository.full_name : undefined;
      expect(found(JSON.stringify(body, null, isIndented ? 2 : 0))).toBe(typeof name === 'string' ? name : undefined);
    }),
    { numRuns: 2000 },
  );
});
