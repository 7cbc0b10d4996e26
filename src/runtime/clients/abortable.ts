// A client whose requests are given up when one reconcile is: by its time limit, or with the leadership.

import type { KubeClient } from '../../kube/client.ts';
import { wrapClient } from './wrap-client.ts';

/** The same client; every request ends when `signal` aborts. A watch has a signal of its own. */
export function abortable(client: KubeClient, signal: AbortSignal): KubeClient {
  return wrapClient(client, (_, send) => send({ signal }));
}
