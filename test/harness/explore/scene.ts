// One step of the world on the in-memory API server: what it reads of a state is noted, and what it writes makes the next one.

import type { KubeObject, ObjectRef, Resource } from '../../../src/lib/kube/client.ts';
import { type FakeKube, makeFakeKube, type ObjectStore, type Stored } from '../../support/fake-kube/fake-kube.ts';
import type { JsonObject } from '../../support/fake-kube/field-sets.ts';
import type { Column, Entry, Registry, State } from './world.ts';

/** The time of all states. */
export const NOW = Date.parse('2026-02-02T02:02:02Z');

/** The mark of a state in which everything automatic has happened, a day later. */
export const LATER = 'later';
export const timeOf = (scene: Scene): number => (scene.mark('', LATER) === undefined ? NOW : NOW + 86_400_000);

/** Facts of the world that are no objects of Kubernetes: a full quota, the head of a branch, where data lives. */
export const MARKS: Resource = {
  group: 'explore',
  version: 'v1',
  kind: 'Mark',
  plural: 'marks',
  namespaced: true,
};
export interface Mark extends KubeObject {
  readonly value: string;
}

/** How many uids of a name are told apart, by kind. Nothing refers to the uid of a former object of another kind. */
const INCARNATIONS: Readonly<Record<string, number>> = {
  AppDeployment: 3,
  ListenerWork: 2,
  PersistentVolumeClaim: 3,
  Secret: 2,
};

export interface Scene {
  readonly kube: FakeKube;
  get<T extends KubeObject>(resource: Resource, namespace: string, name: string): T | undefined;
  all<T extends KubeObject>(resource: Resource, namespace: string): readonly T[];
  everywhere<T extends KubeObject>(resource: Resource): readonly T[];
  /** Everything in a namespace. */
  inside(namespace: string): readonly { readonly resource: Resource; readonly object: KubeObject }[];
  /** Writes the object as it is, as if by its controller. */
  put(resource: Resource, object: KubeObject, manager?: string): void;
  /** Changes fields of the object, as its controller does. Undefined takes a field away. */
  change(resource: Resource, object: KubeObject, fields: object): void;
  erase(resource: Resource, object: KubeObject): void;
  mark(namespace: string, name: string): string | undefined;
  setMark(namespace: string, name: string, value: string | undefined): void;
  /** A word for all that a namespace holds now, marks excepted, and its way back. */
  backUp(namespace: string): string;
  restore(namespace: string, backup: string): void;
  /** The watch cache's version of a group. */
  cached(resource: Resource, namespace: string): readonly KubeObject[];
}

/** What a step has read and written. */
export interface Trace {
  readonly reads: readonly (readonly [Column, number])[];
  readonly state: State;
  /** The states between its writes. */
  readonly between: readonly State[];
}

let version = 1000;

export interface Admission {
  readonly admit?: (resource: Resource, object: JsonObject, before: KubeObject | undefined, scene: Scene) => void;
}

export function openScene(
  registry: Registry,
  before: State,
  { admit }: Admission = {},
  stepwise = false,
): { readonly scene: Scene; close(): Trace } {
  const reads = new Map<Column, number>();
  const opened = new Map<Column, Map<string, Entry>>();
  const dirty = new Set<Column>();
  const between: Map<Column, ReadonlyMap<string, Entry>>[] = [];
  const idOf = (resource: Resource, { namespace = '', name }: ObjectRef): string =>
    `${resource.group}/${resource.plural}/${namespace}/${name}`;

  function open(column: Column): Map<string, Entry> {
    const there = opened.get(column);
    if (there) return there;
    const number = registry.read(before, column);
    reads.set(column, number);
    const group = new Map([...registry.group(number)].map(([id, entry]) => [id, registry.entry(entry)]));
    opened.set(column, group);
    return group;
  }
  function columnAt(id: string): Column {
    const [group = '', plural = '', namespace = ''] = id.split('/');
    return registry.columnOf({ group, plural } as Resource, namespace);
  }
  function here(id: string): Entry | undefined {
    return open(columnAt(id)).get(id);
  }
  const isThere = (entry: Entry | undefined): entry is Stored => entry !== undefined && 'object' in entry;
  const numbered = (column: Column, group: ReadonlyMap<string, Entry> | undefined): [Column, number] => [
    column,
    registry.internGroup(new Map([...(group ?? [])].map(([id, entry]) => [id, registry.internEntry(entry)]))),
  ];
  function storedIn(column: Column): Stored[] {
    return [...open(column).values()].filter(isThere);
  }
  function write(id: string, entry: Entry | undefined): void {
    const column = columnAt(id);
    const group = open(column);
    if (entry) group.set(id, entry);
    else group.delete(id);
    dirty.add(column);
  }
  const store: ObjectStore = {
    get(id) {
      const entry = here(id);
      return isThere(entry) ? entry : undefined;
    },
    has: (id) => isThere(here(id)),
    set(id, stored) {
      // A resource that is read before it is known has only its names.
      registry.columnOf(stored.resource, stored.object.metadata.namespace ?? '');
      write(id, stored);
    },
    delete(id) {
      const entry = here(id);
      if (!isThere(entry)) return;
      const many = INCARNATIONS[entry.resource.kind];
      const next = many === undefined ? 0 : (incarnationOf(entry.object) + 1) % many;
      write(id, many === undefined ? undefined : { gone: next });
    },
    values: () => [...opened.keys()].flatMap(storedIn),
    of: (resource, namespace) =>
      (namespace === undefined ? registry.columnsOf(resource) : [registry.columnOf(resource, namespace)]).flatMap(
        storedIn,
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
  const kube = makeFakeKube({
    now: () => NOW,
    version,
    store,
    uidOf(resource, ref) {
      const entry = here(idOf(resource, ref));
      return uidFor(resource.kind, ref, entry && 'gone' in entry ? entry.gone : 0);
    },
    ...(admit && { admit: (resource, object, existing) => admit(resource, object, existing, scene) }),
  });
  if (stepwise)
    kube.failAfter(({ dryRun }) => {
      if (dryRun !== true) between.push(new Map([...dirty].map((column) => [column, new Map(opened.get(column))])));
      return undefined;
    });

  const scene: Scene = {
    kube,
    get: (resource, namespace, name) => store.get(idOf(resource, { namespace, name }))?.object as never,
    all: (resource, namespace) => storedIn(registry.columnOf(resource, namespace)).map(({ object }) => object) as never,
    everywhere: (resource) => [...store.of(resource)].map(({ object }) => object) as never,
    inside: (namespace) => registry.columnsIn(namespace).flatMap(storedIn),
    put: (resource, object, manager = 'cluster') => void kube.seed(resource, object, manager),
    change(resource, object, fields) {
      const {
        resourceVersion: _version,
        generation: _generation,
        managedFields: _fields,
        ...metadata
      } = object.metadata;
      kube.seed(resource, merged({ ...object, metadata }, fields) as KubeObject, 'cluster');
    },
    erase: (resource, { metadata: { namespace, name } }) =>
      kube.erase(resource, { ...(namespace !== undefined && { namespace }), name }),
    mark: (namespace, name) => (store.get(idOf(MARKS, { namespace, name }))?.object as Mark | undefined)?.value,
    setMark(namespace, name, value) {
      const ref = { namespace, name };
      if (value !== undefined) kube.seed<Mark>(MARKS, { apiVersion: 'explore/v1', kind: 'Mark', metadata: ref, value });
      else if (store.has(idOf(MARKS, ref))) kube.erase(MARKS, ref);
    },
    backUp: (namespace) =>
      JSON.stringify(
        registry
          .columnsIn(namespace)
          .filter((column) => column.resource.kind !== MARKS.kind)
          .map((column) => numbered(column, open(column))[1]),
      ),
    restore(namespace, backup) {
      const numbers = JSON.parse(backup) as readonly number[];
      const columns = registry.columnsIn(namespace).filter(({ resource }) => resource.kind !== MARKS.kind);
      for (const [index, column] of columns.entries()) {
        open(column);
        const group = [...registry.group(numbers[index] ?? 0)];
        opened.set(column, new Map(group.map(([id, entry]) => [id, registry.entry(entry)])));
        dirty.add(column);
      }
    },
    cached(resource, namespace) {
      const behind = this.mark(namespace, 'behind')?.split(' ');
      const objects = new Map(
        storedIn(registry.columnOf(resource, namespace)).map((one) => [
          idOf(resource, one.object.metadata),
          one.object,
        ]),
      );
      if (behind && `${resource.group}/${resource.plural}` === behind[0]?.split('/').slice(0, 2).join('/')) {
        const old = registry.entry(Number(behind[1]));
        if ('object' in old) objects.set(behind[0] ?? '', old.object);
        else objects.delete(behind[0] ?? '');
      }
      return [...objects.values()];
    },
  };

  return {
    scene,
    close() {
      version = Number(kube.resourceVersion());
      const after = (groups: ReadonlyMap<Column, ReadonlyMap<string, Entry>>): State =>
        registry.write(before, new Map([...groups].map(([column, group]) => numbered(column, group))));
      return {
        reads: [...reads],
        state: after(new Map([...dirty].map((column) => [column, opened.get(column) as Map<string, Entry>]))),
        between: between.map(after),
      };
    },
  };
}

function uidFor(kind: string, { namespace = '', name }: ObjectRef, incarnation: number): string {
  let sum = 0x811c9dc5;
  for (const letter of `${kind}/${namespace}/${name}`) sum = Math.imul(sum ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return `${(sum >>> 0).toString(16).padStart(8, '0')}-0000-4000-8000-${String(incarnation).padStart(12, '0')}`;
}

export function incarnationOf({ metadata: { uid = '' } }: KubeObject): number {
  return Number(uid.slice(-12)) || 0;
}

/** As by a merge patch: undefined and null take a field away. */
export function merged(value: unknown, fields: unknown): unknown {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return fields;
  const into = { ...(typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}) } as Record<
    string,
    unknown
  >;
  for (const [name, part] of Object.entries(fields)) {
    if (part === undefined || part === null) delete into[name];
    else into[name] = merged(into[name], part);
  }
  return into;
}
