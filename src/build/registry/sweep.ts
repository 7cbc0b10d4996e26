// Once a day a sweep deletes the tags that nothing has needed since the sweep of the day before. A tag that goes by mistake is put back
// before the next collection of garbage (keep.ts).

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { IMAGE_NAMED } from '../../deploy/cluster/caches.ts';
import { deploymentIn } from '../../deploy/record/registry-names.ts';
import { revisionsOf } from '../../deploy/record/revisions.ts';
import { DEPLOYMENT_LABEL } from '../../kinds/meta.ts';
import { abortable } from '../../runtime/controller/clients/wrap-client.ts';
import { type RegistryFailed, undefinedIfNotFound } from '../../runtime/errors.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { CONFIG_MAPS } from '../../runtime/kube/api-resources.ts';
import type { RegistryClient } from './client.ts';
import type { CollectionConfigMap } from './collection.ts';
import type { Keeper, KeeperOptions } from './keep.ts';
import {
  fullAt,
  imagesNamed,
  isOfTenant,
  judgeTags,
  neededTags,
  type ObservedRepository,
  type UpkeepSettings,
} from './unneeded.ts';

const DAY_MS = 24 * 3600 * 1000;
/** The chart creates it, without data. It keeps what a sweep has noted, for a controller that starts later. */
const CONFIG_MAP = 'davit-registry-upkeep';
const NOTED = 'noted';
/** Tags that it holds, about 20 bytes each: those that are noted longest. It holds at most a mebibyte. */
const MOST_NOTED = 35_000;

const Noted = z.object({ since: z.iso.datetime(), hashes: z.array(z.string()) });

export interface SweeperOptions extends KeeperOptions {
  readonly upkeep: UpkeepSettings;
  readonly client: Pick<RegistryClient, 'repositories' | 'tags' | 'tag' | 'deleteTag' | 'digestOf' | 'ensureBlob'>;
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly now: () => Date;
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
}

export interface Sweeper {
  /** Sweeps if the last sweep was a day ago. Returns whether it has. Throws RegistryFailed if the registry answers nothing. */
  sweep(signal: AbortSignal): Promise<boolean>;
  /** How many tags are noted. Undefined before the first sweep. */
  noted(): number | undefined;
}

export function makeSweeper(options: SweeperOptions, { keep, visit }: Pick<Keeper, 'keep' | 'visit'>): Sweeper {
  const { shell, upkeep, client, log, now, elapsed } = options;
  const configMap = { namespace: options.namespace, name: CONFIG_MAP };
  let noted: z.output<typeof Noted> | undefined;
  let sweptAt: number | undefined;

  /** Pushes hashes of the tags to note. `places`: of those noted a day ago. Returns why an image has no tag at all. */
  async function sweepOne(
    name: string,
    places: ReadonlyMap<string, number>,
    found: string[],
    signal: AbortSignal,
  ): Promise<RegistryFailed | undefined> {
    await client.ensureBlob(name, signal);
    const observed = observe(options, name);
    if (observed === undefined) return undefined;
    const { tags, held, lost } = await keep(name, observed.images, signal);
    const needed = (): ReadonlySet<string> =>
      new Set([...neededTags(observe(options, name) ?? observed, upkeep, now()), ...held]);
    const placeOf = (tag: string): number | undefined => places.get(hashOf(name, tag));
    const { gone, noted: these } = judgeTags([...tags], needed(), observed.record !== undefined, placeOf, upkeep);
    if (tags.size >= fullAt(upkeep))
      log.warn({ repository: name, maxTags: upkeep.maxTags }, 'The repository has too many tags, deleting the oldest');
    let deleted = 0;
    for (const tag of gone) {
      // Read again: something may need it by now.
      if (needed().has(tag)) continue;
      await client.deleteTag(name, tag, signal);
      deleted += 1;
    }
    if (deleted > 0) log.info({ repository: name, deleted }, 'Deleted unneeded tags');
    found.push(...these.map((tag) => hashOf(name, tag)));
    return lost;
  }

  return {
    noted: () => noted?.hashes.length,

    async sweep(signal) {
      const kube = abortable(shell.client, signal);
      if (sweptAt === undefined && noted === undefined) {
        const stored = await kube.get<CollectionConfigMap>(CONFIG_MAPS, configMap).catch(undefinedIfNotFound);
        noted = Noted.safeParse(jsonOf(stored?.data?.[NOTED] ?? '')).data;
      }
      // Negative where a clock was wrong. Nothing that was noted then counts.
      const age = noted === undefined ? -1 : now().getTime() - Date.parse(noted.since);
      if ((age >= 0 && age < DAY_MS) || (sweptAt !== undefined && elapsed() - sweptAt < DAY_MS)) return false;
      const places = new Map(age < 0 ? [] : noted?.hashes.map((hash, place) => [hash, place]));
      const found: string[] = [];
      for (const name of await client.repositories(signal)) {
        await visit(name, signal, () => sweepOne(name, places, found, signal));
      }
      sweptAt = elapsed();
      const place = (hash: string): number => places.get(hash) ?? MOST_NOTED;
      const hashes = found.toSorted((one, other) => place(one) - place(other)).slice(0, MOST_NOTED);
      if (age >= 0 && hashes.join() === noted?.hashes.join()) return true;
      noted = { since: now().toISOString(), hashes };
      const data = { [NOTED]: JSON.stringify(noted) };
      await kube.mergePatch(CONFIG_MAPS, configMap, { data }).catch(undefinedIfNotFound);
      return true;
    },
  };
}

/** Undefined if it is not a deployment's, or of a tenant whose records this process does not see: nothing is deleted in it. */
function observe({ shell, settings, registry }: SweeperOptions, name: string): ObservedRepository | undefined {
  const { namespaces, records, revisions } = shell.caches;
  const uidOf = (namespace: string): string | undefined => namespaces.get({ name: namespace })?.metadata.uid;
  const place = deploymentIn(registry, name);
  if (place === undefined) return undefined;
  const { namespace, name: deployment } = place;
  const isTenants = isOfTenant(place, uidOf(namespace));
  if (isTenants && settings.namespaces.length > 0 && !settings.namespaces.includes(namespace)) return undefined;
  const record = isTenants ? records.get({ namespace, name: deployment }) : undefined;
  const ofLabel = revisions.byLabel(namespace, DEPLOYMENT_LABEL, deployment);
  const image = `${registry.host}/${name}`;
  const naming = [
    records.byIndex(namespace, IMAGE_NAMED, image),
    revisions.byIndex(namespace, IMAGE_NAMED, image),
  ] as const;
  const images = imagesNamed(registry, uidOf, ...naming).get(name) ?? [];
  return { images, record, revisions: record ? revisionsOf(record, ofLabel) : [] };
}

function hashOf(repository: string, tag: string): string {
  return createHash('sha256').update(`${repository}:${tag}`).digest('base64url').slice(0, 14);
}
