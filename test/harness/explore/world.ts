// A state of the world in a few numbers. Equal objects are stored once and have one number; so have equal groups (the objects
// of one resource in one namespace) and equal places (the groups of one namespace, or of what all namespaces share). A state
// is the list of its places' numbers: to copy one costs nothing, and two of them are equal if their numbers are.

import { hash } from 'node:crypto';
import type { Resource } from '../../../src/runtime/kube/client.ts';
import type { Stored } from '../../support/fake-kube/fake-kube.ts';

/** An object, or the mark of one that is gone and whose next incarnation needs another uid. */
export type Entry = Stored | { readonly gone: number };

/** Of each place the number of what it contains. */
export type State = readonly number[];

export interface Columns {
  /** Column of a resource in a namespace: the same in all states. */
  columnOf(resource: Resource, namespace: string): Column;
  columnsOf(resource: Resource): readonly Column[];
  columnsIn(namespace: string): readonly Column[];
}

export interface Registry extends Columns {
  entry(number: number): Entry;
  /** The objects of a group by `group/plural/namespace/name`. */
  group(number: number): ReadonlyMap<string, number>;
  internEntry(entry: Entry): number;
  internGroup(entries: ReadonlyMap<string, number>): number;
  read(state: State, column: Column): number;
  write(state: State, changes: ReadonlyMap<Column, number>): State;
  readonly sizes: () => Readonly<Record<'objects' | 'groups' | 'places', number>>;
}

export interface Column {
  readonly place: number;
  readonly index: number;
  readonly resource: Resource;
  readonly namespace: string;
}

/** `placeOf`: which place of a state holds a namespace. */
export function makeRegistry(placeOf: (namespace: string) => number): Registry {
  const entries: Entry[] = [{ gone: 0 }];
  const known = new Map<Entry, number>();
  const byText = new Map<string, number>();
  const groups: ReadonlyMap<string, number>[] = [new Map()];
  const groupByText = new Map<string, number>([['', 0]]);
  const places: Int32Array[] = [new Int32Array(0)];
  /** Numbers of places by a hash of what they contain. */
  const placesByHash = new Map<number, number[]>([[hashOf(places[0] as Int32Array), [0]]]);

  function numbered<Value>(text: string, texts: Map<string, number>, all: Value[], value: Value): number {
    const found = texts.get(text);
    if (found !== undefined) return found;
    const number = all.push(value) - 1;
    texts.set(text, number);
    return number;
  }

  function placeNumber(place: Int32Array): number {
    const at = hashOf(place);
    const alike = placesByHash.get(at) ?? [];
    const found = alike.find((number) => isSame(places[number] as Int32Array, place));
    if (found !== undefined) return found;
    const number = places.push(place) - 1;
    alike.push(number);
    placesByHash.set(at, alike);
    return number;
  }

  return {
    ...makeColumns(placeOf),
    entry: (number) => entries[number] as Entry,
    group: (number) => groups[number] as ReadonlyMap<string, number>,
    internEntry(entry) {
      const before = known.get(entry);
      if (before !== undefined) return before;
      const number = numbered(textOf(entry), byText, entries, entry);
      known.set(entries[number] as Entry, number);
      return number;
    },
    internGroup(group) {
      const sorted = [...group].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return numbered(sorted.map(([id, number]) => `${id}=${number}`).join(), groupByText, groups, new Map(sorted));
    },
    read: (state, { place, index }) => places[state[place] ?? 0]?.[index] ?? 0,
    write(state, changes) {
      const next = [...state];
      const changed = new Set<number>();
      for (const { place } of changes.keys()) changed.add(place);
      for (const place of changed) {
        const before = places[next[place] ?? 0] as Int32Array;
        let { length } = before;
        for (const { place: of, index } of changes.keys()) if (of === place && index >= length) length = index + 1;
        const after = new Int32Array(length);
        after.set(before);
        for (const [{ place: of, index }, group] of changes) if (of === place) after[index] = group;
        while (length > 0 && after[length - 1] === 0) length -= 1;
        next[place] = placeNumber(length === after.length ? after : after.slice(0, length));
      }
      return next;
    },
    sizes: () => ({ objects: entries.length, groups: groups.length, places: places.length }),
  };
}

function makeColumns(placeOf: (namespace: string) => number): Columns {
  const columns = new Map<string, Column>();
  const byResource = new Map<string, Column[]>();
  const byNamespace = new Map<string, Column[]>();
  const widths: number[] = [];
  return {
    columnOf(resource, namespace) {
      const at = `${resource.group}/${resource.plural}/${namespace}`;
      const found = columns.get(at);
      if (found) return found;
      const place = placeOf(namespace);
      const index = widths[place] ?? 0;
      widths[place] = index + 1;
      const column = { place, index, resource, namespace };
      columns.set(at, column);
      add(byResource, `${resource.group}/${resource.plural}`, column);
      add(byNamespace, namespace, column);
      return column;
    },
    columnsOf: (resource) => byResource.get(`${resource.group}/${resource.plural}`) ?? [],
    columnsIn: (namespace) => byNamespace.get(namespace) ?? [],
  };
}

function hashOf(place: Int32Array): number {
  let mixed = place.length;
  for (let index = 0; index < place.length; index += 1) {
    mixed = Math.imul(mixed ^ (place[index] ?? 0), 0x85ebca6b);
    mixed ^= mixed >>> 13;
  }
  return mixed;
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}

function add<Value>(map: Map<string, Value[]>, at: string, value: Value): void {
  const list = map.get(at);
  if (list) list.push(value);
  else map.set(at, [value]);
}

/** The content without what says only when or how often something was written. */
function textOf(entry: Entry): string {
  if ('gone' in entry) return `gone ${entry.gone}`;
  const { object, owned } = entry;
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = object.metadata;
  const owners = owned
    .map(({ manager, operation, subresource, leaves }) =>
      [manager, operation, subresource, ...[...leaves].toSorted()].join('\n'),
    )
    .toSorted();
  return hash('sha1', sortedText({ ...object, metadata, owners }), 'base64');
}

/** JSON with sorted keys. */
export function sortedText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(sortedText).join()}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  const set = Object.keys(fields).filter((name) => fields[name] !== undefined);
  return `{${set
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${sortedText(fields[name])}`)
    .join()}}`;
}
