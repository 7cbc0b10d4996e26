// Upkeep of the chart's registry, whose garbage collection deletes what has no tag. When a collection is due, every image that is named
// gets a tag (keep.ts), and then the registry's pod is replaced by one that collects before it serves (collection.ts).

import type { Pod } from '../../deploy/assess/observed.ts';
import type { Caches } from '../../deploy/cluster/caches.ts';
import { isBegun } from '../../kinds/build.ts';
import { abortable } from '../../runtime/controller/clients/wrap-client.ts';
import { type Clock, sleep } from '../../runtime/controller/clock.ts';
import { RegistryFailed, undefinedIfNotFound } from '../../runtime/errors.ts';
import { CONFIG_MAPS, PODS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import {
  arming,
  type CollectionConfigMap,
  collectionShown,
  dueAt,
  isCollectionDue,
  type StoredCollection,
  stepOf,
  storedIn,
} from './collection.ts';
import { makeKeeper } from './keep.ts';
import type { OwnRegistry } from './metrics.ts';
import { PUBLISHED_AHEAD_MS } from './signing-keys.ts';
import { makeSweeper, type SweeperOptions } from './sweep.ts';

/** Pod of the chart's StatefulSet. */
const REGISTRY_POD = 'davit-registry-0';
/** The chart creates it, without data, where garbage is collected. */
const CONFIG_MAP = 'davit-registry-collection';
/** Interval of the looks: while a collection is armed, and otherwise. */
const ARMED_MS = 10_000;
const IDLE_MS = 60_000;
/**
 * Nothing is collected for this time after the controller starts, after a sweep and after a failure. It is longer than a request that
 * tags an image and then names it: a tag that a sweep deletes in between is put back.
 */
const QUIET_MS = 120_000;

/**
 * Age at which a pod is replaced without a collection, because the registry reads its keys when it starts: in the hour of collections
 * unless builds run, and in any hour before a key signs.
 */
const KEYS_READ_MS = 6.75 * 24 * 3_600_000;
const LAST_KEYS_READ_MS = PUBLISHED_AHEAD_MS - 2 * 3_600_000;

const FAILED = 'Garbage collection failed. The registry starts without it and will try again';

export interface RegistryUpkeep {
  /** Looks once, and does what is due. Returns the delay until the next look, in milliseconds. Throws if the API server fails. */
  look(signal: AbortSignal): Promise<number>;
  /** As of the last look. */
  shown(): OwnRegistry;
}

export function makeRegistryUpkeep(options: SweeperOptions): RegistryUpkeep {
  const { shell, settings, upkeep, namespace, log, now, elapsed } = options;
  const keeper = makeKeeper(options);
  const sweeper = makeSweeper(options, keeper);
  const configMap = { namespace, name: CONFIG_MAP };
  const podRef = { namespace, name: REGISTRY_POD };
  let quietUntil = elapsed() + QUIET_MS;
  let stored: StoredCollection | undefined;

  const replace = (kube: KubeClient, { metadata }: Pod): Promise<unknown> =>
    kube.remove(PODS, podRef, { uid: metadata.uid ?? '' }).catch(undefinedIfNotFound);

  /** Continues or ends a collection, also while Davit is paused. Returns whether one is armed. */
  async function guard(kube: KubeClient, before: StoredCollection, pod: Pod | undefined): Promise<boolean> {
    const { patch, ended, replacesPod } = stepOf(before, pod, upkeep.limitMinutes * 60_000, now());
    if (patch) await kube.mergePatch(CONFIG_MAPS, configMap, patch);
    // Only after that: the next pod must not collect.
    if (replacesPod && pod) await replace(kube, pod);
    if (ended?.phase === 'succeeded') log.info({ pod: REGISTRY_POD }, 'The registry has collected garbage');
    else if (ended) log.warn({ ended: ended.phase, reason: ended.reason }, FAILED);
    return before.state?.phase === 'armed' && ended === undefined;
  }

  const isBuilding = (): boolean => shell.caches.revisions.list().some(({ status }) => isBegun(status?.build));

  /** Sweeps, or replaces the pod by one that collects. Returns whether it did. */
  async function tend(kube: KubeClient, pod: Pod | undefined, signal: AbortSignal): Promise<boolean> {
    if (upkeep.enabled && (await sweeper.sweep(signal))) {
      quietUntil = elapsed() + QUIET_MS;
      return true;
    }
    if (!stored || !pod || !isRunning(pod)) return false;
    const due = dueAt(stored, upkeep.everyDays);
    const { isRequested } = stored;
    const isDue = (isAtRisk: boolean): boolean =>
      isCollectionDue(due, upkeep.hour, { isRequested, isBuilding: isBuilding(), isAtRisk }, now());
    if (!isDue(false)) return false;
    const isSafe = await keeper.keepAll(signal);
    if (!isDue(!isSafe)) {
      quietUntil = elapsed() + QUIET_MS;
      return false;
    }
    await kube.mergePatch(CONFIG_MAPS, configMap, arming(stored.state, pod.metadata.uid ?? '', now()));
    await replace(kube, pod);
    log.info({ pod: REGISTRY_POD }, "Replaced the registry's pod to collect garbage");
    return true;
  }

  return {
    shown: () => ({
      collection: stored && collectionShown(stored, settings.paused ? undefined : upkeep.everyDays),
      unneeded: sweeper.noted(),
    }),

    async look(signal) {
      const kube = abortable(shell.client, signal);
      const found = upkeep.enabled
        ? await kube.get<CollectionConfigMap>(CONFIG_MAPS, configMap).catch(undefinedIfNotFound)
        : undefined;
      stored = found && storedIn(found);
      const pod = await kube.get<Pod>(PODS, podRef).catch(undefinedIfNotFound);
      if (stored && (await guard(kube, stored, pod))) return ARMED_MS;
      if (settings.paused || stored?.state?.phase === 'armed' || elapsed() < quietUntil) return IDLE_MS;
      try {
        if (await tend(kube, pod, signal)) return IDLE_MS;
      } catch (error) {
        // The registry starts later than the controller, and is replaced now and then: that it does not answer is no error.
        if (!(error instanceof RegistryFailed)) throw error;
        quietUntil = elapsed() + QUIET_MS;
        log.warn({ reason: error.message }, 'The registry failed, upkeep will try again');
      }
      const isHour = now().getUTCHours() === upkeep.hour && !isBuilding();
      if (pod && isRunning(pod) && ageOf(pod, now()) >= (isHour ? KEYS_READ_MS : LAST_KEYS_READ_MS)) {
        await replace(kube, pod);
        log.info({ pod: REGISTRY_POD }, "Replaced the registry's pod so that it reads its signing keys again");
      }
      return IDLE_MS;
    },
  };
}

function isRunning({ metadata, status }: Pod): boolean {
  return status?.startTime !== undefined && metadata.deletionTimestamp === undefined;
}

function ageOf({ status }: Pod, now: Date): number {
  return now.getTime() - Date.parse(status?.startTime ?? '');
}

/** Looks until `signal` aborts, as soon as the caches are listed. Never rejects. */
export async function keepUp(
  { look }: RegistryUpkeep,
  { namespaces, records, revisions }: Caches,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<void> {
  await Promise.all([namespaces, records, revisions].map((cache) => cache.waitForSync(signal)));
  while (!signal.aborted) {
    const delay = await look(signal).catch((err: unknown) => {
      if (!signal.aborted) log.warn({ err }, 'Could not read the state of the garbage collection');
      return ARMED_MS;
    });
    await sleep(clock, delay, signal);
  }
}
