// Whether a repository takes another push. The registry has no limit of its own for tags, and its collection of garbage compares every
// manifest with every tag, while it answers nobody.

import type { RegistryClient } from './client.ts';
import { fullAt, type UpkeepSettings } from './unneeded.ts';

/** A count is used for this time, in milliseconds: a client asks for a token with each of its connections. */
const FRESH_MS = 10_000;
/** Repositories whose count is remembered. */
const MOST_REMEMBERED = 1000;

export interface TagLimit {
  /**
   * Why nothing may be pushed to the repository, and what to do. Undefined if it takes a push, and where the registry does not answer:
   * the push then fails for itself. Rejects only with the abort reason of `signal`.
   */
  refusal(repository: string, signal: AbortSignal): Promise<string | undefined>;
}

export function makeTagLimit(
  client: Pick<RegistryClient, 'tags'>,
  upkeep: Pick<UpkeepSettings, 'maxTags'>,
  now: () => Date,
): TagLimit {
  const most = fullAt(upkeep);
  const counted = new Map<string, { readonly at: number; readonly isFull: Promise<boolean> }>();

  function isFull(repository: string, signal: AbortSignal): Promise<boolean> {
    const at = now().getTime();
    const before = counted.get(repository);
    if (before !== undefined && Math.abs(at - before.at) < FRESH_MS) return before.isFull;
    const asked = client.tags(repository, signal, most).then(
      ({ length }) => length >= most,
      () => {
        counted.delete(repository);
        signal.throwIfAborted();
        return false;
      },
    );
    if (counted.size >= MOST_REMEMBERED) counted.clear();
    counted.set(repository, { at, isFull: asked });
    return asked;
  }

  return {
    async refusal(repository, signal) {
      if (!(await isFull(repository, signal))) return undefined;
      return `The repository ${repository} has ${most} tags or more, so pushes to it are rejected. Within a day, Davit deletes tags that no deployment uses, the oldest first, until ${upkeep.maxTags} are left. Then push again, with fewer tags. The platform team can raise registry.garbageCollection.maxTags.`;
    },
  };
}
