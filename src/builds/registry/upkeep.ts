// Upkeep of the chart's registry, whose garbage collection deletes what has no tag. Every image that a record or a revision
// names gets a tag as soon as it is named; tags of Davit that nothing has needed for a day go; and the registry's pod is
// replaced now and then by one that collects the garbage (collection.ts).

import type { Caches } from '../../deployments/cluster/caches.ts';
import type { Cluster } from '../../deployments/cluster/cluster.ts';
import {
  deploymentIn,
  type ImageName,
  keepTag,
  probeRepository,
  type RegistrySettings,
} from '../../deployments/record/registry-names.ts';
import { revisionsOf } from '../../deployments/record/revisions.ts';
import { abortable } from '../../lib/controller/clients/abortable.ts';
import type { Reconcile } from '../../lib/controller/controller.ts';
import { endAll } from '../../lib/controller/store.ts';
import type { WorkQueue } from '../../lib/controller/work-queue.ts';
import { RegistryFailed } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { isBegun } from '../../schema/build.ts';
import { DEPLOYMENT_LABEL } from '../../schema/meta.ts';
import type { Settings } from '../../schema/settings.ts';
import type { RegistryClient } from './client.ts';
import { collectionShown, type GarbageCollection, lastCollection } from './collection.ts';
import { type Collections, makeCollections, REGISTRY_POD } from './collection-guard.ts';
import { makeRegistryFailures } from './failures.ts';
import type { RegistryBacklog } from './metrics.ts';
import { makeNamedImages } from './named-images.ts';
import { type DeletionPass, MOST_LISTED, makeTagDeletion } from './tag-deletion.ts';
import { isCollectionDue, type ObservedRepository, overdueDays, type UpkeepSettings } from './unneeded.ts';

/** Key that stands for the registry as a whole. All other keys are names of repositories. */
const ALL = '';
/** Interval at which the age of the registry's pod is looked at. It is a fraction of the hour in which the pod is replaced. */
const LOOK_MS = 600_000;
/** Interval at which the tags of all repositories are compared with what is needed. */
const SWEEP_MS = 6 * 3600 * 1000;
/** Days overdue from which a collection does not wait for what has failed once, nor for surplus tags. A day, less the hour's tolerance. */
const LATE = 0.75;
/** Days overdue from which it waits only for one attempt at each image. */
const VERY_LATE = 1.75;
/** Delay between two passes over a repository with many tags to delete. */
const PASS_MS = 1000;

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
  const { shell, settings, registry, upkeep, client: images, namespace, queue, now, elapsed } = options;
  const { caches } = shell;
  const named = makeNamedImages(caches, registry);
  const failures = makeRegistryFailures(
    (signal) =>
      images.digestOf(probeRepository(registry), 'none', signal).then(
        () => true,
        () => false,
      ),
    elapsed,
  );
  /** Tags of the repositories that were listed, as far as they are known. */
  const known = new Map<string, Set<string>>();
  /** Repositories with an image that may not have its tag yet. Every other image that is named has one. */
  const pending = new Set<string>();
  const deletion = makeTagDeletion(images, { namespace, upkeep, now });
  const collections = makeCollections({ client: shell.client, namespace, limitMinutes: upkeep.limitMinutes, now });
  /** Repositories that have had a blob. On a volume the collection fails at one that never had. */
  const withBlob = new Set<string>();
  const toSweep = new Set<string>();
  /** Repositories that have been swept and still have tags to delete. */
  const toDelete = new Set<string>();
  let sweptAt: number | undefined;
  /** For how many days a collection has been due, as of the last look. */
  let overdue = 0;

  const untagged = (repository: string): string[] =>
    named
      .in(repository)
      .flatMap(({ digest }) =>
        digest === undefined || known.get(repository)?.has(keepTag(digest)) === true ? [] : digest,
      );

  function expectTags(these: readonly ImageName[]): void {
    for (const { repository, digest } of these) {
      if (digest === undefined || known.get(repository)?.has(keepTag(digest)) === true) continue;
      pending.add(repository);
      if (!failures.waits(repository)) queue.add(repository);
    }
  }

  async function listTags(repository: string, signal: AbortSignal): Promise<Set<string>> {
    const tags = new Set(await images.tags(repository, signal, MOST_LISTED));
    known.set(repository, tags);
    return tags;
  }

  /** Tags what is named now: an image whose record is gone meanwhile needs no tag. Throws the first failure after it has tried all. */
  async function putPending(repository: string, signal: AbortSignal): Promise<void> {
    if (!pending.has(repository)) return;
    if (untagged(repository).length > 0 && !known.has(repository)) await listTags(repository, signal);
    const errors: unknown[] = [];
    for (const digest of untagged(repository)) {
      try {
        // What is not in the registry cannot be kept, and the pods that run it say so.
        // oxlint-disable-next-line no-await-in-loop -- a registry of one pod
        await images.tag(repository, digest, keepTag(digest), signal);
        known.get(repository)?.add(keepTag(digest));
      } catch (error) {
        errors.push(error);
      }
    }
    await rethrow(errors);
    pending.delete(repository);
  }

  /** Tags what is named, and deletes what nothing has needed for long enough, and what is too much. */
  async function sweep(repository: string, signal: AbortSignal): Promise<DeletionPass> {
    if (upkeep.enabled && !settings.paused && !withBlob.has(repository)) {
      await images.ensureBlob(repository, signal);
      withBlob.add(repository);
    }
    let pass: DeletionPass = { deleted: 0, isMore: false, isFull: false };
    if (deploymentIn(registry, repository) === undefined) return pass;
    const tags = await listTags(repository, signal);
    expectTags(named.in(repository));
    const errors: unknown[] = [];
    await putPending(repository, signal).catch((error: unknown) => errors.push(error));
    const observed = observeRepository(repository, named.in(repository), caches, settings, registry);
    if (observed !== undefined && !settings.paused && upkeep.enabled)
      pass = await deletion.pass(repository, tags, observed, signal);
    await rethrow(errors);
    return pass;
  }

  async function sweepInTurn(
    repository: string,
    signal: AbortSignal,
    log: Logger,
  ): Promise<{ requeueAfterMs?: number }> {
    const isFirst = toSweep.has(repository);
    const { deleted, isMore, isFull } = await sweep(repository, signal);
    toSweep.delete(repository);
    if (isFull && isFirst)
      log.warn({ repository, maxTags: upkeep.maxTags }, 'The repository is full of tags. Its oldest are deleted');
    if (deleted > 0) log.info({ repository, deleted }, 'Deleted tags that nothing needs');
    if (!isMore) toDelete.delete(repository);
    else toDelete.add(repository);
    return isMore ? { requeueAfterMs: PASS_MS } : {};
  }

  /**
   * Repositories whose named images could lose their manifests, but those that fail alone, again and again. On time, a collection waits
   * for surplus tags too.
   */
  function waiting(): Set<string> {
    const unsafe = [...toSweep, ...[...pending].filter((repository) => untagged(repository).length > 0)];
    const these = new Set(overdue >= LATE ? unsafe : [...unsafe, ...toDelete]);
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
        await putPending(repository, signal);
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
    return [...these].every((repository) => !toSweep.has(repository)) && haveTried(these, signal);
  }

  /** Has the registry's pod replaced by one that collects, if that is due, and nothing that is named could be lost. */
  async function collectGarbage(signal: AbortSignal): Promise<boolean> {
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
  }

  const reconcile: Reconcile = async (key, signal, log) => {
    if (key !== ALL) {
      const result =
        toSweep.has(key) || toDelete.has(key)
          ? await sweepInTurn(key, signal, log)
          : await putPending(key, signal).then(() => ({}));
      failures.forget(key);
      return result;
    }
    const kube = abortable(shell.client, signal);
    await deletion.load(kube);
    if (sweptAt === undefined || elapsed() - sweptAt >= SWEEP_MS) {
      for (const repository of await images.repositories(signal)) {
        toSweep.add(repository);
        queue.add(repository);
      }
      sweptAt = elapsed();
    } else if (toSweep.size === 0 && !settings.paused) await deletion.save(kube);
    failures.forget(ALL);
    if (await collectGarbage(signal)) log.info({ pod: REGISTRY_POD }, "Replaced the registry's pod to collect garbage");
    return { requeueAfterMs: LOOK_MS };
  };

  return {
    // The registry starts later than the controller, and is replaced now and then: that it does not answer is no error.
    reconcile: (key, signal, log) =>
      reconcile(key, signal, log).catch(async (error: unknown) => {
        if (!(error instanceof RegistryFailed)) throw error;
        const wasSetAside = failures.isSetAside(key);
        const requeueAfterMs = await failures.count(key, error, signal);
        log.warn(
          { repository: key, reason: error.message, requeueAfterMs },
          'The registry failed, upkeep will try again',
        );
        if (!wasSetAside && failures.isSetAside(key))
          log.warn({ repository: key }, 'Only this repository fails. The collection of garbage no longer waits for it');
        return { requeueAfterMs };
      }),

    collections,
    onRequest: () => queue.add(ALL),
    async collection(signal) {
      const stored = upkeep.enabled ? await collections.stored(signal) : undefined;
      return stored && collectionShown(stored, settings.paused ? undefined : upkeep.everyDays);
    },
    backlog: () => ({ waiting: waiting().size, failing: failures.alone(), unneeded: deletion.unneeded() }),

    wake() {
      const subscriptions = [
        caches.records.onChange(({ type, object }) => type !== 'deleted' && expectTags(named.ofRecord(object))),
        caches.revisions.onChange(({ type, object }) => type !== 'deleted' && expectTags(named.ofRevision(object))),
      ];
      for (const record of caches.records.list()) expectTags(named.ofRecord(record));
      for (const revision of caches.revisions.list()) expectTags(named.ofRevision(revision));
      queue.add(ALL);
      return endAll(subscriptions);
    },
  };
}

/** Rejects with the first of the errors. */
async function rethrow([first]: readonly unknown[]): Promise<void> {
  if (first !== undefined) await Promise.reject(first);
}

/**
 * The repository without its tags. Undefined if it is not a deployment's, or of a tenant whose records this process does not see:
 * Davit then deletes nothing in it.
 */
function observeRepository(
  repository: string,
  images: readonly ImageName[],
  caches: Caches,
  { namespaces }: Settings,
  registry: RegistrySettings,
): Omit<ObservedRepository, 'tags'> | undefined {
  const place = deploymentIn(registry, repository);
  if (place === undefined) return undefined;
  const { namespace, tenantStart, name } = place;
  const uid = caches.namespaces.get({ name: namespace })?.metadata.uid?.toLowerCase();
  const isTenants = uid?.startsWith(tenantStart) === true;
  if (isTenants && namespaces.length > 0 && !namespaces.includes(namespace)) return undefined;
  const record: AppDeployment | undefined = isTenants ? caches.records.get({ namespace, name }) : undefined;
  const revisions = record ? revisionsOf(record, caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, name)) : [];
  return { images, record, revisions };
}
