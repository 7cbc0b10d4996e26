// Deletes tags of a deployment's repository: those that nothing has needed for a day, and those that are too many. A repository may
// have far more than its tags should be, so that one pass lists and deletes a bounded number, and other repositories have their turn.

import type { RegistryClient } from './client.ts';
import { makeTagTimes, type TagTimes } from './tag-times.ts';
import { fullAt, notedTags, type ObservedRepository, surplusOf, type UpkeepSettings, upkeepOf } from './unneeded.ts';

/** A tag is deleted only if nothing has needed it for this time: somebody uploads first and names the upload later. */
const UNNEEDED_MS = 24 * 3600 * 1000;
/** Tags that one pass lists. What it does not see is seen when these have gone. */
export const MOST_LISTED = 20_000;
/** Tags that one pass deletes: some seconds of the registry's time. */
export const MOST_DELETED = 500;

export interface TagDeletion extends Pick<TagTimes, 'load' | 'save' | 'unneeded'> {
  /**
   * One pass over a repository. Deleted tags leave `tags` before the request. Throws RegistryFailed, or the abort reason of `signal`.
   */
  pass(
    repository: string,
    tags: Set<string>,
    observed: Omit<ObservedRepository, 'tags'>,
    signal: AbortSignal,
  ): Promise<DeletionPass>;
}

export interface DeletionPass {
  readonly deleted: number;
  /** Whether another pass is due now. */
  readonly isMore: boolean;
  /** Whether the repository has so many tags that it is not pushed to. */
  readonly isFull: boolean;
}

export function makeTagDeletion(
  client: Pick<RegistryClient, 'deleteTag' | 'digestOf'>,
  { namespace, upkeep, now }: { readonly namespace: string; readonly upkeep: UpkeepSettings; readonly now: () => Date },
): TagDeletion {
  const times = makeTagTimes(namespace, now);

  /** Leaves each of `only` one tag: where the registry refuses to tag an image, this may be all that keeps it. */
  async function remove(
    repository: string,
    gone: readonly string[],
    only: ReadonlySet<string>,
    { tags, signal }: { readonly tags: Set<string>; readonly signal: AbortSignal },
  ): Promise<number> {
    const kept = new Set<string>();
    let deleted = 0;
    for (const tag of gone) {
      // oxlint-disable-next-line no-await-in-loop -- a registry of one pod
      const digest = only.size === 0 ? undefined : await client.digestOf(repository, tag, signal);
      if (digest !== undefined && only.has(digest) && !kept.has(digest)) {
        kept.add(digest);
        continue;
      }
      // Before the request: what names the image from now on has it tagged again.
      tags.delete(tag);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await client.deleteTag(repository, tag, signal);
      times.forget(repository, tag);
      deleted += 1;
    }
    return deleted;
  }

  return {
    ...times,
    async pass(repository, tags, observed, signal) {
      const count = tags.size;
      const found = upkeepOf({ ...observed, tags: [...tags] }, upkeep, now());
      const unneeded = times.since('unneeded', repository, found.unneeded);
      const spare = times.since('spare', repository, notedTags(count, found, upkeep));
      const overdue = found.unneeded.filter((tag) => now().getTime() - (unneeded.get(tag) ?? Infinity) >= UNNEEDED_MS);
      const due = new Set(overdue);
      const surplus = surplusOf(count, found, new Map([...spare, ...unneeded]), upkeep, now()).filter(
        (tag) => !due.has(tag),
      );
      const room = Math.max(0, MOST_DELETED - overdue.length);
      const deleted =
        (await remove(repository, overdue.slice(0, MOST_DELETED), new Set(), { tags, signal })) +
        (await remove(repository, surplus.slice(0, room), new Set(found.untagged), { tags, signal }));
      const isMore = deleted > 0 && (overdue.length + surplus.length > MOST_DELETED || count >= MOST_LISTED);
      return { deleted, isMore, isFull: count >= fullAt(upkeep) };
    },
  };
}
