// The hub's watch caches of the namespaces of Listeners, whichever namespaces are served.

import { LISTENER_AGENT } from '../../kinds/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../kinds/listener-work.ts';
import { cacheMaker } from '../../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, Watching } from '../../runtime/controller/reflector.ts';
import { LEASES } from '../../runtime/kube/api-resources.ts';
import type { Lease } from './contact.ts';

export interface ListenerCaches {
  readonly works: Reflector<ListenerWork>;
  readonly leases: Reflector<Lease>;
}

export function makeListenerCaches(watching: Watching): ListenerCaches {
  const cache = cacheMaker(watching);
  return {
    works: cache<ListenerWork>(LISTENER_WORKS, { transform: boundedWork }),
    // The name is all that the controller may read Leases by.
    leases: cache<Lease>(LEASES, { fieldSelector: `metadata.name=${LISTENER_AGENT}` }),
  };
}

/**
 * Characters of a report as JSON. Another cluster writes it and no schema bounds it; in the memory it needs up to twelve times as much. That
 * of a deployment with its revisions has some 20,000.
 */
const LONGEST_REPORT = 256 * 1024;

/** The work, whose status is unreadable if it is too long. */
export function boundedWork(work: ListenerWork): ListenerWork {
  const { deployment, revisions, ...rest } = work.status ?? {};
  if (JSON.stringify([deployment, revisions]).length <= LONGEST_REPORT) return work;
  return { ...work, status: { ...rest, deployment: UNREADABLE } };
}

/** What no Davit reports. */
const UNREADABLE = { conditions: null } as never;
