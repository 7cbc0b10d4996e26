// What a database had when it was dumped, and whether a restored one has the same. The lines are those of
// children/database/contents-script.ts.

import { z } from 'zod';
import { jsonOf } from '../../runtime/json-value.ts';

const Count = z.string().regex(/^\d{1,18}$/);
const Sum = z.string().regex(/^-?\d{1,40}$/);
const Name = z.string().min(1).max(512);

/** Names are those of SQL, with quotation marks where they need them. */
export const Contents = z.object({
  tables: z.array(z.object({ name: Name, rows: Count, sum: Sum })),
  /** Values before and after the dump. */
  sequences: z.array(z.object({ name: Name, least: Sum, most: Sum })),
  largeObjects: z.object({ count: Count, sum: Sum }),
  /** How many there are of each kind: `indexes`. */
  objects: z.array(z.object({ kind: z.string().min(1).max(64), count: Count })),
});
export type Contents = z.infer<typeof Contents>;

const Line = z.union([
  z.object({ table: Name, rows: Count, sum: Sum }),
  z.object({ sequence: Name, value: Sum }),
  z.object({ largeObjects: Count, sum: Sum }),
  z.object({ objects: z.string().min(1).max(64), count: Count }),
]);

/** Undefined if a line is not as it should be, or the last ones are missing. */
export function contentsOf(text: string): Contents | undefined {
  const tables: Contents['tables'] = [];
  const sequences = new Map<string, { least: string; most: string }>();
  const objects: Contents['objects'] = [];
  let largeObjects: Contents['largeObjects'] | undefined;
  for (const one of text.split('\n').filter((line) => line !== '')) {
    const line = Line.safeParse(jsonOf(one)).data;
    if (line === undefined) return undefined;
    if ('table' in line) tables.push({ name: line.table, rows: line.rows, sum: line.sum });
    else if ('sequence' in line) {
      const { least, most } = sequences.get(line.sequence) ?? { least: line.value, most: line.value };
      const isLess = BigInt(line.value) < BigInt(least);
      const isMore = BigInt(line.value) > BigInt(most);
      sequences.set(line.sequence, { least: isLess ? line.value : least, most: isMore ? line.value : most });
    } else if ('largeObjects' in line) largeObjects = { count: line.largeObjects, sum: line.sum };
    else objects.push({ kind: line.objects, count: line.count });
  }
  return (
    largeObjects && {
      tables,
      sequences: [...sequences].map(([name, range]) => ({ name, ...range })),
      largeObjects,
      objects,
    }
  );
}

/** Number of rows of all tables. */
export function rowsOf({ tables }: Contents): number {
  return tables.reduce((sum, { rows }) => sum + Number(rows), 0);
}

const MOST_TOLD = 3;

/** What a restored database does not have as the dumped one had it, for people, without values of rows. Empty if it has all of it. */
export function missingContents(dumped: Contents, restored: Contents): readonly string[] {
  return [
    ...paired(dumped.tables, restored.tables, ({ name }) => name).flatMap(([name, had, has]) =>
      tableDifference(name, had, has),
    ),
    ...paired(dumped.sequences, restored.sequences, ({ name }) => name).flatMap(([name, had, has]) =>
      sequenceDifference(name, had, has),
    ),
    ...largeObjectDifference(dumped.largeObjects, restored.largeObjects),
    ...paired(dumped.objects, restored.objects, ({ kind }) => kind).flatMap(([kind, had, has]) =>
      had?.count === has?.count ? [] : [`${has?.count ?? 0} of ${had?.count ?? 0} ${kind} exist`],
    ),
  ];
}

/** The first of them, and how many more there are. */
export function toldDifferences(all: readonly string[]): string {
  const more = all.length - MOST_TOLD;
  return [...all.slice(0, MOST_TOLD), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function tableDifference(
  name: string,
  had: Contents['tables'][number] | undefined,
  has: Contents['tables'][number] | undefined,
): string[] {
  if (had === undefined) return [`table ${name} is not in the manifest`];
  if (has === undefined) return [`table ${name} is missing`];
  if (had.rows !== has.rows) return [`table ${name} has ${has.rows} of ${had.rows} rows`];
  return had.sum === has.sum ? [] : [`table ${name} has ${has.rows} rows, but their contents differ`];
}

/** The value of a dump is one that the sequence had between those that were read before and after. */
function sequenceDifference(
  name: string,
  had: Contents['sequences'][number] | undefined,
  has: Contents['sequences'][number] | undefined,
): string[] {
  if (had === undefined) return [`sequence ${name} is not in the manifest`];
  if (has === undefined) return [`sequence ${name} is missing`];
  const isWithin = BigInt(had.least) <= BigInt(has.least) && BigInt(has.most) <= BigInt(had.most);
  return isWithin ? [] : [`sequence ${name} has a different value`];
}

function largeObjectDifference(had: Contents['largeObjects'], has: Contents['largeObjects']): string[] {
  if (had.count !== has.count) return [`${has.count} of ${had.count} large objects exist`];
  return had.sum === has.sum ? [] : ['the large objects differ'];
}

/** What both have, what only the first has, and what only the second has. Names that stand twice are different ones. */
function paired<T>(
  first: readonly T[],
  second: readonly T[],
  keyOf: (item: T) => string,
): readonly (readonly [string, T | undefined, T | undefined])[] {
  const others = Map.groupBy(second, keyOf);
  const known = first.map((item) => [keyOf(item), item, others.get(keyOf(item))?.shift()] as const);
  const left = [...others.values()].flat();
  return [...known, ...left.map((item) => [keyOf(item), undefined, item] as const)];
}
