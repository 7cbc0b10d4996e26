// Decides what the platform's registry keeps of a deployment's repository. Garbage collection deletes manifests without a
// tag, so every image that something names by digest gets a tag, and Davit's own tags that nothing needs go.

import {
  CACHE_TAG,
  deploymentIn,
  type ImageName,
  imageIn,
  keepTag,
  logTag,
  type RegistrySettings,
  revisionTag,
  type TenantIdentity,
  uploadTag,
} from '../../deployments/record/registry-names.ts';
import { imagesOfRevision } from '../../deployments/record/revision-image.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { imagesOf } from '../../schema/registry-images.ts';
import type { BuildSettings } from '../../schema/settings.ts';

export type UpkeepSettings = NonNullable<NonNullable<BuildSettings['registry']>['upkeep']>;

const DAY_MS = 24 * 3600 * 1000;

/**
 * The images that records and revisions of one tenant name in repositories of its deployments. Images of other repositories are
 * not the tenant's to keep: a record may name any image.
 */
export function imagesNamed(
  registry: RegistrySettings,
  tenant: TenantIdentity,
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
): ImageName[] {
  const references = [
    // A record names its image before it has a revision.
    ...records.flatMap(({ spec }) => Array.from(imagesOf(spec), ({ image }) => image)),
    ...revisions.flatMap(imagesOfRevision),
  ];
  return [...new Set(references)].flatMap((reference) => {
    const image = imageIn(registry, reference);
    return image !== undefined && isOfTenant(registry, tenant, image.repository) ? image : [];
  });
}

/** Whether the repository is that of a deployment of the tenant, existing or not. */
export function isOfTenant(
  registry: RegistrySettings,
  { namespace, tenantId }: TenantIdentity,
  repository: string,
): boolean {
  const place = deploymentIn(registry, repository);
  return place?.namespace === namespace && tenantId.toLowerCase().startsWith(place.tenantStart);
}

export interface ObservedRepository {
  readonly tags: readonly string[];
  /** Images of this repository that records and revisions name. */
  readonly images: readonly ImageName[];
  /** The record whose repository this is. Undefined if it was deleted. */
  readonly record: AppDeployment | undefined;
  /** The record's revisions. */
  readonly revisions: readonly AppRevision[];
}

export interface Upkeep {
  /** Digests of images that have no tag of their own yet (keepTag). */
  readonly untagged: readonly string[];
  /** Tags that nothing needs. */
  readonly unneeded: readonly string[];
  /** Tags that nothing names and that stay as long as there is room: those that people pushed. */
  readonly spare: readonly string[];
}

export function upkeepOf(observed: ObservedRepository, { cacheDays }: UpkeepSettings, now: Date): Upkeep {
  const { tags, images, record, revisions } = observed;
  const digests = [...new Set(images.flatMap(({ digest }) => digest ?? []))];
  const there = new Set(tags);
  const specs = [...(record ? [record.spec] : []), ...revisions.map(({ spec }) => spec.requested)];
  const isCached = record !== undefined && now.getTime() - lastBuilt(record, revisions) < cacheDays * DAY_MS;
  const needed = new Set([
    ...digests.map(keepTag),
    ...images.flatMap(({ tag }) => tag ?? []),
    ...revisions.flatMap(({ spec, status }) => [
      revisionTag(spec.id),
      logTag(spec.id),
      ...(status?.build?.builtBy === undefined ? [] : [logTag(status.build.builtBy)]),
    ]),
    ...specs.flatMap(({ sourceRevisionConfig: { sourceTarballPath: path } }) => (path ? uploadTag(path) : [])),
    ...(isCached ? [CACHE_TAG] : []),
  ]);
  // A tag that somebody pushed stays as long as the deployment, and as there is room.
  const isOfDavit = (tag: string): boolean => record === undefined || OWN_TAG.test(tag);
  const untagged = digests.filter((digest) => !there.has(keepTag(digest)));
  // The registry may refuse to tag an image. Another tag may then be all that keeps it.
  const mayKeepAnother = (tag: string): boolean => untagged.length > 0 && !OF_ONE_THING.test(tag);
  const unneeded = tags.filter((tag) => !needed.has(tag) && isOfDavit(tag) && !mayKeepAnother(tag));
  const going = new Set(unneeded);
  return { untagged, unneeded, spare: tags.filter((tag) => !needed.has(tag) && !going.has(tag)) };
}

/** So many tags a repository may have before it is not pushed to. Until then the sweep has a day for what is too much. */
export function fullAt({ maxTags }: Pick<UpkeepSettings, 'maxTags'>): number {
  return 2 * maxTags;
}

/** Tags whose time is noted early, so that the oldest are known when there are too many. */
export function notedTags(
  count: number,
  { spare }: Pick<Upkeep, 'spare'>,
  { maxTags }: UpkeepSettings,
): readonly string[] {
  return count > maxTags / 2 ? spare : [];
}

const byName = new Intl.Collator('en', { numeric: true }).compare;

/**
 * Tags that go because the repository has too many: those noted longest, none within a day. A repository that is full loses them at
 * once, and what nothing needs with them. `since`: when each was noted, in milliseconds since 1970.
 */
export function surplusOf(
  count: number,
  { spare, unneeded }: Pick<Upkeep, 'spare' | 'unneeded'>,
  since: ReadonlyMap<string, number>,
  settings: UpkeepSettings,
  now: Date,
): string[] {
  const isFull = count >= fullAt(settings);
  const noted = (tag: string): number => since.get(tag) ?? now.getTime();
  const mayGo = isFull ? [...spare, ...unneeded] : spare.filter((tag) => now.getTime() - noted(tag) >= DAY_MS);
  return mayGo
    .toSorted((one, other) => noted(one) - noted(other) || byName(one, other))
    .slice(0, Math.max(0, count - settings.maxTags));
}

/** Tags that never name an image which something else names by digest. */
const OF_ONE_THING = new RegExp(`^(?:${CACHE_TAG}|keep-[0-9a-f]{64}|log-[0-9a-f-]{36}|upload-[0-9a-f]{32})$`);

const OWN_TAG = new RegExp(`^(?:${CACHE_TAG}|keep-[0-9a-f]{64}|(?:revision|log)-[0-9a-f-]{36}|upload-[0-9a-f]{32})$`);

/** Time of the latest sign of a build, in milliseconds since 1970. */
function lastBuilt({ metadata }: AppDeployment, revisions: readonly AppRevision[]): number {
  const times = revisions.map(({ metadata: { creationTimestamp }, status }) => {
    const { queuedAt, finishedAt } = status?.build ?? {};
    return finishedAt ?? queuedAt ?? creationTimestamp;
  });
  return Math.max(...[metadata.creationTimestamp, ...times].map((time) => Date.parse(time ?? '') || 0));
}

/** For how many days a collection has been due, by the last one. Negative before. */
export function overdueDays(lastAt: Date, { everyDays }: Pick<UpkeepSettings, 'everyDays'>, now: Date): number {
  return (now.getTime() - lastAt.getTime()) / DAY_MS - everyDays;
}

/**
 * Whether the registry's pod is to be replaced now, so that it collects garbage and reads its keys again. Builds that run
 * put it off by at most a day, because a push fails while the registry is down.
 */
export function isCollectionDue(
  { startedAt, isBuilding }: { readonly startedAt: Date; readonly isBuilding: boolean },
  { everyDays, hour }: UpkeepSettings,
  now: Date,
): boolean {
  const ageDays = (now.getTime() - startedAt.getTime()) / DAY_MS;
  // The pod starts within the hour, so its age in the same hour is a little less than whole days.
  if (now.getUTCHours() !== hour || ageDays < everyDays - 0.25) return false;
  return !isBuilding || ageDays >= everyDays + 0.75;
}
