// Tells requests that wait when a record or one of its revisions changes. The watch caches are the only source, so that a listener
// costs the API server nothing.

import type { WatchedStore } from '../../lib/controller/store.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { DEPLOYMENT_LABEL } from '../../schema/meta.ts';

type Listener = () => void;

export interface Changes {
  /** Calls `listener` after each change of the record with this name or of one of its revisions, until the returned function is called. */
  ofRecord(namespace: string, name: string, listener: Listener): () => void;
}

export function makeChanges(records: WatchedStore<AppDeployment>, revisions: WatchedStore<AppRevision>): Changes {
  /** By `namespace/name`. */
  const listeners = new Map<string, Set<Listener>>();

  function add(key: string, listener: Listener): () => void {
    const others = listeners.get(key) ?? new Set<Listener>();
    listeners.set(key, others.add(listener));
    return () => {
      others.delete(listener);
      if (others.size === 0 && listeners.get(key) === others) listeners.delete(key);
    };
  }
  function tell(namespace = '', name = ''): void {
    for (const listener of listeners.get(`${namespace}/${name}`) ?? []) listener();
  }
  records.onChange(({ object: { metadata } }) => tell(metadata.namespace, metadata.name));
  revisions.onChange(({ object: { metadata } }) => tell(metadata.namespace, metadata.labels?.[DEPLOYMENT_LABEL]));

  return {
    ofRecord: (namespace, name, listener) => add(`${namespace}/${name}`, listener),
  };
}
