// Upkeep of the chart's registry, whose garbage collection deletes what has no tag. Every image that a record or a revision
// names gets a tag as soon as it is named; tags of Davit that nothing has needed for a day go; and the registry's pod is
// replaced now and then, which collects the garbage.

import type { AppDeployment } from '../../api/app-deployment.ts';
import { isBegun } from '../../api/build.ts';
import { DEPLOYMENT_LABEL } from '../../api/meta.ts';
import type { Settings } from '../../api/settings.ts';
import {
  imagesNamed,
  isCollectionDue,
  type ObservedRepository,
  type UpkeepSettings,
  upkeepOf,
} from '../../decide/build/upkeep.ts';
import { NotFound, RegistryFailed, undefinedIfNotFound } from '../../errors.ts';
import { PODS } from '../../kube/api-resources.ts';
import type { KubeObject } from '../../kube/client.ts';
import { deploymentIn, type ImageName, keepTag, type RegistrySettings } from '../../record/registry-names.ts';
import { revisionsOf } from '../../record/revisions.ts';
import type { RegistryClient } from '../../registry/client.ts';
import { abortable } from '../../runtime/clients/abortable.ts';
import type { Reconcile } from '../../runtime/controller.ts';
import type { WorkQueue } from '../../runtime/work-queue.ts';
import type { Caches } from '../shared/caches.ts';
import type { Cluster } from '../shared/cluster.ts';

/** Pod of the chart's StatefulSet. */
const REGISTRY_POD = 'davit-registry-0';
/** Key that stands for the registry as a whole. All other keys are names of repositories. */
const ALL = '';
/** Interval at which the age of the registry's pod is looked at. It is a fraction of the hour in which the pod is replaced. */
const LOOK_MS = 600_000;
/** Interval after a failure of the registry. */
const RETRY_MS = 15_000;
/** Interval at which the tags of all repositories are compared with what is needed. */
const SWEEP_MS = 6 * 3600 * 1000;
/** A tag is deleted only if nothing has needed it for this time: somebody uploads first and names the upload later. */
const UNNEEDED_MS = 24 * 3600 * 1000;

export interface RegistryUpkeepOptions {
  readonly shell: Cluster;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
  readonly upkeep: UpkeepSettings;
  readonly client: Pick<RegistryClient, 'repositories' | 'tags' | 'tag' | 'deleteTag'>;
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
}

interface RegistryPod extends KubeObject {
  readonly status?: { readonly startTime?: string };
}

export function makeRegistryUpkeep(options: RegistryUpkeepOptions): RegistryUpkeep {
  const { shell, settings, registry, upkeep, client: images, namespace, queue, now, elapsed } = options;
  const { caches } = shell;
  /** Tags of the repositories that were listed, as far as they are known. */
  const known = new Map<string, Set<string>>();
  /** Digests that may not have their tag yet, by repository. Everything else that is named has one. */
  const pending = new Map<string, Set<string>>();
  /** By repository, the tags that were unneeded at the last sweep, and since when. */
  const unneeded = new Map<string, Map<string, number>>();
  const toSweep = new Set<string>();
  let sweptAt: number | undefined;

  const named = (): ReturnType<typeof imagesNamed> =>
    imagesNamed(registry, caches.records.list(), caches.revisions.list());

  function expectTags(names: ReturnType<typeof imagesNamed>): void {
    for (const [repository, those] of names) {
      const missing = those.flatMap(({ digest }) =>
        digest === undefined || known.get(repository)?.has(keepTag(digest)) === true ? [] : digest,
      );
      if (missing.length === 0) continue;
      const digests = pending.get(repository) ?? new Set();
      for (const digest of missing) digests.add(digest);
      pending.set(repository, digests);
      queue.add(repository);
    }
  }

  async function listTags(repository: string, signal: AbortSignal): Promise<Set<string>> {
    const tags = new Set(await images.tags(repository, signal));
    known.set(repository, tags);
    return tags;
  }

  async function putPending(repository: string, signal: AbortSignal): Promise<void> {
    const digests = pending.get(repository) ?? new Set();
    if (digests.size === 0) return;
    const tags = known.get(repository) ?? (await listTags(repository, signal));
    for (const digest of digests) {
      // What is not in the registry cannot be kept, and the pods that run it say so.
      // oxlint-disable-next-line no-await-in-loop -- a registry of one pod
      if (!tags.has(keepTag(digest))) await images.tag(repository, digest, keepTag(digest), signal);
      tags.add(keepTag(digest));
      digests.delete(digest);
    }
    pending.delete(repository);
  }

  /** The tags that have been unneeded for long enough. */
  function overdue(repository: string, tags: readonly string[]): string[] {
    const before = unneeded.get(repository);
    const since = new Map(tags.map((tag) => [tag, before?.get(tag) ?? elapsed()]));
    if (since.size === 0) unneeded.delete(repository);
    else unneeded.set(repository, since);
    return tags.filter((tag) => elapsed() - (since.get(tag) ?? elapsed()) >= UNNEEDED_MS);
  }

  /** Deletes what nothing has needed for long enough. Returns the number of deleted tags. */
  async function sweep(repository: string, signal: AbortSignal): Promise<number> {
    const tags = await listTags(repository, signal);
    const names = named();
    expectTags(names);
    await putPending(repository, signal);
    const observed = observe(repository, names.get(repository) ?? [], caches, settings, registry);
    if (observed === undefined || settings.paused || !upkeep.enabled) return 0;
    const gone = overdue(repository, upkeepOf({ ...observed, tags: [...tags] }, upkeep, now()).unneeded);
    for (const tag of gone) {
      // Before the request: what names the image from now on has it tagged again.
      tags.delete(tag);
      // oxlint-disable-next-line no-await-in-loop -- a registry of one pod
      await images.deleteTag(repository, tag, signal);
      unneeded.get(repository)?.delete(tag);
    }
    return gone.length;
  }

  /** Replaces the registry's pod if that is due, and nothing that is named could be lost. */
  async function collectGarbage(signal: AbortSignal): Promise<boolean> {
    // The pod is asked for only in its hour.
    const isDue = (startedAt: Date): boolean =>
      isCollectionDue(
        { startedAt, isBuilding: caches.revisions.list().some(({ status }) => isBegun(status?.build)) },
        upkeep,
        now(),
      );
    if (settings.paused || !isDue(new Date(0))) return false;
    if (pending.size > 0 || toSweep.size > 0) return false;
    const kube = abortable(shell.client, signal);
    const ref = { namespace, name: REGISTRY_POD };
    const pod = await kube.get<RegistryPod>(PODS, ref).catch(undefinedIfNotFound);
    const started = pod?.status?.startTime;
    if (pod === undefined || started === undefined || pod.metadata.deletionTimestamp !== undefined) return false;
    if (!isDue(new Date(started))) return false;
    try {
      await kube.remove(PODS, ref, { uid: pod.metadata.uid ?? '' });
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
    return true;
  }

  const reconcile: Reconcile = async (key, signal, log) => {
    if (key !== ALL) {
      await putPending(key, signal);
      const deleted = toSweep.has(key) ? await sweep(key, signal) : 0;
      toSweep.delete(key);
      if (deleted > 0) log.info({ repository: key, deleted }, 'Deleted tags that nothing needs');
      return {};
    }
    if (sweptAt === undefined || elapsed() - sweptAt >= SWEEP_MS) {
      for (const repository of await images.repositories(signal)) {
        toSweep.add(repository);
        queue.add(repository);
      }
      sweptAt = elapsed();
    }
    if (await collectGarbage(signal)) log.info({ pod: REGISTRY_POD }, "Replaced the registry's pod to collect garbage");
    return { requeueAfterMs: LOOK_MS };
  };

  return {
    // The registry starts later than the controller, and is replaced now and then: that it does not answer is no error.
    reconcile: (key, signal, log) =>
      reconcile(key, signal, log).catch((error: unknown) => {
        if (!(error instanceof RegistryFailed)) throw error;
        log.warn({ repository: key, reason: error.message }, 'The registry failed, upkeep will try again');
        return { requeueAfterMs: RETRY_MS };
      }),

    wake() {
      const subscriptions = [
        caches.records.onChange(
          ({ type, object }) => type !== 'deleted' && expectTags(imagesNamed(registry, [object], [])),
        ),
        caches.revisions.onChange(
          ({ type, object }) => type !== 'deleted' && expectTags(imagesNamed(registry, [], [object])),
        ),
      ];
      expectTags(named());
      queue.add(ALL);
      return () => {
        for (const unsubscribe of subscriptions) unsubscribe();
      };
    },
  };
}

/**
 * The repository without its tags. Undefined if it is not a deployment's, or of a tenant whose records this process does not see:
 * Davit then deletes nothing in it.
 */
function observe(
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
