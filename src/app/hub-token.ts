// The agent's token for the hub, which it renews itself.

import { sleep, systemClock } from '../lib/controller/clock.ts';
import type { KubeClient, KubeObject, Resource } from '../lib/kube/client.ts';
import type { Logger } from '../lib/logger.ts';
import { LISTENER_AGENT, LISTENER_TOKEN } from '../schema/listener-names.ts';
import type { HubAccess } from './hub-access.ts';

const TOKEN_SECONDS = 86_400;
const RENEW_TOKEN_MS = 3_600_000;
const RETRY_TOKEN_MS = 60_000;

/** The subresource by which the account gets a token for itself. */
const OWN_TOKEN: Resource = {
  group: '',
  version: 'v1',
  kind: 'TokenRequest',
  plural: `serviceaccounts/${LISTENER_AGENT}/token`,
  namespaced: true,
};

/** A token for a day, every hour: the first one, which a person carried here, ends soon. */
export async function renewToken(client: KubeClient, hub: HubAccess, log: Logger, signal: AbortSignal): Promise<void> {
  const { namespace } = hub.access;
  while (!signal.aborted) {
    let delayMs = RENEW_TOKEN_MS;
    try {
      const request = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        metadata: { name: LISTENER_AGENT, namespace },
        spec: {
          expirationSeconds: TOKEN_SECONDS,
          boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: LISTENER_TOKEN },
        },
      };
      // oxlint-disable-next-line no-await-in-loop -- one token after the other
      const made: KubeObject & { readonly status?: { readonly token?: string } } = await client.create(
        OWN_TOKEN,
        request,
      );
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (made.status?.token !== undefined) await hub.keep(made.status.token);
    } catch (err) {
      log.warn({ err }, 'The token for the hub was not renewed');
      delayMs = RETRY_TOKEN_MS;
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(systemClock, delayMs, signal);
  }
}
