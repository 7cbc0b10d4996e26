// What one step sees of a state: a group is copied when it is first read, which is noted, and what is written makes the next state.

import type { KubeObject, ObjectRef, Resource } from '../../../src/runtime/kube/client.ts';
import type { ObjectStore, Stored } from '../../support/fake-kube/fake-kube.ts';
import type { Column, Entry, Registry, State } from './world.ts';

/** What a step has read and written. */
export interface Trace {
  readonly reads: readonly (readonly [Column, number])[];
  readonly state: State;
  /** The states between its writes. */
  readonly between: readonly State[];
}

export interface WorkingCopy {
  readonly store: ObjectStore;
  objectsIn(column: Column): readonly Stored[];
  /** What an object of this name would have if it was made now. */
  uidOf(resource: Resource, ref: ObjectRef): string;
  /** Keeps what there is now as one of the states between writes. */
  noteBetween(): void;
  /** The number of what each column holds now, and its way back. */
  numbersOf(columns: readonly Column[]): readonly number[];
  bringBack(columns: readonly Column[], numbers: readonly number[]): void;
  trace(): Trace;
}

type Group = ReadonlyMap<string, Entry>;

/** How many uids of a name are told apart, by kind. Nothing refers to the uid of a former object of another kind. */
const INCARNATIONS: Readonly<Record<string, number>> = {
  AppDeployment: 3,
  // The id of a revision that an operation makes follows from its uid.
  DatastoreOperation: 3,
  ListenerWork: 2,
  PersistentVolumeClaim: 3,
  Cluster: 3,
  Secret: 2,
};

export function idOf(resource: Resource, { namespace = '', name }: ObjectRef): string {
  return `${resource.group}/${resource.plural}/${namespace}/${name}`;
}

export function makeWorkingCopy(registry: Registry, before: State): WorkingCopy {
  const reads = new Map<Column, number>();
  const opened = new Map<Column, Map<string, Entry>>();
  const dirty = new Set<Column>();
  const between: Map<Column, Group>[] = [];

  function open(column: Column): Map<string, Entry> {
    const there = opened.get(column);
    if (there) return there;
    const number = registry.read(before, column);
    reads.set(column, number);
    const group = entriesOf(registry, number);
    opened.set(column, group);
    return group;
  }

  /** The state before with these groups in it. */
  function after(groups: ReadonlyMap<Column, Group>): State {
    return registry.write(before, new Map([...groups].map(([column, group]) => [column, numberOf(registry, group)])));
  }

  const objectsIn = (column: Column): Stored[] => [...open(column).values()].filter(isThere);
  const written = (): Map<Column, Map<string, Entry>> =>
    new Map([...dirty].map((column) => [column, opened.get(column) as Map<string, Entry>]));
  return {
    store: storeOver({ registry, opened, dirty, open, objectsIn }),
    objectsIn,
    uidOf(resource, ref) {
      const id = idOf(resource, ref);
      const entry = open(columnAt(registry, id)).get(id);
      return uidFor(resource.kind, ref, entry && 'gone' in entry ? entry.gone : 0);
    },
    noteBetween: () => void between.push(new Map([...written()].map(([column, group]) => [column, new Map(group)]))),
    numbersOf: (columns) => columns.map((column) => numberOf(registry, open(column))),
    bringBack(columns, numbers) {
      for (const [index, column] of columns.entries()) {
        open(column);
        opened.set(column, entriesOf(registry, numbers[index] ?? 0));
        dirty.add(column);
      }
    },
    trace: () => ({ reads: [...reads], state: after(written()), between: between.map(after) }),
  };
}

interface Groups {
  readonly registry: Registry;
  readonly opened: Map<Column, Map<string, Entry>>;
  /** Columns that were written. */
  readonly dirty: Set<Column>;
  open(column: Column): Map<string, Entry>;
  objectsIn(column: Column): Stored[];
}

/** The store of the in-memory API server. */
function storeOver({ registry, opened, dirty, open, objectsIn }: Groups): ObjectStore {
  function here(id: string): Stored | undefined {
    const entry = open(columnAt(registry, id)).get(id);
    return isThere(entry) ? entry : undefined;
  }
  function write(id: string, entry: Entry | undefined): void {
    const column = columnAt(registry, id);
    const group = open(column);
    if (entry) group.set(id, entry);
    else group.delete(id);
    dirty.add(column);
  }
  return {
    get: here,
    has: (id) => here(id) !== undefined,
    set(id, stored) {
      // A resource that is read before it is known has only its names.
      registry.columnOf(stored.resource, stored.object.metadata.namespace ?? '');
      write(id, stored);
    },
    delete(id) {
      const entry = here(id);
      if (!entry) return;
      const many = INCARNATIONS[entry.resource.kind];
      const next = many === undefined ? 0 : (incarnationOf(entry.object) + 1) % many;
      write(id, many === undefined ? undefined : { gone: next });
    },
    values: () => [...opened.keys()].flatMap(objectsIn),
    of: (resource, namespace) =>
      (namespace === undefined ? registry.columnsOf(resource) : [registry.columnOf(resource, namespace)]).flatMap(
        objectsIn,
      ),
    hold() {
      const held = new Map([...opened].map(([column, group]) => [column, new Map(group)]));
      const heldDirty = new Set(dirty);
      return () => {
        for (const [column, group] of held) opened.set(column, group);
        for (const column of dirty) if (!heldDirty.has(column)) dirty.delete(column);
        for (const column of opened.keys()) if (!held.has(column)) opened.delete(column);
      };
    },
  };
}

function isThere(entry: Entry | undefined): entry is Stored {
  return entry !== undefined && 'object' in entry;
}

function columnAt(registry: Registry, id: string): Column {
  const [group = '', plural = '', namespace = ''] = id.split('/');
  return registry.columnOf({ group, plural } as Resource, namespace);
}

function entriesOf(registry: Registry, group: number): Map<string, Entry> {
  return new Map([...registry.group(group)].map(([id, entry]) => [id, registry.entry(entry)]));
}

function numberOf(registry: Registry, group: Group): number {
  return registry.internGroup(new Map([...group].map(([id, entry]) => [id, registry.internEntry(entry)])));
}

function uidFor(kind: string, { namespace = '', name }: ObjectRef, incarnation: number): string {
  let sum = 0x811c9dc5;
  for (const letter of `${kind}/${namespace}/${name}`) sum = Math.imul(sum ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return `${(sum >>> 0).toString(16).padStart(8, '0')}-0000-4000-8000-${String(incarnation).padStart(12, '0')}`;
}

function incarnationOf({ metadata: { uid = '' } }: KubeObject): number {
  return Number(uid.slice(-12)) || 0;
}
