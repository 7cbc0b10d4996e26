// A client whose requests take turns, tenant by tenant.

import type { KubeClient } from '../../kube/client.ts';
import type { Reconcile } from '../controller.ts';
import type { FairLimiter } from '../fair-limiter.ts';
import { groupByNamespace } from '../work-queue.ts';
import { wrapClient } from './wrap-client.ts';

/** The same client, each of whose requests waits for its turn at `gate`. */
export function fairClient(client: KubeClient, gate: FairLimiter): KubeClient {
  return wrapClient(client, ({ namespace, signal }, send) => gate.run(namespace, send, signal));
}

/** The same recipe, whose tenant keeps its share of the gate from the first to the last of its requests. */
export function whileThere(reconcile: Reconcile, gate: FairLimiter): Reconcile {
  return async (key, signal, log) => {
    const leave = gate.enter(groupByNamespace(key));
    try {
      return await reconcile(key, signal, log);
    } finally {
      leave();
    }
  };
}
