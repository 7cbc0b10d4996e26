// Keeps a copy of one resource: list, then watch, then watch again where the last one ended. What it holds and in
// which order news is believed is object-cache.ts's business; this file is about connections that end and servers
// that are busy.

import type { Logger } from 'pino';
import { Gone, NotFound, Silent, Unavailable } from '../errors.ts';
import type { KubeClient, KubeObject, ObjectRef, Resource } from '../kube/client.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import { makeConnectionBackoff } from './connection-backoff.ts';
import { makeLatch } from './latch.ts';
import { dropManagedFields } from './managed-fields.ts';
import type { RuntimeMetrics } from './metrics.ts';
import { type Indexes, makeObjectCache, versionOf } from './object-cache.ts';
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
  /** Metadata alone is asked for and kept: for Secrets, whose values have no business in our memory. */
  readonly metadataOnly?: boolean;
  readonly indexedLabels?: readonly string[];
  /** Further indexes, by name; what they give for an object may depend on nothing but that object. */
  readonly indexes?: Indexes<T>;
  /** The cluster may not know this kind: then there are none of it, until it is installed. */
  readonly optional?: boolean;
  /** What is kept of an object; may change the object it is given and its metadata, but nothing deeper. */
  readonly transform?: (object: T) => T;
  readonly metrics?: RuntimeMetrics;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly pageSize?: number;
  /** Without a byte for this long, a watch counts as dead. Servers send a bookmark about once a minute. */
  readonly idleMs?: number;
  /**
   * Told when the server's history has been replaced by an older one, as by a restored backup: nothing that was seen can
   * be relied on, here or in any other cache. Perhaps more than once.
   */
  readonly onRewound?: (what: string) => void;
  /** Freeze every object deeply, so that who changes one is found out; for tests. */
  readonly freeze?: boolean;
}

export interface ReflectorStatus {
  readonly synced: boolean;
  readonly observedResourceVersion: string;
  /** Since anything was heard from the server; undefined before the first list. */
  readonly lastHeardMs?: number;
  /** Since when nothing but failures came, and the last of them. */
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
 * - A kind that is `optional` and that the cluster does not know counts as listed and empty; it is looked for until it
 *   is there.
 * - A listener that throws is logged and harms nobody else.
 */
export interface Reflector<T extends KubeObject = KubeObject> extends WatchedStore<T> {
  readonly resource: Resource;
  /** Lists and watches until `signal` aborts, then resolves. Never rejects. Call it once. */
  run(signal: AbortSignal): Promise<void>;
  /** True as soon as the first whole list is in the store, false if `signal` aborts before. */
  waitForSync(signal?: AbortSignal): Promise<boolean>;
  /** Tells every change from now on, after the store has it. Register before `run`: nothing is told twice. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Whether the cluster knows the kind: false only for an optional one, after a look. */
  isInstalled(): boolean;
  /** Tells whenever an optional kind has come or gone. */
  onInstalled(listener: () => void): () => void;
  /** Up to where everything has been seen; '0' before the first list. */
  observedResourceVersion(): string;
  /** Whether the store shows at least the state that a write of `ref` made, which got `resourceVersion`. */
  isAtLeast(ref: ObjectRef, resourceVersion: string): boolean;
  /** Puts the response of a write into the store at once, unless it has seen as much already. */
  overlay(object: T): void;
  /** Takes an object out that a write has deleted for good (not one that finalizers still hold). */
  overlayDeleted(uid: string, resourceVersion: string): void;
  status(): ReflectorStatus;
}

/** Many caches hear 410 at once when a server restarts; they should not list at once. */
const RELIST_JITTER_MS = 1_000;
/** Below this, a watch that ended without a word is one that is being refused. */
const SHORT_WATCH_MS = 1_000;
const SHORTEST_WATCH_SECONDS = 300;
/** Between two looks for a kind that is not installed. */
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
  const synced = makeLatch();
  const past = makeRewindDetector(clock, options.onRewound);
  const installedListeners = new Set<() => void>();
  const contact = makeConnectionBackoff(clock, random);
  let installed = true;
  /** Where the next watch begins; undefined when a list has to come first. */
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

  function keep(object: T): T {
    const kept = transform(object);
    return options.freeze === true ? deepFreeze(kept) : kept;
  }

  function listWhole(signal: AbortSignal): Promise<WholeList<T>> {
    return listAllPages(client, resource, { ...selection, pageSize, keep, signal });
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
    synced.open();
    markInstalled(true);
    log.info({ objects: items.length, resourceVersion: version }, 'Listed');
    return version;
  }

  function refusePast(what: string): never {
    // Should the server have caught up by the next look, what happened on its way is in a list alone.
    position = undefined;
    return past.refuse(`list ${resource.plural}: resourceVersion ${what}`);
  }

  /** A watch from a version that the server has not reached yet would be silent, and miss all that happens up to there. */
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
    position = undefined;
    if (installed)
      log.warn(`The cluster does not have ${resource.plural}.${resource.group}; checking until it is installed`);
    cache.replace([], String(cache.observed));
    contact.heard();
    markInstalled(false);
    synced.open();
    await sleep(clock, NOT_INSTALLED_MS * (0.5 + random() / 2), signal);
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
      else if (event.type === 'DELETED') cache.drop(keep(event.object));
      else cache.put(keep(event.object));
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
      log.debug({ err: error }, 'Watch was silent, reopening it');
      return;
    }
    if (options.optional === true && error instanceof NotFound) return waitForKind(signal);
    metrics?.watchFailed(resource.plural, error instanceof Error ? error.name : 'Error');
    if (error instanceof Gone) {
      position = undefined;
      log.info({ err: error }, 'Watch position has expired, listing again');
      await sleep(clock, random() * RELIST_JITTER_MS, signal);
      // A server that answers every list with 410 must not be asked without pause.
      if (contact.forgive()) return;
    }
    const { waitMs, failures } = contact.failed(error);
    // The first failure is every day's: a server restarts, a connection breaks.
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
          // oxlint-disable-next-line no-await-in-loop -- a watch begins where a list ends
          position = await relist(signal);
        } else {
          metrics?.reconnected(resource.plural);
          // oxlint-disable-next-line no-await-in-loop -- before each
          await checkStillThere(position, signal);
        }
        // oxlint-disable-next-line no-await-in-loop -- one watch after the other
        await watchFrom(position, signal);
      } catch (error) {
        // oxlint-disable-next-line no-await-in-loop -- a pause before the next try
        if (!signal.aborted) await recover(error, signal);
      }
    }
  }

  return {
    resource,
    run,
    hasSynced: synced.isOpen,
    waitForSync: synced.wait,
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
      // The response is whole even where the cache is to hold metadata alone. It is the caller's too: what `transform`
      // changes, metadata and no more, is a copy.
      const held = options.metadataOnly === true ? ({ apiVersion, kind } as T) : object;
      cache.overlay(keep({ ...held, metadata: { ...metadata } }));
    },
    overlayDeleted: cache.overlayDeleted,
    observedResourceVersion: () => String(cache.observed),
    status: () => ({
      synced: synced.isOpen(),
      observedResourceVersion: String(cache.observed),
      ...contact.status(),
    }),
  };
}

/** For /readyz: what keeps a cache from being whole; undefined when it is. */
export function whyNotListed(cache: Reflector): string | undefined {
  const { synced, lastError } = cache.status();
  if (synced) return undefined;
  return lastError === undefined ? 'not listed yet' : `not listed yet: ${lastError}`;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
