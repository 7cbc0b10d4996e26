// When the registry may collect its garbage: as soon as that is due and nothing that is named could be lost.

import type { Caches } from '../../deployments/cluster/caches.ts';
import { RegistryFailed } from '../../lib/errors.ts';
import { isBegun } from '../../schema/build.ts';
import type { Settings } from '../../schema/settings.ts';
import { lastCollection } from './collection.ts';
import type { Collections } from './collection-guard.ts';
import { countFailure, isSetAside, keep, type Repositories, unsafe } from './repositories.ts';
import { isCollectionDue, overdueDays, type UpkeepSettings } from './unneeded.ts';

/** Days overdue from which a collection does not wait for what has failed once, nor for surplus tags. A day, less the hour's tolerance. */
const LATE = 0.75;
/** Days overdue from which it waits only for one attempt at each image. */
const VERY_LATE = 1.75;

export interface GateOptions {
  readonly caches: Caches;
  readonly settings: Settings;
  readonly upkeep: UpkeepSettings;
  readonly collections: Collections;
  readonly repositories: Repositories;
  readonly now: () => Date;
}

export interface CollectionGate {
  /** Repositories for which a collection waits. */
  waiting(): string[];
  /** Has the registry's pod replaced by one that collects, if that is due, and nothing that is named could be lost. */
  collect(signal: AbortSignal): Promise<boolean>;
}

export function makeCollectionGate(options: GateOptions): CollectionGate {
  const { caches, settings, upkeep, collections, repositories, now } = options;
  /** For how many days a collection has been due, as of the last look. */
  let overdue = 0;

  const waiting = (): string[] => unsafe(repositories, overdue >= LATE);

  /** Whether nothing that is named could be lost now, or what could be has had its chance. */
  async function isSafe(signal: AbortSignal): Promise<boolean> {
    const these = waiting();
    if (these.length === 0 || overdue < VERY_LATE) return these.length === 0;
    if (these.some((name) => repositories.known.get(name)?.sweep === 'due')) return false;
    // What was not tried before is tried: always new images then hold nothing up.
    let all = true;
    for (const name of these) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- a registry of one pod
        await keep(repositories, name, signal);
      } catch (error) {
        if (!(error instanceof RegistryFailed)) throw error;
        // oxlint-disable-next-line no-await-in-loop -- as above
        await countFailure(repositories, name, error, signal);
        // False while the registry does not answer.
        all &&= isSetAside(repositories, name, true);
      }
    }
    return all;
  }

  return {
    waiting,
    async collect(signal) {
      if (settings.paused) return false;
      const stored = upkeep.enabled ? await collections.stored(signal) : undefined;
      if (stored?.state?.phase === 'armed') return false;
      const pod = await collections.pod(signal);
      const started = pod?.status?.startTime;
      if (pod === undefined || started === undefined || pod.metadata.deletionTimestamp !== undefined) return false;
      const { at = new Date(started), everyDays } = lastCollection(stored, upkeep.everyDays);
      const isRequested = stored?.isRequested === true;
      overdue = Math.max(overdueDays(at, { everyDays }, now()), isRequested ? LATE : -Infinity);
      const isBuilding = caches.revisions.list().some(({ status }) => isBegun(status?.build));
      const isDue = isCollectionDue({ startedAt: at, isBuilding }, { ...upkeep, everyDays }, now());
      if ((!isDue && !isRequested) || !(await isSafe(signal))) return false;
      await collections.begin(stored, pod, signal);
      return true;
    },
  };
}
