// A read-only view of one resource's watch cache, handed to those who may look but not touch.

import type { KubeObject, ObjectRef } from '../kube/client.ts';

/** A cached collection. Objects are plain JSON without managedFields, and are never changed in place. */
export interface Store<T extends KubeObject = KubeObject> {
  hasSynced(): boolean;
  get(ref: ObjectRef): T | undefined;
  byUid(uid: string): T | undefined;
  /** All objects, or those of one namespace. */
  list(namespace?: string): readonly T[];
  /** Objects whose label `label` (one that the reflector was told to index) has this value, in one namespace. */
  byLabel(namespace: string, label: string, value: string): readonly T[];
  /** Objects for which `index` (one that the reflector was told to keep) gives this value, in one namespace. */
  byIndex(namespace: string, index: string, value: string): readonly T[];
}

/** One change of the cache, told after it has been made. */
export interface Change<T extends KubeObject = KubeObject> {
  readonly type: 'added' | 'modified' | 'deleted';
  /** For a deleted object its last state: from the watch event if there was one, otherwise the last one seen. */
  readonly object: T;
  /** The previous state of the object with the same uid. For a deletion, only if the watch reported it. */
  readonly previous?: T;
}

/** A store that tells of every change, once the store has it. */
export interface WatchedStore<T extends KubeObject = KubeObject> extends Store<T> {
  /** Returns what ends it. */
  onChange(listener: (change: Change<T>) => void): () => void;
}
