// Begins collections of garbage by the registry's pod, and sees to it that none keeps the registry from starting. What is decided is in
// collection.ts. It runs beside the queue of upkeep, which the registry itself may hold up.

import { abortable } from '../../lib/controller/clients/abortable.ts';
import { type Clock, sleep } from '../../lib/controller/clock.ts';
import { NotFound, undefinedIfNotFound } from '../../lib/errors.ts';
import { CONFIG_MAPS, PODS } from '../../lib/kube/api-resources.ts';
import type { KubeClient } from '../../lib/kube/client.ts';
import type { Logger } from '../../lib/logger.ts';
import {
  arming,
  type CollectionConfigMap,
  type CollectionState,
  type RegistryPod,
  type StoredCollection,
  stepOf,
  storedIn,
} from './collection.ts';

/** Pod of the chart's StatefulSet. */
export const REGISTRY_POD = 'davit-registry-0';
/** The chart creates it, without data. */
const CONFIG_MAP = 'davit-registry-collection';
/** Interval of the looks: while a collection is armed, and otherwise. */
const ARMED_MS = 10_000;
const IDLE_MS = 60_000;
const MINUTE_MS = 60_000;

export interface CollectionsOptions {
  readonly client: KubeClient;
  /** Davit's own namespace. */
  readonly namespace: string;
  /** How long the registry may be away for a collection. */
  readonly limitMinutes: number;
  readonly now: () => Date;
}

/** Collections by the registry's pod. Every method throws if a request to the API server fails. */
export interface Collections {
  /** Undefined where the chart has no ConfigMap for it. */
  stored(signal: AbortSignal): Promise<StoredCollection | undefined>;
  /** The registry's pod; undefined if it does not exist. */
  pod(signal: AbortSignal): Promise<RegistryPod | undefined>;
  /** Replaces the pod by one that collects before it serves. */
  begin(before: StoredCollection | undefined, pod: RegistryPod, signal: AbortSignal): Promise<void>;
  /** Looks once, and does what is due. Says what has ended, and whether one goes on or is asked for. */
  look(signal: AbortSignal): Promise<CollectionLook>;
}

export interface CollectionLook {
  readonly ended?: CollectionState;
  readonly isArmed: boolean;
  readonly isRequested: boolean;
}

export function makeCollections({ client, namespace, limitMinutes, now }: CollectionsOptions): Collections {
  const configMap = { namespace, name: CONFIG_MAP };
  const pod = { namespace, name: REGISTRY_POD };

  async function stored(signal: AbortSignal): Promise<StoredCollection | undefined> {
    const found = await abortable(client, signal)
      .get<CollectionConfigMap>(CONFIG_MAPS, configMap)
      .catch(undefinedIfNotFound);
    return found && storedIn(found);
  }
  async function podNow(signal: AbortSignal): Promise<RegistryPod | undefined> {
    return abortable(client, signal).get<RegistryPod>(PODS, pod).catch(undefinedIfNotFound);
  }
  async function patch(change: object, signal: AbortSignal): Promise<void> {
    await abortable(client, signal).mergePatch(CONFIG_MAPS, configMap, change);
  }
  /** Returns false if the pod is gone already. */
  async function replace({ metadata }: RegistryPod, signal: AbortSignal): Promise<boolean> {
    try {
      await abortable(client, signal).remove(PODS, pod, { uid: metadata.uid ?? '' });
      return true;
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  return {
    stored,
    pod: podNow,

    async begin(before, found, signal) {
      if (before) await patch(arming(before.state, found.metadata.uid ?? '', now()), signal);
      await replace(found, signal);
    },

    async look(signal) {
      const before = await stored(signal);
      if (before === undefined) return { isArmed: false, isRequested: false };
      const found = await podNow(signal);
      const { patch: change, ended, replacesPod } = stepOf(before, found, limitMinutes * MINUTE_MS, now());
      if (change) await patch(change, signal);
      // Only after that: the next pod must not collect.
      if (replacesPod && found) await replace(found, signal);
      const isArmed = before.state?.phase === 'armed' && ended === undefined;
      return { isArmed, isRequested: before.isRequested, ...(ended && { ended }) };
    },
  };
}

export interface CollectionGuardOptions {
  readonly collections: Collections;
  /** Somebody asks for a collection. */
  readonly onRequest: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Looks until `signal` aborts, also while Davit is paused: a collection that has begun must end. Never rejects. */
export async function guardCollections(options: CollectionGuardOptions): Promise<void> {
  const { collections, onRequest, clock, log, signal } = options;
  while (!signal.aborted) {
    let delay = IDLE_MS;
    try {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      const { ended, isArmed, isRequested } = await collections.look(
        AbortSignal.any([signal, AbortSignal.timeout(ARMED_MS)]),
      );
      if (ended) tell(ended, log);
      if (isRequested && !isArmed) onRequest();
      if (isArmed) delay = ARMED_MS;
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'The collection of garbage could not be looked at');
      delay = ARMED_MS;
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(clock, delay, signal);
  }
}

function tell({ ending, reason }: CollectionState, log: Logger): void {
  if (ending === 'succeeded') log.info({ pod: REGISTRY_POD }, 'The registry has collected garbage');
  else
    log.warn(
      { pod: REGISTRY_POD, ...(reason !== undefined && { reason }) },
      ending === 'timedOut'
        ? 'The collection of garbage took too long. The registry starts without it, and will try again'
        : 'The collection of garbage failed. The registry starts without it, and will try again',
    );
}
