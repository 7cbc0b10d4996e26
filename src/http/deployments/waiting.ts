// `?wait=`: a GET that is answered when a deployment is as its caller wants it, or the time is up. It wakes on changes of the
// caches, so that it costs the API server nothing.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import { DEPLOYMENT_LABEL } from '../../api/meta.ts';
import type { WatchedStore } from '../../runtime/store.ts';
import { HttpError } from '../core/http-error.ts';

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

export function makeWaiting(records: WatchedStore<AppDeployment>, revisions: WatchedStore<AppRevision>): Waiting {
  /** By namespace, then by name of the record. */
  const waiting = new Map<string, Map<string, Set<() => void>>>();
  let isClosed = false;

  function wake(namespace: string, name: string): void {
    for (const look of waiting.get(namespace)?.get(name) ?? []) look();
  }
  records.onChange(({ object: { metadata } }) => wake(metadata.namespace ?? '', metadata.name));
  revisions.onChange(({ object: { metadata } }) =>
    wake(metadata.namespace ?? '', metadata.labels?.[DEPLOYMENT_LABEL] ?? ''),
  );

  function add(namespace: string, name: string, look: () => void): () => void {
    const names = waiting.get(namespace) ?? new Map<string, Set<() => void>>();
    const looks = names.get(name) ?? new Set<() => void>();
    waiting.set(namespace, names.set(name, looks.add(look)));
    return () => {
      looks.delete(look);
      if (looks.size === 0) names.delete(name);
      if (names.size === 0) waiting.delete(namespace);
    };
  }

  function refuseTooMany(namespace: string): void {
    const all = [...(waiting.get(namespace)?.values() ?? [])].reduce((sum, looks) => sum + looks.size, 0);
    if (all < MOST_WAITING) return;
    const message = `${MOST_WAITING} requests of this tenant are waiting already. Try again when one of them has its answer.`;
    throw new HttpError(429, message, { 'retry-after': '1' });
  }

  return {
    async until({ metadata }, isOver, signal) {
      if (isClosed || signal.aborted || isOver()) return;
      const { namespace = '', name } = metadata;
      refuseTooMany(namespace);
      await new Promise<void>((resolve) => {
        const look = (): void => {
          if (isClosed || signal.aborted || isOver()) end();
        };
        const remove = add(namespace, name, look);
        const end = (): void => {
          remove();
          signal.removeEventListener('abort', end);
          resolve();
        };
        signal.addEventListener('abort', end);
      });
    },
    close() {
      isClosed = true;
      for (const names of waiting.values()) for (const looks of names.values()) for (const look of looks) look();
    },
  };
}
