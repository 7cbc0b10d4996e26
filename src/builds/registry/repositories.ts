// The repositories of the registry, as upkeep sees them. Every image that a record or a revision names gets a tag, so that the collection
// of garbage keeps it; a sweep deletes what nothing has needed for long enough; and what fails is tried again after a growing delay.

import { type Caches, IMAGE_NAMED } from '../../deployments/cluster/caches.ts';
import {
  deploymentIn,
  type ImageName,
  keepTag,
  probeRepository,
  type RegistrySettings,
} from '../../deployments/record/registry-names.ts';
import { revisionsOf } from '../../deployments/record/revisions.ts';
import type { Result } from '../../lib/controller/controller.ts';
import type { RegistryFailed } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { DEPLOYMENT_LABEL } from '../../schema/meta.ts';
import type { Settings } from '../../schema/settings.ts';
import type { RegistryClient } from './client.ts';
import { type DeletionPass, MOST_LISTED, type TagDeletion } from './tag-deletion.ts';
import { imagesNamed, type ObservedRepository, type UpkeepSettings } from './unneeded.ts';

/** Delay between two passes over a repository with many tags to delete. */
const PASS_MS = 1000;
/** Delay after a first failure. It doubles, up to the second while the registry does not answer at all, and else up to the third. */
const [FIRST_MS, LONGEST_MS, LONGEST_ALONE_MS] = [15_000, 120_000, 3_600_000];
/** So often a repository fails alone before it is set aside: about eight minutes. */
const ENOUGH = 5;
/** The same, once the collection of garbage has been overdue for a day: others must not be held up by always new failures. */
const ENOUGH_LATE = 1;

export interface Repositories {
  readonly known: Map<string, Repository>;
  readonly caches: Caches;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
  readonly upkeep: UpkeepSettings;
  readonly client: Pick<RegistryClient, 'tags' | 'tag' | 'digestOf' | 'ensureBlob'>;
  readonly deletion: TagDeletion;
  readonly queue: { add(repository: string): void };
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
}

interface Repository {
  /** Its tags, as far as they are known. */
  tags: Set<string> | undefined;
  /** An image may not have its tag yet. Every other image that is named has one. */
  mayLackTag: boolean;
  /** It is to be swept, or has been swept and still has tags to delete. */
  sweep: 'due' | 'more' | undefined;
  /** It has had a blob. On a volume the collection fails at a repository that never had one. */
  hasBlob: boolean;
  failures: number;
  /** How often it failed although the registry answered. */
  failuresAlone: number;
  retryAt: number;
}

/** Enqueues the repositories of images that begin to be named and may not have their tags yet. */
export function expectImages(
  all: Repositories,
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
): void {
  for (const one of records) expectTags(all, imagesNamedBy(all, one.metadata.namespace, [one], []));
  for (const one of revisions) expectTags(all, imagesNamedBy(all, one.metadata.namespace, [], [one]));
}

function expectTags(all: Repositories, images: readonly ImageName[]): void {
  for (const { repository } of images.filter((image) => lacksTag(all, image))) {
    const state = repositoryState(all, repository);
    state.mayLackTag = true;
    if (state.retryAt <= all.elapsed()) all.queue.add(repository);
  }
}

/** The repository is to be swept. */
export function sweepSoon(all: Repositories, name: string): void {
  repositoryState(all, name).sweep = 'due';
}

/** Tags what is named. If a sweep is due, also deletes what nothing has needed for long enough, and what is too much. */
export async function visit(all: Repositories, name: string, signal: AbortSignal, log: Logger): Promise<Result> {
  const state = repositoryState(all, name);
  const { sweep } = state;
  if (sweep === undefined) await keep(all, name, signal);
  const { deleted, isMore, isFull } = sweep === undefined ? NOTHING : await swept(all, name, signal);
  if (isFull && sweep === 'due')
    log.warn(
      { repository: name, maxTags: all.upkeep.maxTags },
      'The repository is full of tags. Its oldest are deleted',
    );
  if (deleted > 0) log.info({ repository: name, deleted }, 'Deleted tags that nothing needs');
  state.sweep = isMore ? 'more' : undefined;
  forgetFailures(all, name);
  return isMore ? { requeueAfterMs: PASS_MS } : {};
}

/** Tags what is named now: an image whose record is gone meanwhile needs no tag. Throws the first failure after it has tried all. */
export async function keep(all: Repositories, name: string, signal: AbortSignal): Promise<void> {
  const state = repositoryState(all, name);
  if (!state.mayLackTag) return;
  if (untaggedIn(all, name).length > 0 && state.tags === undefined) await list(all, name, signal);
  const errors: unknown[] = [];
  for (const digest of untaggedIn(all, name)) {
    try {
      // What is not in the registry cannot be kept, and the pods that run it say so.
      // oxlint-disable-next-line no-await-in-loop -- a registry of one pod
      await all.client.tag(name, digest, keepTag(digest), signal);
      state.tags?.add(keepTag(digest));
    } catch (error) {
      errors.push(error);
    }
  }
  await rethrow(errors);
  state.mayLackTag = false;
}

/** Counts a failure. Returns the delay until the next attempt, in milliseconds, and whether the repository is set aside from now on. */
export async function countFailure(
  all: Repositories,
  name: string,
  { why }: RegistryFailed,
  signal: AbortSignal,
): Promise<{ readonly requeueAfterMs: number; readonly isSetAside: boolean }> {
  const isAlone = why === 'malformed' || why === 'tooLarge' || (await answers(all, signal));
  const state = repositoryState(all, name);
  const wasSetAside = isSetAside(all, name, false);
  const longest = isAlone ? LONGEST_ALONE_MS : LONGEST_MS;
  const requeueAfterMs = Math.min(longest, FIRST_MS * 2 ** Math.min(state.failures, 20));
  state.failures += 1;
  state.failuresAlone += isAlone ? 1 : 0;
  state.retryAt = all.elapsed() + requeueAfterMs;
  return { requeueAfterMs, isSetAside: !wasSetAside && isSetAside(all, name, false) };
}

export function forgetFailures(all: Repositories, name: string): void {
  Object.assign(repositoryState(all, name), { failures: 0, failuresAlone: 0, retryAt: 0 });
}

/** Whether it has failed alone so often that a collection, on time or late, does not wait for it. It is still tried. */
export function isSetAside({ known }: Repositories, name: string, isLate: boolean): boolean {
  return (known.get(name)?.failuresAlone ?? 0) >= (isLate ? ENOUGH_LATE : ENOUGH);
}

/** Repositories whose named images could lose their manifests, but those set aside. On time also those with tags to delete. */
export function unsafe(all: Repositories, isLate: boolean): string[] {
  return [...all.known].flatMap(([name, { sweep, mayLackTag }]) => {
    const isUnswept = sweep === 'due' || (sweep === 'more' && !isLate);
    const isUnsafe = isUnswept || (mayLackTag && untaggedIn(all, name).length > 0);
    return isUnsafe && !isSetAside(all, name, isLate) ? [name] : [];
  });
}

/** How many fail although the registry answers. */
export function failing({ known }: Repositories): number {
  return [...known.values()].filter(({ failuresAlone }) => failuresAlone > 0).length;
}

function repositoryState({ known }: Repositories, name: string): Repository {
  const fresh = { tags: undefined, mayLackTag: false, sweep: undefined, hasBlob: false };
  const state = known.get(name) ?? { ...fresh, failures: 0, failuresAlone: 0, retryAt: 0 };
  known.set(name, state);
  return state;
}

function imagesNamedBy(
  { caches, registry }: Repositories,
  namespace = '',
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
): ImageName[] {
  const tenantId = caches.namespaces.get({ name: namespace })?.metadata.uid;
  return tenantId === undefined ? [] : imagesNamed(registry, { namespace, tenantId }, records, revisions);
}

/** Images of this repository, whichever deployments of the tenant name them. */
function namedIn(all: Repositories, name: string): ImageName[] {
  const { caches, registry } = all;
  const { namespace } = deploymentIn(registry, name) ?? {};
  if (namespace === undefined) return [];
  const image = `${registry.host}/${name}`;
  const records = caches.records.byIndex(namespace, IMAGE_NAMED, image);
  const revisions = caches.revisions.byIndex(namespace, IMAGE_NAMED, image);
  return imagesNamedBy(all, namespace, records, revisions).filter(({ repository }) => repository === name);
}

function lacksTag({ known }: Repositories, { repository, digest }: ImageName): boolean {
  return digest !== undefined && known.get(repository)?.tags?.has(keepTag(digest)) !== true;
}

function untaggedIn(all: Repositories, name: string): string[] {
  return namedIn(all, name).flatMap((image) => (lacksTag(all, image) ? (image.digest ?? []) : []));
}

async function list(all: Repositories, name: string, signal: AbortSignal): Promise<Set<string>> {
  const tags = new Set(await all.client.tags(name, signal, MOST_LISTED));
  repositoryState(all, name).tags = tags;
  return tags;
}

const NOTHING: DeletionPass = { deleted: 0, isMore: false, isFull: false };

async function swept(all: Repositories, name: string, signal: AbortSignal): Promise<DeletionPass> {
  const state = repositoryState(all, name);
  const mayDelete = all.upkeep.enabled && !all.settings.paused;
  if (mayDelete && !state.hasBlob) {
    await all.client.ensureBlob(name, signal);
    state.hasBlob = true;
  }
  if (deploymentIn(all.registry, name) === undefined) return NOTHING;
  const tags = await list(all, name, signal);
  expectTags(all, namedIn(all, name));
  const errors: unknown[] = [];
  await keep(all, name, signal).catch((error: unknown) => errors.push(error));
  const observed = mayDelete ? observe(all, name) : undefined;
  const pass = observed ? await all.deletion.pass(name, tags, observed, signal) : NOTHING;
  await rethrow(errors);
  return pass;
}

/**
 * The repository without its tags. Undefined if it is not a deployment's, or of a tenant whose records this process does not see:
 * Davit then deletes nothing in it.
 */
function observe(all: Repositories, name: string): Omit<ObservedRepository, 'tags'> | undefined {
  const { caches, registry, settings } = all;
  const place = deploymentIn(registry, name);
  if (place === undefined) return undefined;
  const { namespace, tenantStart, name: deployment } = place;
  const uid = caches.namespaces.get({ name: namespace })?.metadata.uid?.toLowerCase();
  const isTenants = uid?.startsWith(tenantStart) === true;
  if (isTenants && settings.namespaces.length > 0 && !settings.namespaces.includes(namespace)) return undefined;
  const record = isTenants ? caches.records.get({ namespace, name: deployment }) : undefined;
  const ofLabel = caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, deployment);
  return { images: namedIn(all, name), record, revisions: record ? revisionsOf(record, ofLabel) : [] };
}

/** Whether the registry answers a request for something else. */
function answers({ client, registry }: Repositories, signal: AbortSignal): Promise<boolean> {
  return client.digestOf(probeRepository(registry), 'none', signal).then(
    () => true,
    () => false,
  );
}

/** Rejects with the first of the errors. */
async function rethrow([first]: readonly unknown[]): Promise<void> {
  if (first !== undefined) await Promise.reject(first);
}
