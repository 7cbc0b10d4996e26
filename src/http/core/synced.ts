import { Unavailable } from '../../errors.ts';
import type { Store } from '../../runtime/store.ts';

/** The same cache, once it is filled: before that an empty answer would be a lie. Throws Unavailable; `what` names its objects. */
export function synced<Cache extends Pick<Store, 'hasSynced'>>(cache: Cache, what: string): Cache {
  if (!cache.hasSynced()) throw new Unavailable(`read ${what}: the cache is not filled yet`, { retryAfterMs: 1000 });
  return cache;
}
