// Sweeps of the registry's repositories: what is named in one gets its tag, and what nothing has needed for long enough goes.

import type { Caches } from '../../deployments/cluster/caches.ts';
import { deploymentIn, type ImageName, type RegistrySettings } from '../../deployments/record/registry-names.ts';
import { revisionsOf } from '../../deployments/record/revisions.ts';
import type { Result } from '../../lib/controller/controller.ts';
import type { Logger } from '../../lib/logger.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { DEPLOYMENT_LABEL } from '../../schema/meta.ts';
import type { Settings } from '../../schema/settings.ts';
import type { RegistryClient } from './client.ts';
import { type KeptTags, rethrow } from './kept-tags.ts';
import type { NamedImages } from './named-images.ts';
import type { DeletionPass, TagDeletion } from './tag-deletion.ts';
import type { ObservedRepository, UpkeepSettings } from './unneeded.ts';

/** Delay between two passes over a repository with many tags to delete. */
const PASS_MS = 1000;

export interface SweepOptions {
  readonly caches: Caches;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
  readonly upkeep: UpkeepSettings;
  readonly client: Pick<RegistryClient, 'ensureBlob'>;
  readonly named: NamedImages;
  readonly kept: KeptTags;
  readonly deletion: TagDeletion;
}

export interface Sweeps {
  /** The repository is to be swept. */
  add(repository: string): void;
  /** Whether the repository is to be swept, or has tags left to delete. */
  isDue(repository: string): boolean;
  /** Sweeps the repository, or goes on where a sweep has left tags. */
  pass(repository: string, signal: AbortSignal, log: Logger): Promise<Result>;
  /** Repositories that are still to be swept. */
  readonly toSweep: ReadonlySet<string>;
  /** Repositories that have been swept and still have tags to delete. */
  readonly toDelete: ReadonlySet<string>;
}

export function makeSweeps(options: SweepOptions): Sweeps {
  const { caches, settings, registry, upkeep, client, named, kept, deletion } = options;
  /** Repositories that have had a blob. On a volume the collection fails at one that never had. */
  const withBlob = new Set<string>();
  const toSweep = new Set<string>();
  const toDelete = new Set<string>();

  /** Tags what is named, and deletes what nothing has needed for long enough, and what is too much. */
  async function sweep(repository: string, signal: AbortSignal): Promise<DeletionPass> {
    if (upkeep.enabled && !settings.paused && !withBlob.has(repository)) {
      await client.ensureBlob(repository, signal);
      withBlob.add(repository);
    }
    let pass: DeletionPass = { deleted: 0, isMore: false, isFull: false };
    if (deploymentIn(registry, repository) === undefined) return pass;
    const tags = await kept.list(repository, signal);
    kept.expect(named.in(repository));
    const errors: unknown[] = [];
    await kept.put(repository, signal).catch((error: unknown) => errors.push(error));
    const observed = observeRepository(repository, named.in(repository), caches, settings, registry);
    if (observed !== undefined && !settings.paused && upkeep.enabled)
      pass = await deletion.pass(repository, tags, observed, signal);
    await rethrow(errors);
    return pass;
  }

  return {
    toSweep,
    toDelete,
    add: (repository) => void toSweep.add(repository),
    isDue: (repository) => toSweep.has(repository) || toDelete.has(repository),
    async pass(repository, signal, log) {
      const isFirst = toSweep.has(repository);
      const { deleted, isMore, isFull } = await sweep(repository, signal);
      toSweep.delete(repository);
      if (isFull && isFirst)
        log.warn({ repository, maxTags: upkeep.maxTags }, 'The repository is full of tags. Its oldest are deleted');
      if (deleted > 0) log.info({ repository, deleted }, 'Deleted tags that nothing needs');
      if (!isMore) toDelete.delete(repository);
      else toDelete.add(repository);
      return isMore ? { requeueAfterMs: PASS_MS } : {};
    },
  };
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
