// What Davit needs of its cluster before it can do its work, as chart and API server have it: the server's version, our
// kinds, the admission policies, the rights.

import { ownResources } from '../api/kinds.ts';
import type { Config } from '../config.ts';
import type { KubeClient } from '../kube/client.ts';
import { kindsAreServed, kubernetesIsNewEnough, policiesAreThere, rightsAreGranted } from '../kube/preflight-checks.ts';
import type { Logger } from '../logger.ts';
import { type WatchedRequirements, watchRequirements } from '../runtime/preflight-poll.ts';

export interface Asking {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** The first look at the server's version waits no longer: whether it answers at all, others say. */
const FIRST_LOOK_MS = 3000;
/** What may be taken away again is looked at again. */
const AGAIN_MS = 5 * 60_000;

export function watchServerVersion({ client, log, signal }: Asking): WatchedRequirements {
  const kubernetes = (asking: AbortSignal): Promise<string | undefined> => kubernetesIsNewEnough(client, asking);
  return watchRequirements({ requirements: { kubernetes }, log, signal });
}

/** A server that does not answer is not too old: whoever needs it waits for it anyway. */
export async function serverIsTooOld({ client, signal }: Asking): Promise<boolean> {
  const look = AbortSignal.any([signal, AbortSignal.timeout(FIRST_LOOK_MS)]);
  return (await kubernetesIsNewEnough(client, look).catch(() => undefined)) !== undefined;
}

export function watchKinds({ client, log, signal }: Asking): WatchedRequirements {
  const definitions = (asking: AbortSignal): Promise<string | undefined> =>
    kindsAreServed(client, ownResources(), asking);
  return watchRequirements({ requirements: { definitions }, log, signal, againMs: AGAIN_MS });
}

/** The controller's: the API does everything with its callers' rights, and reads alone with its own. */
export function watchChart(
  { client, log, signal }: Asking,
  { admissionPolicies, rights }: Config['requirements'],
): WatchedRequirements[] {
  const admission = (asking: AbortSignal): Promise<string | undefined> =>
    policiesAreThere(client, admissionPolicies, asking);
  const granted = (asking: AbortSignal): Promise<string | undefined> => rightsAreGranted(client, rights, asking);
  return [
    watchRequirements({ requirements: { admission }, log, signal, againMs: AGAIN_MS }),
    watchRequirements({ requirements: { rights: granted }, log, signal }),
  ];
}
