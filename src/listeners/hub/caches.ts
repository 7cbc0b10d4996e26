// The hub's watch caches of the namespaces of Listeners, whichever namespaces are served.

import { makeReflector, type Reflector, type ReflectorOptions } from '../../lib/controller/reflector.ts';
import { LEASES } from '../../lib/kube/api-resources.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import { LISTENER_AGENT } from '../../schema/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../schema/listener-work.ts';
import type { Lease } from './contact.ts';

export interface ListenerCaches {
  readonly works: Reflector<ListenerWork>;
  readonly leases: Reflector<Lease>;
}

export type ListenerCacheOptions = Pick<ReflectorOptions<KubeObject>, 'client' | 'log' | 'metrics' | 'onRewound'>;

export function makeListenerCaches(options: ListenerCacheOptions): ListenerCaches {
  return {
    works: makeReflector<ListenerWork>({ ...options, resource: LISTENER_WORKS }),
    // The name is all that the controller may read Leases by.
    leases: makeReflector<Lease>({ ...options, resource: LEASES, fieldSelector: `metadata.name=${LISTENER_AGENT}` }),
  };
}
