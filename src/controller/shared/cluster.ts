// A cluster as the controller works on it: what it is written through, and what is known of it.

import type { ResourceRegistry } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject, ObjectRef } from '../../kube/client.ts';
import { abortable } from '../../runtime/clients/abortable.ts';
import type { Caches } from './caches.ts';

export interface Cluster {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly registry: ResourceRegistry;
}

/** The clusters of a record. They are one and the same where no listener has it run elsewhere. */
export interface Clusters {
  /** Where the record is: with its revisions, its tracing project and all statuses. */
  readonly home: Cluster;
  /** Where its children and their pods are. */
  readonly target: Cluster;
}

/** The same cluster, whose requests end when `signal` aborts. */
export function until(cluster: Cluster, signal: AbortSignal): Cluster {
  return { ...cluster, client: abortable(cluster.client, signal) };
}

export function placeOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { ...(namespace !== undefined && { namespace }), name };
}
