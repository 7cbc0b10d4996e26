// A cluster as the controller uses it: a client for requests and the caches of its objects.

import { abortable } from '../../lib/controller/clients/abortable.ts';
import type { ResourceRegistry } from '../../lib/kube/api-resources.ts';
import type { KubeClient, KubeObject, ObjectRef } from '../../lib/kube/client.ts';
import type { Caches } from './caches.ts';

export interface Cluster {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly registry: ResourceRegistry;
}

/** The clusters of a record. Both are the same cluster unless a listener runs the record elsewhere. */
export interface Clusters {
  /** Holds the record, its revisions, its tracing project and all statuses. */
  readonly home: Cluster;
  /** Holds the record's children and their pods. */
  readonly target: Cluster;
}

/** Returns the cluster with a client whose requests are aborted by `signal`. */
export function until(cluster: Cluster, signal: AbortSignal): Cluster {
  return { ...cluster, client: abortable(cluster.client, signal) };
}

export function placeOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { ...(namespace !== undefined && { namespace }), name };
}
