// Keeps a copy of one resource: list, then watch, then watch again where the last one ended. What it holds and in
// which order news is believed is object-cache.ts's business; this file is about connections that end and servers
// that are busy.

import type { Logger } from 'pino';
import { Gone, NotFound, Unavailable } from '../errors.ts';
import type { KubeClient, KubeObject, ObjectRef, Resource } from '../kube/client.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import type { RuntimeMetrics } from './metrics.ts';
import { type Change, makeObjectCache, versionOf } from './object-cache.ts';
import type { Store } from './store.ts';

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
  /** The cluster may not know this kind: then there are none of it, until it is installed. */
  readonly optional?: boolean;
  /** What is kept of an object; may change the object it is given, which is nobody else's. */
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
 * - It never stops by itself, whatever the server answers: it tries again, slower and slower up to 30 s, as late as
 *   the server asks, and keeps what it has meanwhile.
 * - It never shows an older state than it has shown: an older list is refused, older news of an object is ignored.
 * - A list that would delete anything that is known is asked for a second time before it is believed: what is deleted
 *   by mistake does not come back before it changes.
 * - A kind that is `optional` and that the cluster does not know counts as listed and empty; it is looked for until it
 *   is there.
 * - A listener that throws is logged and harms nobody else.
 */
export interface Reflector<T extends KubeObject = KubeObject> extends Store<T> {
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

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** Many caches hear 410 at once when a server restarts; they should not list at once. */
const RELIST_JITTER_MS = 1_000;
/** Below this, a watch that ended without a word is one that is being refused. */
const SHORT_WATCH_MS = 1_000;
const SHORTEST_WATCH_SECONDS = 300;
/** Between two looks for a kind that is not installed. */
const NOT_INSTALLED_MS = 10_000;

/**
 * Lists are consistent reads: one that is older than what was seen should never be. A cache in between, or a load
 * balancer's mistake, passes; a history that was rewound does not.
 */
const REWOUND_AFTER_TIMES = 3;
const REWOUND_AFTER_MS = 15_000;

/** A reflector that has not started: see `run`. */
export function makeReflector<T extends KubeObject = KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { client, resource, metrics, clock = systemClock, random = Math.random } = options;
  const { pageSize = 500, idleMs = 90_000, transform = dropManagedFields } = options;
  const log = options.log.child({
    reflector: resource.plural,
    ...(options.namespace !== undefined && { namespace: options.namespace }),
  });
  const listeners = new Set<(change: Change<T>) => void>();
  const cache = makeObjectCache<T>({ indexedLabels: options.indexedLabels ?? [], onChange: tell });
  const selection = {
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    ...(options.labelSelector !== undefined && { labelSelector: options.labelSelector }),
    ...(options.fieldSelector !== undefined && { fieldSelector: options.fieldSelector }),
    ...(options.metadataOnly !== undefined && { metadataOnly: options.metadataOnly }),
  };
  const waiting = new Set<() => void>();
  const installedListeners = new Set<() => void>();
  let synced = false;
  let installed = true;
  /** Where the next watch begins; undefined when a list has to come first. */
  let position: string | undefined;
  let failures = 0;
  let failingSince: number | undefined;
  let lastError: string | undefined;
  let lastHeard: number | undefined;
  /** Since when, and how often one after the other, the server has shown a past that we have seen the end of. */
  let past: { readonly since: number; readonly times: number } | undefined;

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

  function heard(): void {
    lastHeard = clock.elapsed();
    failures = 0;
    failingSince = undefined;
    lastError = undefined;
  }

  async function listPages(signal: AbortSignal, limit: number | undefined): Promise<{ items: T[]; version: string }> {
    const items: T[] = [];
    let version: string | undefined;
    let continueToken: string | undefined;
    do {
      // oxlint-disable-next-line no-await-in-loop -- each page names the next
      const page = await client.list<T>(resource, {
        ...selection,
        ...(limit !== undefined && { limit }),
        ...(continueToken !== undefined && { continueToken }),
        signal,
      });
      // Slimmed page by page, so that a long list is never held whole with all its managedFields.
      for (const item of page.items) items.push(keep(item));
      version ??= page.resourceVersion;
      continueToken = page.continueToken;
    } while (continueToken !== undefined);
    return { items, version: version ?? '' };
  }

  async function listOnce(signal: AbortSignal): Promise<{ items: T[]; version: string }> {
    try {
      return await listPages(signal, pageSize);
    } catch (error) {
      // The snapshot behind the pages has been compacted away: then all in one.
      if (error instanceof Gone) return listPages(signal, undefined);
      throw error;
    }
  }

  async function relist(signal: AbortSignal): Promise<string> {
    let { items, version } = await listOnce(signal);
    if (cache.missingFrom(items, version) > 0) {
      log.info({ known: cache.size, listed: items.length }, 'List lacks some of what is known, asking again');
      await sleep(clock, random() * RELIST_JITTER_MS, signal);
      ({ items, version } = await listOnce(signal));
    }
    if (versionOf(version) < cache.observed) refusePast(`${version} is older than ${cache.observed} that was seen`);
    if (cache.contradicts(items, version)) refusePast(`at ${version} objects are older than they were seen to be`);
    past = undefined;
    cache.replace(items, version);
    metrics?.relisted(resource.plural);
    heard();
    markSynced();
    markInstalled(true);
    log.info({ objects: items.length, resourceVersion: version }, 'Listed');
    return version;
  }

  function refusePast(what: string): never {
    // Should the server have caught up by the next look, what happened on its way is in a list alone.
    position = undefined;
    past = { since: past?.since ?? clock.elapsed(), times: (past?.times ?? 0) + 1 };
    const message = `list ${resource.plural}: resourceVersion ${what}`;
    const lasts = past.times >= REWOUND_AFTER_TIMES && clock.elapsed() - past.since >= REWOUND_AFTER_MS;
    if (lasts) options.onRewound?.(message);
    throw new Unavailable(message);
  }

  /** A watch from a version that the server has not reached yet would be silent, and miss all that happens up to there. */
  async function checkStillThere(from: string, signal: AbortSignal): Promise<void> {
    const { resourceVersion } = await client.list<T>(resource, { ...selection, limit: 1, signal });
    if (versionOf(resourceVersion) < versionOf(from))
      refusePast(`${resourceVersion} is older than ${from}, the watch's`);
    past = undefined;
  }

  function markSynced(): void {
    if (synced) return;
    synced = true;
    for (const wake of waiting) wake();
  }

  function markInstalled(now: boolean): void {
    if (installed === now) return;
    installed = now;
    for (const listener of installedListeners) listener();
  }

  async function waitForKind(signal: AbortSignal): Promise<void> {
    position = undefined;
    if (installed)
      log.warn(`The cluster does not know ${resource.plural}.${resource.group}; looking for it until it is installed`);
    cache.replace([], String(cache.observed));
    heard();
    markInstalled(false);
    markSynced();
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
      heard();
      const version = event.object.metadata.resourceVersion;
      if (version === undefined) throw new Unavailable(`watch ${resource.plural}: an event without resourceVersion`);
      if (event.type === 'BOOKMARK') cache.advance(version);
      else if (event.type === 'DELETED') cache.drop(keep(event.object));
      else cache.put(keep(event.object));
      position = version;
    }
    if (events === 0 && clock.elapsed() - start < SHORT_WATCH_MS && !signal.aborted) {
      throw new Unavailable(`watch ${resource.plural}: ended at once`);
    }
    heard();
  }

  async function recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (options.optional === true && error instanceof NotFound) return waitForKind(signal);
    metrics?.watchFailed(resource.plural, error instanceof Error ? error.name : 'Error');
    if (error instanceof Gone) {
      position = undefined;
      log.info({ err: error }, 'Watch position is gone, listing again');
      await sleep(clock, random() * RELIST_JITTER_MS, signal);
      // A server that answers every list with 410 must not be asked without pause.
      if (failures === 0) {
        failures = 1;
        return;
      }
    }
    failures += 1;
    failingSince ??= clock.elapsed();
    lastError = error instanceof Error ? error.message : String(error);
    const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 16));
    const asked = error instanceof Unavailable ? (error.retryAfterMs ?? 0) : 0;
    const wait = Math.max(backoff * (0.5 + random() / 2), asked);
    // The first failure is every day's: a server restarts, a connection breaks.
    log[failures === 1 ? 'info' : 'warn'](
      { err: error, waitMs: Math.round(wait), failures },
      'Watch failed, will retry',
    );
    await sleep(clock, wait, signal);
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
    hasSynced: () => synced,
    waitForSync(signal) {
      if (synced) return Promise.resolve(true);
      if (signal?.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const finish = (): void => {
          waiting.delete(finish);
          signal?.removeEventListener('abort', finish);
          resolve(synced);
        };
        waiting.add(finish);
        signal?.addEventListener('abort', finish, { once: true });
      });
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
    isAtLeast: cache.isAtLeast,
    overlay(object) {
      const { apiVersion, kind, metadata } = object;
      // The response is whole even where the cache is to hold metadata alone.
      const held = options.metadataOnly === true ? ({ apiVersion, kind, metadata } as T) : object;
      cache.overlay(keep(structuredClone(held)));
    },
    overlayDeleted: cache.overlayDeleted,
    observedResourceVersion: () => String(cache.observed),
    status: () => ({
      synced,
      observedResourceVersion: String(cache.observed),
      ...(lastHeard !== undefined && { lastHeardMs: clock.elapsed() - lastHeard }),
      ...(failingSince !== undefined && { failingForMs: clock.elapsed() - failingSince }),
      ...(lastError !== undefined && { lastError }),
    }),
  };
}

/** For /readyz: what keeps a cache from being whole; undefined when it is. */
export function whyNotListed(cache: Reflector): string | undefined {
  const { synced, lastError } = cache.status();
  if (synced) return undefined;
  return lastError === undefined ? 'not listed yet' : `not listed yet: ${lastError}`;
}

/** One reflector of the whole cluster, or, where namespaces are listed, one for each of them behind one store. */
export function reflectNamespaces<T extends KubeObject>(
  namespaces: readonly string[],
  options: Omit<ReflectorOptions<T>, 'namespace'>,
): Reflector<T> {
  if (namespaces.length === 0) return makeReflector<T>(options);
  return combineReflectors<T>(
    new Map(namespaces.map((namespace) => [namespace, makeReflector<T>({ ...options, namespace })])),
  );
}

/**
 * Several reflectors of one resource, one for each namespace that may be looked at, as one. What is asked of another
 * namespace finds nothing; `observedResourceVersion` is that of the one furthest behind.
 */
export function combineReflectors<T extends KubeObject>(byNamespace: ReadonlyMap<string, Reflector<T>>): Reflector<T> {
  const all = [...byNamespace.values()];
  const first = all[0];
  if (first === undefined) throw new Error('combine reflectors: there are none');
  const of = (namespace: string | undefined): Reflector<T> | undefined => byNamespace.get(namespace ?? '');

  function furthestBehind(): string {
    return all.map((one) => one.observedResourceVersion()).reduce((a, b) => (versionOf(a) < versionOf(b) ? a : b));
  }

  return {
    resource: first.resource,
    async run(signal) {
      await Promise.all(all.map((one) => one.run(signal)));
    },
    hasSynced: () => all.every((one) => one.hasSynced()),
    async waitForSync(signal) {
      return (await Promise.all(all.map((one) => one.waitForSync(signal)))).every(Boolean);
    },
    onChange(listener) {
      const removers = all.map((one) => one.onChange(listener));
      return () => {
        for (const remove of removers) remove();
      };
    },
    isInstalled: () => all.every((one) => one.isInstalled()),
    onInstalled(listener) {
      const removers = all.map((one) => one.onInstalled(listener));
      return () => {
        for (const remove of removers) remove();
      };
    },
    get: (ref) => of(ref.namespace)?.get(ref),
    byUid(uid) {
      for (const one of all) {
        const found = one.byUid(uid);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    list: (namespace) =>
      namespace === undefined ? all.flatMap((one) => one.list()) : (of(namespace)?.list(namespace) ?? []),
    byLabel: (namespace, label, value) => of(namespace)?.byLabel(namespace, label, value) ?? [],
    // A namespace that isn't watched will never show anything: nothing to wait for.
    isAtLeast: (ref, resourceVersion) => of(ref.namespace)?.isAtLeast(ref, resourceVersion) ?? true,
    overlay: (object) => of(object.metadata.namespace)?.overlay(object),
    overlayDeleted(uid, resourceVersion) {
      for (const one of all) one.overlayDeleted(uid, resourceVersion);
    },
    observedResourceVersion: furthestBehind,
    status() {
      const failing = all.map((one) => one.status()).find((status) => status.failingForMs !== undefined);
      return {
        ...(failing ?? first.status()),
        synced: all.every((one) => one.hasSynced()),
        observedResourceVersion: furthestBehind(),
      };
    },
  };
}

/** Keeps everything but managedFields, which can be most of an object's size. */
export function dropManagedFields<T extends KubeObject>(object: T): T {
  delete (object.metadata as { managedFields?: unknown }).managedFields;
  return object;
}

/** Keeps of managedFields who wrote and when, without the sets of fields. */
export function slimManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields } = object.metadata;
  if (managedFields === undefined) return object;
  (object.metadata as { managedFields?: unknown }).managedFields = managedFields.map((field) => ({
    ...(field.manager !== undefined && { manager: field.manager }),
    ...(field.operation !== undefined && { operation: field.operation }),
    ...(field.subresource !== undefined && { subresource: field.subresource }),
    ...(field.time !== undefined && { time: field.time }),
  }));
  return object;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
