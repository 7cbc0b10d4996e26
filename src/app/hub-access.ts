// How the agent reaches its hub: by the Secret that `kubectl davit listener join` prints, in which it keeps its token.

import { Conflict } from '../lib/errors.ts';
import { SECRETS } from '../lib/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../lib/kube/client.ts';
import type { ClusterAccess } from '../lib/kube/config.ts';
import { HUB_SECRET } from '../schema/listener-names.ts';

export interface HubAccess {
  /** `namespace`: that of the Listener on the hub. */
  readonly access: ClusterAccess & { readonly namespace: string };
  /** Uses another token from now on, also after a restart; unless the cluster was enrolled again meanwhile. */
  keep(token: string): Promise<void>;
}

interface HubSecret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
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
    const { data = {}, metadata } = await local.get<HubSecret>(SECRETS, place);
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
