// Whether two arms made the same objects of the same records on two servers: what neither could have made alike is
// masked. Pure.

/** An object as a server gives it, as far as this looks at it. */
export interface Stored {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly managedFields?: readonly ManagedFields[];
  };
}

interface ManagedFields {
  readonly time?: string;
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
}

/** What stands for what is another on every server: text → what is read in its place. */
export type Masks = ReadonlyMap<string, string>;

/** Values of these fields, wherever they are, are the server's or the moment's. */
const MASKED_FIELDS: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'time',
  'lastTransitionTime',
  'stateChangedAt',
  'clusterIP',
  'clusterIPs',
  // Random: passwords.
  'data',
  // How an arm knows its own object again is its own business.
  'davit.dev/applied',
]);

/** One line for each object, by kind and name; equal for objects that are alike. */
export function likenessOf(objects: readonly Stored[], masks: Masks): ReadonlyMap<string, string> {
  return new Map(objects.map((object) => [nameOf(object, masks), textOf(object, masks)]));
}

function nameOf({ kind, metadata: { namespace, name } }: Stored, masks: Masks): string {
  return `${kind} ${namespace}/${put(name, masks)}`;
}

function textOf(object: Stored, masks: Masks): string {
  // Of two managers whoever came first stands first.
  const managedFields = object.metadata.managedFields?.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const sorted = { ...object, metadata: { ...object.metadata, ...(managedFields && { managedFields }) } };
  return put(JSON.stringify(sorted, masked), masks);
}

function orderOf({ manager, operation, subresource }: ManagedFields): string {
  return `${manager} ${operation} ${subresource}`;
}

function masked(field: string, value: unknown): unknown {
  if (MASKED_FIELDS.has(field)) return shapeOf(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '*';
  return Object.fromEntries(Object.keys(value).map((key) => [key, '*']));
}

function put(text: string, masks: Masks): string {
  let masking = text;
  for (const [from, to] of masks) masking = masking.replaceAll(from, to);
  return masking;
}

/** For people: what is missing, too many, or other, with the place where it begins to be. Empty where all is alike. */
export function unlike(wanted: ReadonlyMap<string, string>, actual: ReadonlyMap<string, string>): string[] {
  const missing = [...wanted.keys()].filter((name) => !actual.has(name)).map((name) => `${name} is missing`);
  const more = [...actual.keys()].filter((name) => !wanted.has(name)).map((name) => `${name} is one too many`);
  const other = [...wanted].flatMap(([name, text]) => {
    const there = actual.get(name);
    return there === undefined || there === text ? [] : [`${name} is other: ${firstDifference(text, there)}`];
  });
  return [...missing, ...more, ...other];
}

function firstDifference(wanted: string, actual: string): string {
  let at = 0;
  while (wanted[at] === actual[at]) at += 1;
  const around = (text: string): string => text.slice(Math.max(0, at - 80), at + 80);
  return `…${around(wanted)}… became …${around(actual)}…`;
}
