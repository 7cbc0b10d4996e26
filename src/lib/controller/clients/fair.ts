// A client whose requests take turns, tenant by tenant.

import type { KubeClient } from '../../kube/client.ts';
import type { FairLimiter } from '../fair-limiter.ts';
import { wrapClient } from './wrap-client.ts';

/** The same client, whose requests wait for their turn at `gate`. */
export function fairClient(client: KubeClient, gate: FairLimiter): KubeClient {
  return wrapClient(client, ({ namespace, signal }, send) => gate.run(namespace, send, signal));
}
