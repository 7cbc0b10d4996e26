// When the registry may collect its garbage: as soon as that is due and nothing that is named could be lost.

import type { Caches } from '../../deployments/cluster/caches.ts';
import { RegistryFailed } from '../../lib/errors.ts';
import { isBegun } from '../../schema/build.ts';
import type { Settings } from '../../schema/settings.ts';
import { lastCollection } from './collection.ts';
import type { Collections } from './collection-guard.ts';
import type { RegistryFailures } from './failures.ts';
import type { KeptTags } from './kept-tags.ts';
import type { Sweeps } from './sweeps.ts';
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
  readonly failures: RegistryFailures;
  readonly kept: KeptTags;
  readonly sweeps: Sweeps;
  readonly now: () => Date;
}

export interface CollectionGate {
  /**
   * Repositories whose named images could lose their manifests, but those that fail alone, again and again. On time, a collection waits
   * for surplus tags too.
   */
  waiting(): ReadonlySet<string>;
  /** Has the registry's pod replaced by one that collects, if that is due, and nothing that is named could be lost. */
  collect(signal: AbortSignal): Promise<boolean>;
}

export function makeCollectionGate(options: GateOptions): CollectionGate {
  const { caches, settings, upkeep, collections, failures, kept, sweeps, now } = options;
  /** For how many days a collection has been due, as of the last look. */
  let overdue = 0;

  function waiting(): Set<string> {
    const unsafe = [...sweeps.toSweep, ...kept.untagged()];
    const these = new Set(overdue >= LATE ? unsafe : [...unsafe, ...sweeps.toDelete]);
    return new Set([...these].filter((repository) => !failures.isSetAside(repository, overdue >= LATE)));
  }

  /**
   * Tries to tag what is named and was not tried before. Returns whether all were tried: always new images then hold nothing up. False
   * while the registry does not answer.
   */
  async function haveTried(repositories: Iterable<string>, signal: AbortSignal): Promise<boolean> {
    let all = true;
    for (const repository of repositories) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- a registry of one pod
        await kept.put(repository, signal);
      } catch (error) {
        if (!(error instanceof RegistryFailed)) throw error;
        // oxlint-disable-next-line no-await-in-loop -- as above
        await failures.count(repository, error, signal);
        all &&= failures.isSetAside(repository, true);
      }
    }
    return all;
  }

  /** Whether nothing that is named could be lost now, or what could be has had its chance. */
  async function isSafe(signal: AbortSignal): Promise<boolean> {
    const these = waiting();
    if (these.size === 0 || overdue < VERY_LATE) return these.size === 0;
    return [...these].every((repository) => !sweeps.toSweep.has(repository)) && haveTried(these, signal);
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
