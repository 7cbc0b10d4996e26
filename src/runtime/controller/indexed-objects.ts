// Objects of one resource by key, uid, namespace, label and further indexes.

import type { KubeObject, ObjectRef } from '../kube/client.ts';

/** Functions by index name that return the values under which an object is found. They depend only on the object. */
export type Indexes<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

export interface IndexedObjects<T extends KubeObject> {
  readonly size: number;
  get(key: string): T | undefined;
  byUid(uid: string): T | undefined;
  /** In one namespace; without it, all. */
  all(namespace?: string): Iterable<T>;
  /** By the value of an indexed label or index. Throws if there is no such index. */
  find(namespace: string, at: string, value: string): T[];
  /** The key must be free. */
  add(key: string, object: T): void;
  /** `object` is what was added under the key. */
  remove(key: string, object: T): void;
}

export function makeIndexedObjects<T extends KubeObject>(
  indexedLabels: readonly string[],
  indexes: Indexes<T>,
): IndexedObjects<T> {
  const byKey = new Map<string, T>();
  const byUid = new Map<string, T>();
  const byNamespace = new Map<string, Map<string, T>>();
  /** label or name of an index → `namespace/value` → key → object */
  const indexed = new Map(
    [...indexedLabels, ...Object.keys(indexes)].map((at) => [at, new Map<string, Map<string, T>>()]),
  );

  function valuesOf(object: T, at: string): readonly string[] {
    const index = indexes[at];
    if (index) return index(object);
    const value = object.metadata.labels?.[at];
    return value === undefined ? [] : [value];
  }

  return {
    get size() {
      return byKey.size;
    },
    get: (key) => byKey.get(key),
    byUid: (uid) => byUid.get(uid),
    all: (namespace) => (namespace === undefined ? byKey : byNamespace.get(namespace))?.values() ?? [],
    find(namespace, at, value) {
      const index = indexed.get(at);
      if (index === undefined) throw new Error(`look up by ${at}: this cache has no such index`);
      return [...(index.get(labelKey(namespace, value))?.values() ?? [])];
    },
    add(key, object) {
      const { namespace = '' } = object.metadata;
      byKey.set(key, object);
      byUid.set(uidOf(object), object);
      insert(byNamespace, namespace, key, object);
      for (const [at, index] of indexed)
        for (const value of valuesOf(object, at)) insert(index, labelKey(namespace, value), key, object);
    },
    remove(key, object) {
      const { namespace = '' } = object.metadata;
      byKey.delete(key);
      byUid.delete(uidOf(object));
      take(byNamespace, namespace, key);
      for (const [at, index] of indexed)
        for (const value of valuesOf(object, at)) take(index, labelKey(namespace, value), key);
    },
  };
}

/** `namespace/name`, or only the name of a cluster-scoped object: the key of queues and caches. */
export function keyOf(ref: ObjectRef): string {
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
}

/** Every stored object has a uid, which distinguishes objects that had the same name at different times. */
export function uidOf(object: KubeObject): string {
  const uid = object.metadata.uid;
  if (uid === undefined) throw new Error(`cache ${object.kind} ${keyOf(object.metadata)}: no uid`);
  return uid;
}

function labelKey(namespace: string, value: string): string {
  return `${namespace}/${value}`;
}

function insert<T>(index: Map<string, Map<string, T>>, at: string, key: string, object: T): void {
  const group = index.get(at);
  if (group === undefined) index.set(at, new Map([[key, object]]));
  else group.set(key, object);
}

function take<T>(index: Map<string, Map<string, T>>, at: string, key: string): void {
  const group = index.get(at);
  group?.delete(key);
  if (group?.size === 0) index.delete(at);
}
