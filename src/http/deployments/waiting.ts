// `?wait=`: a GET that is answered when a deployment is as its caller wants it, or the time is up. It wakes on changes of the
// caches, so that it costs the API server nothing.

import type { AppDeployment } from '../../api/app-deployment.ts';
import { HttpError } from '../core/http-error.ts';
import type { Changes } from './changes.ts';

/** Requests that may wait at once in one namespace. */
export const MOST_WAITING = 64;

export interface Waiting {
  /**
   * Resolves when `isOver` returns true, `signal` aborts, or the service stops. `isOver` is asked at once, and whenever the
   * record or one of its revisions changes. Refuses with 429 where as many as may wait already.
   */
  until(record: AppDeployment, isOver: () => boolean, signal: AbortSignal): Promise<void>;
  /** Ends every wait, and lets none begin. */
  close(): void;
}

export function makeWaiting(changes: Changes): Waiting {
  /** By namespace: what ends each wait. */
  const waiting = new Map<string, Set<() => void>>();
  let isClosed = false;

  function refuseTooMany(namespace: string): void {
    if ((waiting.get(namespace)?.size ?? 0) < MOST_WAITING) return;
    const message = `${MOST_WAITING} requests of this tenant are waiting already. Try again when one of them has its answer.`;
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
        const unfollow = changes.ofRecord(namespace, name, () => {
          if (isOver()) end();
        });
        const end = (): void => {
          unfollow();
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
