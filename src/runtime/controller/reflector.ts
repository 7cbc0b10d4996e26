// Keeps a copy of one resource: list, watch, then watch again from where the last watch ended. object-cache.ts holds the objects
// and orders updates; this file handles broken connections and busy servers.

import type { Logger } from 'pino';
import { Forbidden, Gone, NotFound, Silent, Unavailable } from '../errors.ts';
import { NAMESPACES } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject, ObjectRef, Resource } from '../kube/client.ts';
import { type Clock, sleep, systemClock, untilAborted } from './clock.ts';
import { makeConnectionBackoff } from './connection-backoff.ts';
import type { Checks } from './health.ts';
import type { Indexes } from './indexed-objects.ts';
import { dropManagedFields } from './managed-fields.ts';
import type { RuntimeMetrics } from './metrics.ts';
import { makeObjectCache, versionOf } from './object-cache.ts';
import { listAllPages, type WholeList } from './pager.ts';
import { makeRewindDetector } from './rewind-detector.ts';
import type { Change, WatchedStore } from './store.ts';

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly log: Logger;
  /** One namespace; without it, all of them. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Requests and keeps only metadata: for Secrets, whose values must not be in memory. */
  readonly metadataOnly?: boolean;
  readonly indexedLabels?: readonly string[];
  /** Further indexes by name. Their values must depend only on the object. */
  readonly indexes?: Indexes<T>;
  /** The kind may be missing in the cluster. It then counts as empty until it is installed. */
  readonly optional?: boolean;
  /** Reduces an object before it is stored. May change the object and its metadata, but nothing deeper. */
  readonly transform?: (object: T) => T;
  readonly metrics?: RuntimeMetrics;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly pageSize?: number;
  /** A watch without data for this long counts as dead. Servers send a bookmark about once a minute. */
  readonly idleMs?: number;
  /**
   * Called, possibly repeatedly, when the server's history was replaced by an older one, as by a restored backup. The content of
   * all caches is then invalid.
   */
  readonly onRewound?: (what: string) => void;
}

/** What all watch caches of a process have in common. */
export type Watching = Pick<ReflectorOptions<KubeObject>, 'client' | 'log' | 'metrics' | 'onRewound'>;

export interface ReflectorStatus {
  readonly synced: boolean;
  /** Start of the current series of failures, and the last failure. */
  readonly failingForMs?: number;
  readonly lastError?: string;
}

/**
 * A watch cache.
 *
 * - It never stops on its own, whatever the server answers: it retries with growing delays of up to 30 s, or as late as
 *   the server asks, and keeps its content meanwhile.
 * - It never shows an older state than before: it rejects an older list and ignores an older event of an object.
 * - A list that lacks known objects is only believed if a second list confirms it, because a wrongly deleted object would not
 *   return before it changes.
 * - An `optional` kind that the cluster does not have counts as listed and empty. It is checked until it is installed.
 * - The same holds for a namespace that was deleted together with the Role that allowed the list.
 * - An exception of a listener is logged and does not affect the others.
 */
export interface Reflector<T extends KubeObject = KubeObject> extends WatchedStore<T> {
  readonly resource: Resource;
  /** The namespace that it watches; undefined if it watches all, or several. */
  readonly namespace: string | undefined;
  /** Lists and watches until `signal` aborts, then resolves. Never rejects. Call it once. */
  run(signal: AbortSignal): Promise<void>;
  /** True once the first complete list is in the store, false if `signal` aborts before. */
  waitForSync(signal?: AbortSignal): Promise<boolean>;
  /** Reports every later change after the store has it. Register before `run`, because changes are not repeated. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Whether the cluster has the kind: false only for an optional kind, after a check. */
  isInstalled(): boolean;
  /** Reports when an optional kind was installed or removed. */
  onInstalled(listener: () => void): () => void;
  /** Version up to which everything has been seen; '0' before the first list. */
  observedResourceVersion(): string;
  /** Whether the store contains the result of a write of `ref` with `resourceVersion`, or a later state. */
  isAtLeast(ref: ObjectRef, resourceVersion: string): boolean;
  /** Puts the response of a write into the store immediately, unless the store is already as new. */
  overlay(object: T): void;
  /** Removes an object that a write has finally deleted (not one that finalizers still hold). */
  overlayDeleted(uid: string, resourceVersion: string): void;
  status(): ReflectorStatus;
}

/** Jitter for lists: many caches receive 410 at the same time when a server restarts. */
const RELIST_JITTER_MS = 1_000;
/** A watch that ends without an event in less than this time counts as rejected. */
const SHORT_WATCH_MS = 1_000;
const SHORTEST_WATCH_SECONDS = 300;
/** Interval of the checks for a kind that is not installed. */
const NOT_INSTALLED_MS = 10_000;

/** A reflector that has not started: see `run`. */
export function makeReflector<T extends KubeObject = KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { client, resource, metrics, clock = systemClock, random = Math.random } = options;
  const { pageSize = 500, idleMs = 90_000, transform = dropManagedFields } = options;
  const log = options.log.child({
    reflector: resource.plural,
    ...(options.namespace !== undefined && { namespace: options.namespace }),
  });
  const listeners = new Set<(change: Change<T>) => void>();
  const cache = makeObjectCache<T>({
    indexedLabels: options.indexedLabels ?? [],
    indexes: options.indexes ?? {},
    onChange: tell,
  });
  const selection = {
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    ...(options.labelSelector !== undefined && { labelSelector: options.labelSelector }),
    ...(options.fieldSelector !== undefined && { fieldSelector: options.fieldSelector }),
    ...(options.metadataOnly !== undefined && { metadataOnly: options.metadataOnly }),
  };
  /** Aborts with the first list. */
  const synced = new AbortController();
  const past = makeRewindDetector(clock, options.onRewound);
  const installedListeners = new Set<() => void>();
  const contact = makeConnectionBackoff(clock, random);
  let installed = true;
  /** Version from which the next watch starts; undefined if a list has to come first. */
  let position: string | undefined;

  function tell(change: Change<T>): void {
    if (change.type !== 'modified') metrics?.cached(resource.plural, change.type === 'added' ? 1 : -1);
    for (const listener of listeners) {
      try {
        listener(change);
      } catch (err) {
        log.error({ err, name: change.object.metadata.name }, 'Listener failed');
      }
    }
  }

  function listWhole(signal: AbortSignal): Promise<WholeList<T>> {
    return listAllPages(client, resource, { ...selection, pageSize, keep: transform, signal });
  }

  async function relist(signal: AbortSignal): Promise<string> {
    let { items, version } = await listWhole(signal);
    if (cache.missingFrom(items, version) > 0) {
      log.info({ known: cache.size, listed: items.length }, 'List lacks known objects, listing again');
      await sleep(clock, random() * RELIST_JITTER_MS, signal);
      ({ items, version } = await listWhole(signal));
    }
    if (versionOf(version) < cache.observed)
      refusePast(`${version} is older than ${cache.observed}, which was seen before`);
    if (cache.contradicts(items, version)) refusePast(`at ${version} objects are older than seen before`);
    past.over();
    cache.replace(items, version);
    metrics?.relisted(resource.plural);
    contact.heard();
    synced.abort();
    markInstalled(true);
    log.info({ objects: items.length, resourceVersion: version }, 'Listed');
    return version;
  }

  function refusePast(what: string): never {
    // If the server has caught up by the next check, only a list shows the changes in between.
    position = undefined;
    return past.refuse(`list ${resource.plural}: resourceVersion ${what}`);
  }

  /** A watch from a version that the server has not reached yet would be silent and miss all events up to that version. */
  async function checkStillThere(from: string, signal: AbortSignal): Promise<void> {
    const { resourceVersion } = await client.list<T>(resource, { ...selection, limit: 1, signal });
    if (versionOf(resourceVersion) < versionOf(from))
      refusePast(`${resourceVersion} is older than ${from}, the watch's`);
    past.over();
  }

  function markInstalled(now: boolean): void {
    if (installed === now) return;
    installed = now;
    for (const listener of installedListeners) listener();
  }

  async function waitForKind(signal: AbortSignal): Promise<void> {
    if (installed)
      log.warn(`The cluster does not have ${resource.plural}.${resource.group}; checking until it is installed`);
    markInstalled(false);
    await stayEmpty(signal);
  }

  async function stayEmpty(signal: AbortSignal): Promise<void> {
    position = undefined;
    cache.replace([], String(cache.observed));
    contact.heard();
    synced.abort();
    await sleep(clock, NOT_INSTALLED_MS * (0.5 + random() / 2), signal);
  }

  async function isNamespaceGone(): Promise<boolean> {
    if (options.namespace === undefined) return false;
    const look = client.get(NAMESPACES, { name: options.namespace }, { metadataOnly: true });
    return look.then(
      () => false,
      (error: unknown) => error instanceof NotFound,
    );
  }

  async function watchFrom(from: string, signal: AbortSignal): Promise<void> {
    const start = clock.elapsed();
    let events = 0;
    const watch = client.watch<T>(resource, {
      ...selection,
      resourceVersion: from,
      // Random, so that the watches of many caches don't all end together.
      timeoutSeconds: Math.round(SHORTEST_WATCH_SECONDS * (1 + random())),
      idleMs,
      signal,
    });
    for await (const event of watch) {
      if (signal.aborted) return;
      events += 1;
      contact.heard();
      const version = event.object.metadata.resourceVersion;
      if (version === undefined) throw new Unavailable(`watch ${resource.plural}: event without resourceVersion`);
      if (event.type === 'BOOKMARK') cache.advance(version);
      else if (event.type === 'DELETED') cache.drop(transform(event.object));
      else cache.put(transform(event.object));
      position = version;
    }
    if (events === 0 && clock.elapsed() - start < SHORT_WATCH_MS && !signal.aborted) {
      throw new Unavailable(`watch ${resource.plural}: ended immediately`);
    }
    contact.heard();
  }

  async function recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (error instanceof Silent) {
      // The API server sends nothing for a kind that nobody changes, not even bookmarks (they need a new version). The watch is
      // reopened without a delay, during which events would be missed. A dead server is detected when the watch is opened.
      contact.heard();
      log.debug({ err: error }, 'Watch was silent, reopening it');
      return;
    }
    if (options.optional === true && error instanceof NotFound) return waitForKind(signal);
    if (error instanceof Forbidden && (await isNamespaceGone())) return stayEmpty(signal);
    metrics?.watchFailed(resource.plural, error instanceof Error ? error.name : 'Error');
    if (error instanceof Gone) {
      position = undefined;
      log.info({ err: error }, 'Watch position has expired, listing again');
      await sleep(clock, random() * RELIST_JITTER_MS, signal);
      // Avoids a tight loop if the server answers every list with 410.
      if (contact.forgive()) return;
    }
    const { waitMs, failures } = contact.failed(error);
    // A single failure is normal: a server restarts, or a connection breaks.
    log[failures === 1 ? 'info' : 'warn'](
      { err: error, waitMs: Math.round(waitMs), failures },
      'Watch failed, will retry',
    );
    await sleep(clock, waitMs, signal);
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (position === undefined) {
          position = await relist(signal);
        } else {
          metrics?.reconnected(resource.plural);
          await checkStillThere(position, signal);
        }
        await watchFrom(position, signal);
      } catch (error) {
        if (!signal.aborted) await recover(error, signal);
      }
    }
  }

  return {
    resource,
    namespace: options.namespace,
    run,
    hasSynced: () => synced.signal.aborted,
    async waitForSync(signal) {
      await untilAborted(signal ? AbortSignal.any([synced.signal, signal]) : synced.signal);
      return synced.signal.aborted;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isInstalled: () => installed,
    onInstalled(listener) {
      installedListeners.add(listener);
      return () => installedListeners.delete(listener);
    },
    get: cache.get,
    byUid: cache.byUid,
    list: cache.list,
    byLabel: cache.byLabel,
    byIndex: cache.byIndex,
    isAtLeast: cache.isAtLeast,
    overlay(object) {
      const { apiVersion, kind, metadata } = object;
      // The response is complete even if the cache holds only metadata. The caller uses it too, so the part that `transform`
      // changes, the metadata, is copied.
      const held = options.metadataOnly === true ? ({ apiVersion, kind } as T) : object;
      cache.overlay(transform({ ...held, metadata: { ...metadata } }));
    },
    overlayDeleted: cache.overlayDeleted,
    observedResourceVersion: () => String(cache.observed),
    status: () => ({ synced: synced.signal.aborted, ...contact.status() }),
  };
}

/** For /readyz: why a cache is not complete; undefined if it is. */
export function whyNotListed(cache: Reflector): string | undefined {
  const { synced, lastError } = cache.status();
  if (synced) return undefined;
  return lastError === undefined ? 'not listed yet' : `not listed yet: ${lastError}`;
}

/** For /readyz: a check for each resource. Several caches may have the same resource, in different namespaces. */
export function listedChecks(caches: readonly Reflector[]): Checks {
  const byResource = Map.groupBy(caches, ({ resource }) => resource.plural);
  return Object.fromEntries(
    [...byResource].map(([plural, these]) => [
      plural,
      () => these.map(whyNotListed).find((reason) => reason !== undefined),
    ]),
  );
}
