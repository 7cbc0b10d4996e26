// How the agent reaches its hub: by the Secret that `kubectl davit listener join` prints, in which it keeps its token.

import { HUB_SECRET, LISTENER_AGENT, LISTENER_TOKEN } from '../kinds/listener-names.ts';
import { sleep, systemClock } from '../runtime/controller/clock.ts';
import { Conflict } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, Resource, SecretObject } from '../runtime/kube/client.ts';
import type { ClusterAccess } from '../runtime/kube/config.ts';
import type { Logger } from '../runtime/logger.ts';

export interface HubAccess {
  /** `namespace`: that of the Listener on the hub. */
  readonly access: ClusterAccess & { readonly namespace: string };
  /** Uses another token from now on, also after a restart; unless the cluster was enrolled again meanwhile. */
  keep(token: string): Promise<void>;
}

type Known = Readonly<Record<'server' | 'namespace' | 'token' | 'ca' | 'resourceVersion', string>>;

/** `onMoved` is called when the Secret names another hub than at first. Throws an Error for people if the Secret is incomplete. */
export async function openHubAccess(
  local: KubeClient,
  namespace: string,
  onMoved: (hub: string) => void,
): Promise<HubAccess> {
  const place = { namespace, name: HUB_SECRET };
  const first = await read();
  let known = first;

  async function read(): Promise<Known> {
    const { data = {}, metadata } = await local.get<SecretObject>(SECRETS, place);
    const text = (key: string): string =>
      Buffer.from(data[key] ?? '', 'base64')
        .toString('utf8')
        .trim();
    const { resourceVersion = '' } = metadata;
    const found = {
      server: text('server'),
      namespace: text('namespace'),
      token: text('token'),
      ca: text('ca'),
      resourceVersion,
    };
    if (found.server === '' || found.namespace === '' || found.token === '')
      throw new Error(
        `Secret ${HUB_SECRET} needs the keys server, namespace and token: kubectl davit listener join prints it.`,
      );
    return found;
  }

  async function readAgain(): Promise<void> {
    const now = await read();
    if (now.server !== first.server || now.namespace !== first.namespace) onMoved(`${now.server} ${now.namespace}`);
    else known = now;
  }

  return {
    access: {
      server: first.server,
      namespace: first.namespace,
      credentials: async () => ({
        headers: { authorization: `Bearer ${known.token}` },
        tls: { ...(known.ca !== '' && { ca: known.ca }) },
      }),
      // A person may have enrolled the cluster again.
      refresh: () => void readAgain().catch(() => undefined),
    },
    async keep(token) {
      const { resourceVersion } = known;
      const data = { token: Buffer.from(token).toString('base64') };
      try {
        const written = await local.mergePatch(SECRETS, place, { metadata: { resourceVersion }, data });
        known = { ...known, token, resourceVersion: written.metadata.resourceVersion ?? '' };
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        await readAgain();
      }
    },
  };
}

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
      const made: KubeObject & { readonly status?: { readonly token?: string } } = await client.create(
        OWN_TOKEN,
        request,
      );
      if (made.status?.token !== undefined) await hub.keep(made.status.token);
    } catch (err) {
      log.warn({ err }, 'The token for the hub was not renewed');
      delayMs = RETRY_TOKEN_MS;
      // The cluster may have been enrolled at another address, because this one is dead.
      hub.access.refresh();
    }
    await sleep(systemClock, delayMs, signal);
  }
}
