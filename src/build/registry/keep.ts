// Gives every image that is named in the registry a tag, so that a collection of garbage keeps it.

import type { Cluster } from '../../deploy/cluster/cluster.ts';
import { type ImageName, keepTag, probeRepository, type RegistrySettings } from '../../deploy/record/registry-names.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../kinds/app-revision.ts';
import type { Settings } from '../../kinds/settings.ts';
import { abortable } from '../../runtime/controller/clients/wrap-client.ts';
import { RegistryFailed } from '../../runtime/errors.ts';
import { NAMESPACES } from '../../runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { RegistryClient } from './client.ts';
import { imagesNamed } from './unneeded.ts';

/** Tags that are listed of one repository. What upkeep does not see is seen when these have gone. */
const MOST_LISTED = 20_000;

export interface KeeperOptions {
  readonly shell: Cluster;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
  readonly client: Pick<RegistryClient, 'tags' | 'tag' | 'digestOf'>;
  readonly log: Logger;
}

/** Methods throw RegistryFailed if the registry answers nothing. A single repository that fails is logged. */
export interface Keeper {
  /** Returns what `act` returns, or throws, if only this repository fails. */
  visit(
    repository: string,
    signal: AbortSignal,
    act: () => Promise<RegistryFailed | undefined>,
  ): Promise<RegistryFailed | undefined>;
  /**
   * Tags the images. Returns all tags, and those that alone keep an image which the registry refuses to tag. `lost`: why, if an image has
   * no tag at all.
   */
  keep(
    name: string,
    images: readonly ImageName[],
    signal: AbortSignal,
  ): Promise<{ readonly tags: ReadonlySet<string>; readonly held: readonly string[]; readonly lost?: RegistryFailed }>;
  /** Tags every image that is named. Returns false if a collection may delete one, because the registry refuses to tag it. */
  keepAll(signal: AbortSignal): Promise<boolean>;
}

export function makeKeeper({ shell, settings, registry, client, log }: KeeperOptions): Keeper {
  /** Returns the error if only this request fails. Otherwise throws it. */
  async function alone(error: unknown, signal: AbortSignal): Promise<RegistryFailed> {
    if (!(error instanceof RegistryFailed)) throw error;
    await client.digestOf(probeRepository(registry), 'none', signal);
    return error;
  }

  async function visit(...[repository, signal, act]: Parameters<Keeper['visit']>): ReturnType<Keeper['visit']> {
    const failure = await act().catch((error: unknown) => alone(error, signal));
    if (failure) log.warn({ repository, reason: failure.message }, 'The registry failed, upkeep will try again');
    return failure;
  }

  async function keep(...[name, images, signal]: Parameters<Keeper['keep']>): ReturnType<Keeper['keep']> {
    const tags = new Set(await client.tags(name, signal, MOST_LISTED));
    const refused = new Map<string, RegistryFailed>();
    for (const digest of new Set(images.flatMap((image) => image.digest ?? []))) {
      if (tags.has(keepTag(digest))) continue;
      try {
        // What is not in the registry cannot be kept, and the pods that run it say so.
        if (await client.tag(name, digest, keepTag(digest), signal)) tags.add(keepTag(digest));
      } catch (error) {
        refused.set(digest, await alone(error, signal));
      }
    }
    const held: string[] = [];
    for (const tag of refused.size > 0 ? tags : []) {
      const digest = await client.digestOf(name, tag, signal);
      if (digest !== undefined && refused.delete(digest)) held.push(tag);
    }
    const [lost] = refused.values();
    return { tags, held, ...(lost && { lost }) };
  }

  /** From the API server itself: a collection cannot be undone. */
  async function namedNow(signal: AbortSignal): Promise<ReadonlyMap<string, readonly ImageName[]>> {
    const kube = abortable(shell.client, signal);
    const places = settings.namespaces.length === 0 ? [{}] : settings.namespaces.map((namespace) => ({ namespace }));
    async function listed<T extends KubeObject>(resource: Resource): Promise<readonly T[]> {
      const lists = await Promise.all(places.map((place) => kube.listAll<T>(resource, place)));
      return lists.flatMap(({ items }) => items);
    }
    const { items } = await kube.listAll(NAMESPACES, { metadataOnly: true });
    const uids = new Map(items.map(({ metadata: { name, uid } }) => [name, uid]));
    const records = await listed<AppDeployment>(APP_DEPLOYMENTS);
    return imagesNamed(registry, (name) => uids.get(name), records, await listed<AppRevision>(APP_REVISIONS));
  }

  return {
    visit,
    keep,
    async keepAll(signal) {
      const kept = new Set<string>();
      let isSafe = true;
      // The second time for what was named meanwhile.
      for (let round = 0; round < 2; round += 1)
        for (const [name, all] of await namedNow(signal)) {
          const images = all.filter(({ digest = '' }) => digest !== '' && !kept.has(`${name}@${digest}`));
          for (const { digest = '' } of images) kept.add(`${name}@${digest}`);
          if (images.length === 0) continue;
          const failure = await visit(name, signal, async () => (await keep(name, images, signal)).lost);
          // It would refuse the tag of any image.
          if (failure?.why === 'full' || failure?.why === 'readOnly') throw failure;
          isSafe &&= failure === undefined;
        }
      return isSafe;
    },
  };
}
