// Upkeep of the chart's registry, whose garbage collection deletes what has no tag. Every image that a record or a revision
// names gets a tag as soon as it is named; tags of Davit that nothing has needed for a day go; and the registry's pod is
// replaced now and then by one that collects the garbage (collection.ts).

import type { Cluster } from '../../deployments/cluster/cluster.ts';
import type { RegistrySettings } from '../../deployments/record/registry-names.ts';
import { abortable } from '../../lib/controller/clients/abortable.ts';
import type { Reconcile } from '../../lib/controller/controller.ts';
import { endAll } from '../../lib/controller/store.ts';
import type { WorkQueue } from '../../lib/controller/work-queue.ts';
import { RegistryFailed } from '../../lib/errors.ts';
import type { Settings } from '../../schema/settings.ts';
import type { RegistryClient } from './client.ts';
import { collectionShown, type GarbageCollection } from './collection.ts';
import { makeCollectionGate } from './collection-gate.ts';
import { type Collections, makeCollections, REGISTRY_POD } from './collection-guard.ts';
import type { RegistryBacklog } from './metrics.ts';
import {
  countFailure,
  expectImages,
  failing,
  forgetFailures,
  type Repositories,
  sweepSoon,
  visit,
} from './repositories.ts';
import { makeTagDeletion } from './tag-deletion.ts';
import type { UpkeepSettings } from './unneeded.ts';

/** Key that stands for the registry as a whole. All other keys are names of repositories. */
const ALL = '';
/** Interval at which the age of the registry's pod is looked at. It is a fraction of the hour in which the pod is replaced. */
const LOOK_MS = 600_000;
/** Interval at which the tags of all repositories are compared with what is needed. */
const SWEEP_MS = 6 * 3600 * 1000;

export interface RegistryUpkeepOptions {
  readonly shell: Cluster;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
  readonly upkeep: UpkeepSettings;
  readonly client: Pick<RegistryClient, 'repositories' | 'tags' | 'tag' | 'deleteTag' | 'digestOf' | 'ensureBlob'>;
  /** Davit's own namespace, where the registry's pod is. */
  readonly namespace: string;
  readonly queue: Pick<WorkQueue, 'add'>;
  readonly now: () => Date;
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
}

export interface RegistryUpkeep {
  /** Keys are names of repositories, and ALL. */
  readonly reconcile: Reconcile;
  /**
   * Enqueues the repositories of all images that are named, and from then on of each that a record or revision begins to
   * name. Returns a function that unsubscribes.
   */
  wake(): () => void;
  /** What stands before the next collection of garbage. */
  backlog(): RegistryBacklog;
  /** How the collection of garbage goes; undefined if nothing is collected. Throws if a request to the API server fails. */
  collection(signal: AbortSignal): Promise<GarbageCollection | undefined>;
  readonly collections: Collections;
  /** Somebody asks for a collection now. */
  onRequest(): void;
}

export function makeRegistryUpkeep(options: RegistryUpkeepOptions): RegistryUpkeep {
  const { shell, settings, upkeep, client, namespace, queue, now, elapsed } = options;
  const { caches } = shell;
  const deletion = makeTagDeletion(client, { namespace, upkeep, now });
  const collections = makeCollections({ client: shell.client, namespace, limitMinutes: upkeep.limitMinutes, now });
  const repositories: Repositories = { ...options, caches, deletion, known: new Map() };
  const gate = makeCollectionGate({ ...options, caches, collections, repositories });
  let sweptAt: number | undefined;

  const reconcile: Reconcile = async (key, signal, log) => {
    if (key !== ALL) return visit(repositories, key, signal, log);
    const kube = abortable(shell.client, signal);
    await deletion.load(kube);
    const areSwept = [...repositories.known.values()].every(({ sweep }) => sweep !== 'due');
    if (sweptAt === undefined || elapsed() - sweptAt >= SWEEP_MS) {
      for (const repository of await client.repositories(signal)) {
        sweepSoon(repositories, repository);
        queue.add(repository);
      }
      sweptAt = elapsed();
    } else if (areSwept && !settings.paused) await deletion.save(kube);
    forgetFailures(repositories, ALL);
    if (await gate.collect(signal)) log.info({ pod: REGISTRY_POD }, "Replaced the registry's pod to collect garbage");
    return { requeueAfterMs: LOOK_MS };
  };

  return {
    // The registry starts later than the controller, and is replaced now and then: that it does not answer is no error.
    reconcile: (key, signal, log) =>
      reconcile(key, signal, log).catch(async (error: unknown) => {
        if (!(error instanceof RegistryFailed)) throw error;
        const { requeueAfterMs, isSetAside } = await countFailure(repositories, key, error, signal);
        log.warn(
          { repository: key, reason: error.message, requeueAfterMs },
          'The registry failed, upkeep will try again',
        );
        if (isSetAside)
          log.warn({ repository: key }, 'Only this repository fails. The collection of garbage no longer waits for it');
        return { requeueAfterMs };
      }),

    collections,
    onRequest: () => queue.add(ALL),
    async collection(signal) {
      const stored = upkeep.enabled ? await collections.stored(signal) : undefined;
      return stored && collectionShown(stored, settings.paused ? undefined : upkeep.everyDays);
    },
    backlog: () => ({ waiting: gate.waiting().length, failing: failing(repositories), unneeded: deletion.unneeded() }),

    wake() {
      const subscriptions = [
        caches.records.onChange(({ type, object }) => type !== 'deleted' && expectImages(repositories, [object], [])),
        caches.revisions.onChange(({ type, object }) => type !== 'deleted' && expectImages(repositories, [], [object])),
      ];
      expectImages(repositories, caches.records.list(), caches.revisions.list());
      queue.add(ALL);
      return endAll(subscriptions);
    },
  };
}
