// Since when tags of the registry are noted: those that nothing needs, and those that go when a repository has too many. A ConfigMap
// keeps the times, so that a controller which restarts every day still deletes tags after a day.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { undefinedIfNotFound } from '../../lib/errors.ts';
import { CONFIG_MAPS } from '../../lib/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../lib/kube/client.ts';

/** The chart creates it, without data. */
const CONFIG_MAP = 'davit-registry-upkeep';
const HOUR_MS = 3600 * 1000;
/** Key of its data. */
const SINCE = 'since';
/** Tags that the ConfigMap holds, about 25 bytes each: those that are noted longest. It holds at most a mebibyte. */
const MOST = 35_000;

/** Why a tag is noted: nothing needs it, or it may go when there are too many. */
type Why = 'unneeded' | 'spare';

interface Kept extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Full hours since 1970, by a hash. */
const Hours = z.record(z.string(), z.int().min(0));

export interface TagTimes {
  /** Reads what an earlier controller kept, once. Throws if a request to the API server fails, other than by a ConfigMap that is absent. */
  load(client: KubeClient): Promise<void>;
  /** Notes these tags of the repository, and forgets its others. Returns since when each is noted, in milliseconds since 1970. */
  since(why: Why, repository: string, tags: readonly string[]): ReadonlyMap<string, number>;
  forget(repository: string, tag: string): void;
  /** How many tags nothing needs. */
  unneeded(): number;
  /** Writes what has changed. */
  save(client: KubeClient): Promise<void>;
}

export function makeTagTimes(namespace: string, now: () => Date): TagTimes {
  /** By `WHY REPOSITORY` and tag, in milliseconds since 1970. */
  const since = new Map<string, Map<string, number>>();
  let kept: Readonly<Record<string, number>> | undefined;
  let saved = '{}';
  const ref = { namespace, name: CONFIG_MAP };

  return {
    async load(client) {
      if (kept !== undefined) return;
      const found = await client.get<Kept>(CONFIG_MAPS, ref).catch(undefinedIfNotFound);
      saved = found?.data?.[SINCE] ?? '{}';
      kept = readHours(saved);
    },

    since(why, repository, tags) {
      const list = `${why} ${repository}`;
      const before = since.get(list);
      const ms = now().getTime();
      const beginning = (tag: string): number => {
        const hours = kept?.[hashOf(list, tag)];
        // Rounded up, and never in the future: a clock that was wrong deletes nothing early.
        return Math.min(ms, before?.get(tag) ?? (hours === undefined ? ms : (hours + 1) * HOUR_MS));
      };
      const these = new Map(tags.map((tag) => [tag, beginning(tag)]));
      if (these.size === 0) since.delete(list);
      else since.set(list, these);
      return these;
    },

    unneeded: () => [...since].reduce((sum, [list, { size }]) => sum + (list.startsWith('unneeded ') ? size : 0), 0),
    forget(repository, tag) {
      for (const why of ['unneeded', 'spare']) since.get(`${why} ${repository}`)?.delete(tag);
    },

    async save(client) {
      const all = [...since].flatMap(([list, tags]) =>
        [...tags].map(([tag, ms]) => [hashOf(list, tag), Math.floor(ms / HOUR_MS)] as const),
      );
      const oldest = all.toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).slice(0, MOST);
      const text = JSON.stringify(Object.fromEntries(oldest));
      if (text === saved) return;
      const written = await client.mergePatch(CONFIG_MAPS, ref, { data: { [SINCE]: text } }).catch(undefinedIfNotFound);
      if (written !== undefined) saved = text;
    },
  };
}

function hashOf(list: string, tag: string): string {
  return createHash('sha256').update(`${list}:${tag}`).digest('base64url').slice(0, 14);
}

function readHours(text: string): Readonly<Record<string, number>> {
  try {
    return Hours.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
