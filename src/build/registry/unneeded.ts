// Decides which tags the platform's registry keeps. Its collection of garbage deletes manifests without a tag. Before one, every image
// that something names by digest has a tag of its own (keepTag), so tags that nothing needs may go.

import {
  CACHE_TAG,
  deploymentIn,
  type ImageName,
  imageIn,
  keepTag,
  logTag,
  type RegistrySettings,
  revisionTag,
  uploadTag,
} from '../../deploy/record/registry-names.ts';
import { imagesOfRevision } from '../../deploy/record/revision-image.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { imagesOf } from '../../kinds/registry-images.ts';
import type { BuildSettings } from '../../kinds/settings.ts';

export type UpkeepSettings = NonNullable<NonNullable<BuildSettings['registry']>['upkeep']>;

const DAY_MS = 24 * 3600 * 1000;

/**
 * Images by repository, of repositories of the naming tenant's deployments, existing or not. Images of other repositories are not the
 * tenant's to keep: a record may name any image. `uidOf`: of a namespace.
 */
export function imagesNamed(
  registry: RegistrySettings,
  uidOf: (namespace: string) => string | undefined,
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
): Map<string, ImageName[]> {
  const found = new Map<string, ImageName[]>();
  const add = (namespace = '', reference: string): void => {
    const image = imageIn(registry, reference);
    const place = image && deploymentIn(registry, image.repository);
    if (!place || place.namespace !== namespace || !isOfTenant(place, uidOf(namespace))) return;
    found.set(image.repository, [...(found.get(image.repository) ?? []), image]);
  };
  // A record names its image before it has a revision.
  for (const { metadata, spec } of records) for (const { image } of imagesOf(spec)) add(metadata.namespace, image);
  for (const one of revisions) for (const image of imagesOfRevision(one)) add(one.metadata.namespace, image);
  return found;
}

/** Whether the repository in this place is of the namespace with this uid. An earlier namespace of the same name had another. */
export function isOfTenant({ tenantStart }: { readonly tenantStart: string }, uid: string | undefined): boolean {
  return uid?.toLowerCase().startsWith(tenantStart) === true;
}

export interface ObservedRepository {
  /** Images of this repository that something names. */
  readonly images: readonly ImageName[];
  /** The record whose repository this is. Undefined if it was deleted. */
  readonly record: AppDeployment | undefined;
  /** The record's revisions. */
  readonly revisions: readonly AppRevision[];
}

export function neededTags(
  { images, record, revisions }: ObservedRepository,
  { cacheDays }: Pick<UpkeepSettings, 'cacheDays'>,
  now: Date,
): ReadonlySet<string> {
  const specs = [...(record ? [record.spec] : []), ...revisions.map(({ spec }) => spec.requested)];
  const isCached = record !== undefined && now.getTime() - lastBuilt(record, revisions) < cacheDays * DAY_MS;
  return new Set([
    ...images.flatMap(({ digest, tag }) => [...(digest ? [keepTag(digest)] : []), ...(tag ? [tag] : [])]),
    ...revisions.flatMap(({ spec, status }) => [
      revisionTag(spec.id),
      logTag(spec.id),
      ...(status?.build?.builtBy === undefined ? [] : [logTag(status.build.builtBy)]),
    ]),
    ...specs.flatMap(({ sourceRevisionConfig: { sourceTarballPath: path } }) => (path ? uploadTag(path) : [])),
    ...(isCached ? [CACHE_TAG] : []),
  ]);
}

export interface TagVerdict {
  /** To be deleted now. */
  readonly gone: readonly string[];
  /** To be noted: they may go a day later. */
  readonly noted: readonly string[];
}

/** So many tags a repository may have before it is not pushed to. Until then a sweep has a day for what is too much. */
export function fullAt({ maxTags }: Pick<UpkeepSettings, 'maxTags'>): number {
  return 2 * maxTags;
}

const byName = new Intl.Collator('en', { numeric: true }).compare;

/**
 * Tags of Davit that nothing needs go if they were noted a day ago. Those that people pushed stay as long as the deployment,
 * and as there is room: above `maxTags` those noted longest go. A repository that is full loses the surplus of both at once.
 *
 * `placeOf`: the place of a tag among those noted a day ago, the oldest first; undefined for any other.
 */
export function judgeTags(
  tags: readonly string[],
  needed: ReadonlySet<string>,
  hasRecord: boolean,
  placeOf: (tag: string) => number | undefined,
  settings: Pick<UpkeepSettings, 'maxTags'>,
): TagVerdict {
  const { maxTags } = settings;
  const unneeded: string[] = [];
  const spare: string[] = [];
  for (const tag of tags) if (!needed.has(tag)) (hasRecord && !OWN_TAG.test(tag) ? spare : unneeded).push(tag);
  const isOld = (tag: string): boolean => placeOf(tag) !== undefined;
  const due = unneeded.filter(isOld);
  const isFull = tags.length >= fullAt(settings);
  const place = (tag: string): number => placeOf(tag) ?? Number.MAX_SAFE_INTEGER;
  const surplus = (isFull ? [...spare, ...unneeded.filter((tag) => !isOld(tag))] : spare.filter(isOld))
    .toSorted((one, other) => place(one) - place(other) || byName(one, other))
    .slice(0, Math.max(0, tags.length - due.length - maxTags));
  const gone = new Set([...due, ...surplus]);
  // Early enough that the oldest are known when there are too many.
  const noted = [...unneeded, ...(tags.length > maxTags / 2 ? spare : [])];
  return { gone: [...gone], noted: noted.filter((tag) => !gone.has(tag)).toSorted(byName) };
}

const OWN_TAG = new RegExp(`^(?:${CACHE_TAG}|keep-[0-9a-f]{64}|(?:revision|log)-[0-9a-f-]{36}|upload-[0-9a-f]{32})$`);

/** Time of the latest sign of a build, in milliseconds since 1970. */
function lastBuilt({ metadata }: AppDeployment, revisions: readonly AppRevision[]): number {
  const times = revisions.map(({ metadata: { creationTimestamp }, status }) => {
    const { queuedAt, finishedAt } = status?.build ?? {};
    return finishedAt ?? queuedAt ?? creationTimestamp;
  });
  return Math.max(...[metadata.creationTimestamp, ...times].map((time) => Date.parse(time ?? '') || 0));
}
