// `?wait=`: a GET that is answered when a deployment reaches the requested state, or after a time limit. Changes of the watch
// caches wake it, so it sends no request to the API server.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { DEPLOYMENT_LABEL } from '../../kinds/meta.ts';
import type { WatchedStore } from '../../runtime/controller/store.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import type { ObjectMeta } from '../../runtime/kube/client.ts';

/** Maximum number of requests that wait at the same time in one namespace. */
export const MOST_WAITING = 64;

export interface Waiting {
  /**
   * Resolves when `isOver` returns true, `signal` aborts, or the service stops. `isOver` is called immediately, and after each
   * change of the record or of one of its revisions. Throws 429 if MOST_WAITING requests already wait.
   */
  until(record: AppDeployment, isOver: () => boolean, signal: AbortSignal): Promise<void>;
  /** Ends every wait. Later calls of `until` resolve immediately. */
  close(): void;
}

export function makeWaiting(records: WatchedStore<AppDeployment>, revisions: WatchedStore<AppRevision>): Waiting {
  /** Functions that end the waits, by namespace. */
  const waiting = new Map<string, Set<() => void>>();
  let isClosed = false;

  function refuseTooMany(namespace: string): void {
    if ((waiting.get(namespace)?.size ?? 0) < MOST_WAITING) return;
    const message = `${MOST_WAITING} requests of this tenant are already waiting. Try again when one of them has been answered.`;
    throw new HttpError(429, message, { 'retry-after': '1' });
  }

  return {
    async until({ metadata }, isOver, signal) {
      if (isClosed || signal.aborted || isOver()) return;
      const { namespace = '', name } = metadata;
      refuseTooMany(namespace);
      const ofNamespace = waiting.get(namespace) ?? new Set();
      waiting.set(namespace, ofNamespace);
      await new Promise<void>((resolve) => {
        const look = (changed: ObjectMeta, of?: string): void => {
          if (changed.namespace === metadata.namespace && of === name && isOver()) end();
        };
        const subscriptions = [
          records.onChange(({ object: { metadata: changed } }) => look(changed, changed.name)),
          revisions.onChange(({ object: { metadata: changed } }) => look(changed, changed.labels?.[DEPLOYMENT_LABEL])),
        ];
        const end = (): void => {
          for (const unfollow of subscriptions) unfollow();
          signal.removeEventListener('abort', end);
          ofNamespace.delete(end);
          if (ofNamespace.size === 0 && waiting.get(namespace) === ofNamespace) waiting.delete(namespace);
          resolve();
        };
        ofNamespace.add(end);
        signal.addEventListener('abort', end);
      });
    },
    close() {
      isClosed = true;
      for (const ofNamespace of waiting.values()) for (const end of ofNamespace) end();
    },
  };
}
