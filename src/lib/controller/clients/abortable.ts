// A client whose requests are aborted together with a reconcile: by its time limit, or with the loss of leadership.

import type { KubeClient } from '../../kube/client.ts';
import { wrapClient } from './wrap-client.ts';

/** The same client; `signal` aborts every request. A watch has its own signal. */
export function abortable(client: KubeClient, signal: AbortSignal): KubeClient {
  return wrapClient(client, (_, send) => send({ signal }));
}
