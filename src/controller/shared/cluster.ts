// A cluster as the controller works on it: what it is written through, and what is known of it.

import type { ResourceRegistry } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject, ObjectRef } from '../../kube/client.ts';
import type { Caches } from './caches.ts';

export interface Cluster {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly registry: ResourceRegistry;
}

export function placeOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { ...(namespace !== undefined && { namespace }), name };
}
