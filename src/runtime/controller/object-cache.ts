// The objects of one resource with their indexes. Updates may arrive in any order from lists, a watch and the responses of
// Davit's writes. This file has no I/O and no clock; reflector.ts feeds it.

import type { KubeObject, ObjectRef } from '../kube/client.ts';
import { type Indexes, keyOf, makeIndexedObjects, uidOf } from './indexed-objects.ts';
import type { Change, Store } from './store.ts';

export interface ObjectCacheOptions<T extends KubeObject> {
  readonly indexedLabels?: readonly string[];
  /** Functions by index name that return the values under which an object is found. */
  readonly indexes?: Indexes<T>;
  readonly onChange: (change: Change<T>) => void;
}

/**
 * The cached objects of one resource.
 *
 * - An object never returns to an older resourceVersion, whatever the source of the older one.
 * - The uid identifies an object: a name that was deleted and recreated gives one `deleted` and one `added`.
 * - `observed` is the version up to which everything has been seen. It never decreases.
 */
export interface ObjectCache<T extends KubeObject> extends Omit<Store<T>, 'hasSynced'> {
  readonly size: number;
  readonly observed: bigint;
  /** An ADDED or MODIFIED event. */
  put(object: T): void;
  /** A DELETED event; `object` is the last state, with the resourceVersion of the deletion. */
  drop(object: T): void;
  /** A BOOKMARK: there are no further events up to this version. */
  advance(resourceVersion: string): void;
  /** How many objects a complete list would remove from the cache. */
  missingFrom(items: readonly T[], resourceVersion: string): number;
  /**
   * Whether a complete list with a newer version contains an object in an older state than seen before. The server's history
   * was then rewound.
   */
  contradicts(items: readonly T[], resourceVersion: string): boolean;
  /** A complete list. Objects that it lacks are deleted, unless they are newer than the list. */
  replace(items: readonly T[], resourceVersion: string): void;
  /** The response of a write. Ignored if the cache is already as new. */
  overlay(object: T): void;
  /** A write has deleted this object, last known at `resourceVersion`. */
  overlayDeleted(uid: string, resourceVersion: string): void;
  /** Whether the cache shows at least what a write that got `resourceVersion` made. */
  isAtLeast(ref: ObjectRef, resourceVersion: string): boolean;
}

/** resourceVersions as comparable numbers (GA in Kubernetes 1.35); '' and absent precede all others. */
export function versionOf(resourceVersion: string | undefined): bigint {
  return resourceVersion === undefined || resourceVersion === '' ? 0n : BigInt(resourceVersion);
}

export function makeObjectCache<T extends KubeObject>(options: ObjectCacheOptions<T>): ObjectCache<T> {
  const { onChange, indexedLabels = [], indexes = {} } = options;
  const objects = makeIndexedObjects<T>(indexedLabels, indexes);
  /** Davit's deletions that the watch has not reported yet: uid → version up to which events are outdated. */
  const deletedByUs = new Map<string, bigint>();
  let observed = 0n;

  /** Stores the object if it is newer. */
  function accept(object: T): void {
    const key = keyOf(object.metadata);
    const version = versionOf(object.metadata.resourceVersion);
    const deletedUpTo = deletedByUs.get(uidOf(object));
    if (deletedUpTo !== undefined && version <= deletedUpTo) return;
    deletedByUs.delete(uidOf(object));

    const present = objects.get(key);
    if (present !== undefined && versionOf(present.metadata.resourceVersion) >= version) return;
    if (present !== undefined) objects.remove(key, present);
    objects.add(key, object);
    if (present === undefined) {
      onChange({ type: 'added', object });
    } else if (uidOf(present) === uidOf(object)) {
      onChange({ type: 'modified', object, previous: present });
    } else {
      onChange({ type: 'deleted', object: present });
      onChange({ type: 'added', object });
    }
  }

  function observe(version: bigint): void {
    if (version > observed) observed = version;
  }

  function missing(items: readonly T[], listed: bigint): T[] {
    const uids = new Set(items.map(uidOf));
    return [...objects.all()].filter(
      // One of Davit's writes after the list returned a newer object; the watch will report its later changes.
      (object) => !uids.has(uidOf(object)) && versionOf(object.metadata.resourceVersion) <= listed,
    );
  }

  return {
    get size() {
      return objects.size;
    },
    get observed() {
      return observed;
    },
    get: (ref) => objects.get(keyOf(ref)),
    byUid: objects.byUid,
    list: (namespace) => [...objects.all(namespace)],
    byLabel: objects.find,
    byIndex: objects.find,

    put(object) {
      accept(object);
      observe(versionOf(object.metadata.resourceVersion));
    },

    drop(object) {
      const key = keyOf(object.metadata);
      const present = objects.get(key);
      const uid = uidOf(object);
      if (present !== undefined && uidOf(present) === uid) {
        objects.remove(key, present);
        onChange({ type: 'deleted', object, previous: present });
      }
      deletedByUs.delete(uid);
      observe(versionOf(object.metadata.resourceVersion));
    },

    advance: (resourceVersion) => observe(versionOf(resourceVersion)),

    missingFrom: (items, resourceVersion) => missing(items, versionOf(resourceVersion)).length,

    contradicts(items, resourceVersion) {
      const listed = versionOf(resourceVersion);
      return items.some((item) => {
        const known = versionOf(objects.byUid(uidOf(item))?.metadata.resourceVersion);
        return known <= listed && versionOf(item.metadata.resourceVersion) < known;
      });
    },

    replace(items, resourceVersion) {
      const listed = versionOf(resourceVersion);
      for (const object of missing(items, listed)) {
        // A name that was recreated since is reported by `accept` below, as deleted and added.
        objects.remove(keyOf(object.metadata), object);
        onChange({ type: 'deleted', object });
      }
      for (const object of items) accept(object);
      const uids = new Set(items.map(uidOf));
      for (const [uid, upTo] of deletedByUs) if (upTo <= listed && !uids.has(uid)) deletedByUs.delete(uid);
      observe(listed);
    },

    overlay(object) {
      // Everything up to `observed` has been seen: if the object isn't here, it was deleted since.
      if (versionOf(object.metadata.resourceVersion) > observed) accept(object);
    },

    overlayDeleted(uid, resourceVersion) {
      const upTo = versionOf(resourceVersion);
      const present = objects.byUid(uid);
      if (present !== undefined && versionOf(present.metadata.resourceVersion) > upTo) return;
      // Neither here nor still to come: its deletion has been seen, or it is none of this cache's.
      if (present === undefined && upTo <= observed) return;
      deletedByUs.set(uid, upTo);
      if (present === undefined) return;
      objects.remove(keyOf(present.metadata), present);
      onChange({ type: 'deleted', object: present });
    },

    isAtLeast(ref, resourceVersion) {
      const wanted = versionOf(resourceVersion);
      return observed >= wanted || versionOf(objects.get(keyOf(ref))?.metadata.resourceVersion) >= wanted;
    },
  };
}
