// Every image that a record or a revision names gets a tag, so that the registry's garbage collection keeps it.

import { type ImageName, keepTag } from '../../deployments/record/registry-names.ts';
import type { RegistryClient } from './client.ts';
import type { NamedImages } from './named-images.ts';
import { MOST_LISTED } from './tag-deletion.ts';

export interface KeptTags {
  /** Enqueues the repositories of these images that may not have their tags yet. */
  expect(images: readonly ImageName[]): void;
  /** Tags of the repository, to which `put` adds. */
  list(repository: string, signal: AbortSignal): Promise<Set<string>>;
  /** Tags what is named now: an image whose record is gone meanwhile needs no tag. Throws the first failure after it has tried all. */
  put(repository: string, signal: AbortSignal): Promise<void>;
  /** Repositories with an image that has no tag yet. */
  untagged(): string[];
}

export function makeKeptTags(
  images: Pick<RegistryClient, 'tags' | 'tag'>,
  named: NamedImages,
  enqueue: (repository: string) => void,
): KeptTags {
  /** Tags of the repositories that were listed, as far as they are known. */
  const known = new Map<string, Set<string>>();
  /** Repositories with an image that may not have its tag yet. Every other image that is named has one. */
  const pending = new Set<string>();

  const lacksTag = ({ repository, digest }: ImageName): boolean =>
    digest !== undefined && known.get(repository)?.has(keepTag(digest)) !== true;
  const untaggedIn = (repository: string): string[] =>
    named.in(repository).flatMap((image) => (lacksTag(image) ? (image.digest ?? []) : []));

  async function list(repository: string, signal: AbortSignal): Promise<Set<string>> {
    const tags = new Set(await images.tags(repository, signal, MOST_LISTED));
    known.set(repository, tags);
    return tags;
  }

  return {
    expect(these) {
      for (const image of these.filter(lacksTag)) {
        pending.add(image.repository);
        enqueue(image.repository);
      }
    },
    list,
    async put(repository, signal) {
      if (!pending.has(repository)) return;
      if (untaggedIn(repository).length > 0 && !known.has(repository)) await list(repository, signal);
      const errors: unknown[] = [];
      for (const digest of untaggedIn(repository)) {
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
    },
    untagged: () => [...pending].filter((repository) => untaggedIn(repository).length > 0),
  };
}

/** Rejects with the first of the errors. */
export async function rethrow([first]: readonly unknown[]): Promise<void> {
  if (first !== undefined) await Promise.reject(first);
}
