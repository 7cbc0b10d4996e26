// A new leader waits until its caches show the writes of the previous leader. Watches may lag behind the API server,
// and a leader that decides on outdated caches could assign a hostname that its predecessor already assigned.

import { setTimeout as sleep } from 'node:timers/promises';
import { DEPLOYMENT_LABEL } from '../../kinds/meta.ts';
import type { Reflector } from '../../runtime/controller/reflector.ts';
import { Forbidden } from '../../runtime/errors.ts';
import type { KubeClient, KubeObject, ListOptions } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Caches } from './caches.ts';

export interface CatchUpOptions {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, 'records' | 'addresses' | 'namespaces'>;
  /** Namespaces to list. If empty, the whole cluster is listed. */
  readonly namespaces: readonly string[];
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 20;
const RETRY_MS = 1000;

/**
 * Waits until the caches show every record and every address object (Ingress or HTTPRoute) that a live list returned,
 * in that version or a newer one. A failed list is retried, unless its namespace was deleted, with the Role that
 * allowed it. Resolves early if `signal` aborts. Never rejects.
 */
export async function waitForFreshCaches({ client, caches, namespaces, log, signal }: CatchUpOptions): Promise<void> {
  const { records, addresses } = caches;
  const lists: ListOptions[] = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  await Promise.all(
    lists.flatMap((list) => [
      until(records, list),
      // The cache holds only objects with Davit's label, so the list must select the same.
      ...(addresses?.isInstalled() ? [until(addresses, { ...list, labelSelector: DEPLOYMENT_LABEL })] : []),
    ]),
  );

  async function until<T extends KubeObject>(cache: Reflector<T>, list: ListOptions): Promise<void> {
    while (!signal.aborted) {
      try {
        const { items } = await client.listAll(cache.resource, { ...list, metadataOnly: true, signal });
        while (!signal.aborted && !items.every((item) => isShown(cache, item))) await sleep(LOOK_EVERY_MS);
        return;
      } catch (err) {
        const { namespace: name } = list;
        const isGone = name !== undefined && caches.namespaces.get({ name }) === undefined;
        if (signal.aborted || (err instanceof Forbidden && isGone)) return;
        log.info({ err, resource: cache.resource.plural }, "Could not list the previous leader's writes, will retry");
        await sleep(RETRY_MS);
      }
    }
  }
}

function isShown<T extends KubeObject>(cache: Reflector<T>, { metadata }: KubeObject): boolean {
  return cache.isAtLeast(metadata, metadata.resourceVersion ?? '');
}
