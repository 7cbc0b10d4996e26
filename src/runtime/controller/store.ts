// A read-only view of one resource's watch cache.

import type { KubeObject, ObjectRef } from '../kube/client.ts';

/** A cached collection. Objects are plain JSON without managedFields, and are never changed in place. */
export interface Store<T extends KubeObject = KubeObject> {
  hasSynced(): boolean;
  get(ref: ObjectRef): T | undefined;
  byUid(uid: string): T | undefined;
  /** All objects, or those of one namespace. */
  list(namespace?: string): readonly T[];
  /** Objects of one namespace whose label `label` has this value. The reflector must index the label. */
  byLabel(namespace: string, label: string, value: string): readonly T[];
  /** Objects of one namespace for which `index` returns this value. The reflector must have this index. */
  byIndex(namespace: string, index: string, value: string): readonly T[];
}

/** One change of the cache, reported after it was made. */
export interface Change<T extends KubeObject = KubeObject> {
  readonly type: 'added' | 'modified' | 'deleted';
  /** For a deleted object its last state: from the watch event if there was one, otherwise the last one seen. */
  readonly object: T;
  /** The previous state of the object with the same uid. For a deletion, only if the watch reported it. */
  readonly previous?: T;
}

/** A store that reports every change after it was made. */
export interface WatchedStore<T extends KubeObject = KubeObject> extends Store<T> {
  /** Returns a function that ends the subscription. */
  onChange(listener: (change: Change<T>) => void): () => void;
}

/** Returns a function that ends all subscriptions. */
export function endAll(subscriptions: readonly (() => void)[]): () => void {
  return () => {
    for (const end of subscriptions) end();
  };
}
