// What counts as the same database, and how a difference is told.

import { describe, expect, it } from 'vitest';
import { type Contents, contentsOf, missingContents, rowsOf, toldDifferences } from './contents.ts';

const LINES = `{"sequence" : "public.s", "value" : "7"}
{"sequence" : "public.s", "value" : "12"}
{"table" : "public.orders", "rows" : "5000", "sum" : "-282238852622781939256"}
{"table" : "public.\\"a\\nb\\"", "rows" : "0", "sum" : "0"}
{"largeObjects" : "1", "sum" : "9"}
{"objects" : "indexes", "count" : "2"}
`;
const DUMPED = contentsOf(LINES);

function changed(change: (contents: Contents) => void): readonly string[] {
  if (DUMPED === undefined) throw new Error('the lines are not read');
  const restored = structuredClone(DUMPED);
  for (const sequence of restored.sequences) sequence.least = sequence.most;
  change(restored);
  return missingContents(DUMPED, restored);
}

it('reads the lines, with both values of a sequence', () => {
  expect(DUMPED).toEqual({
    tables: [
      { name: 'public.orders', rows: '5000', sum: '-282238852622781939256' },
      { name: 'public."a\nb"', rows: '0', sum: '0' },
    ],
    sequences: [{ name: 'public.s', least: '7', most: '12' }],
    largeObjects: { count: '1', sum: '9' },
    objects: [{ kind: 'indexes', count: '2' }],
  });
  expect(DUMPED && rowsOf(DUMPED)).toBe(5000);
});

it.each([
  ['nothing', ''],
  ['lines that end before the last ones', LINES.slice(0, LINES.indexOf('{"large'))],
  ['a line that ends early', LINES.slice(0, -10)],
  ['a line of something else', `${LINES}ERROR`],
  ['rows that are no number', LINES.replace('"5000"', '"many"')],
])('reads nothing of %s', (_what, text) => {
  expect(contentsOf(text)).toBeUndefined();
});

describe('a restored database', () => {
  it('is the same with a value of a sequence that it had while it was dumped, and in any order', () => {
    expect(changed(({ tables }) => void tables.reverse())).toEqual([]);
  });

  it.each<[string, (contents: Contents) => unknown, string]>([
    ['fewer rows', ({ tables }) => ((tables[0] ?? fail()).rows = '4999'), 'table public.orders has 4999 of 5000 rows'],
    [
      'other rows',
      ({ tables }) => ((tables[0] ?? fail()).sum = '1'),
      'table public.orders has 5000 rows, but their contents differ',
    ],
    ['a table less', ({ tables }) => tables.shift(), 'table public.orders is missing'],
    [
      'a table more',
      ({ tables }) => tables.push({ name: 'public.x', rows: '1', sum: '1' }),
      'table public.x is not in the manifest',
    ],
    ['a table twice', ({ tables }) => tables.push(tables[0] ?? fail()), 'table public.orders is not in the manifest'],
    [
      'a value before',
      ({ sequences }) => ((sequences[0] ?? fail()).least = '6'),
      'sequence public.s has a different value',
    ],
    [
      'a value after',
      ({ sequences }) => ((sequences[0] ?? fail()).most = '13'),
      'sequence public.s has a different value',
    ],
    ['a sequence less', ({ sequences }) => sequences.pop(), 'sequence public.s is missing'],
    ['fewer large objects', ({ largeObjects }) => (largeObjects.count = '0'), '0 of 1 large objects exist'],
    ['other large objects', ({ largeObjects }) => (largeObjects.sum = '0'), 'the large objects differ'],
    ['an index less', ({ objects }) => ((objects[0] ?? fail()).count = '1'), '1 of 2 indexes exist'],
    ['no index', ({ objects }) => objects.pop(), '0 of 2 indexes exist'],
    ['a view more', ({ objects }) => objects.push({ kind: 'views', count: '1' }), '1 of 0 views exist'],
  ])('with %s differs', (_what, change, words) => {
    expect(changed((contents) => void change(contents))).toEqual([expect.stringContaining(words)]);
  });
});

it('tells three missingContents, and how many more there are', () => {
  expect(toldDifferences(['a', 'b', 'c'])).toBe('a; b; c');
  expect(toldDifferences(['a', 'b', 'c', 'd', 'e'])).toBe('a; b; c; and 2 more');
});

function fail(): never {
  throw new Error('there is none');
}
