// Before a new leader decides anything it has seen what the one before it wrote: a watch may be behind what the API
// server has, and what two leaders in a row don't know of each other, each could give away once more.

import { setTimeout as sleep } from 'node:timers/promises';
import { DEPLOYMENT_LABEL } from '../../api/meta.ts';
import type { KubeClient, KubeObject, ListOptions } from '../../kube/client.ts';
import type { Logger } from '../../logger.ts';
import type { Reflector } from '../../runtime/reflector.ts';
import type { Caches } from './caches.ts';

export interface CatchUpOptions {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, 'records' | 'addresses'>;
  /** Namespaces to list; empty: the whole cluster. */
  readonly namespaces: readonly string[];
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 20;
const RETRY_MS = 1000;

/** Until the caches show every record and address that a live list shows. Ends early when `signal` aborts. Never rejects. */
export async function waitForFreshCaches({ client, caches, namespaces, log, signal }: CatchUpOptions): Promise<void> {
  const { records, addresses } = caches;
  const lists: ListOptions[] = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  await Promise.all(
    lists.flatMap((list) => [
      until(records, list),
      // What isn't ours the cache never shows.
      ...(addresses?.isInstalled() ? [until(addresses, { ...list, labelSelector: DEPLOYMENT_LABEL })] : []),
    ]),
  );

  async function until<T extends KubeObject>(cache: Reflector<T>, list: ListOptions): Promise<void> {
    while (!signal.aborted) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- tried again until there is an answer
        const { items } = await client.listAll(cache.resource, { ...list, metadataOnly: true, signal });
        // oxlint-disable-next-line no-await-in-loop -- it is a poll
        while (!signal.aborted && !items.every((item) => isShown(cache, item))) await sleep(LOOK_EVERY_MS);
        return;
      } catch (err) {
        if (signal.aborted) return;
        log.info({ err, resource: cache.resource.plural }, "Could not list the previous leader's writes, will retry");
        // oxlint-disable-next-line no-await-in-loop -- a pause before the next try
        await sleep(RETRY_MS);
      }
    }
  }
}

function isShown<T extends KubeObject>(cache: Reflector<T>, { metadata }: KubeObject): boolean {
  return cache.isAtLeast(metadata, metadata.resourceVersion ?? '');
}
