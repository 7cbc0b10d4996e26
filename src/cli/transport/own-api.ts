// Davit's HTTP API in this process: its own routes, with the kubeconfig's credentials. It needs no address, no token, and no davit-api
// that runs.

import { Forbidden, NotFound, ServerError } from '../../lib/errors.ts';
import { CONFIG_MAPS } from '../../lib/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../lib/kube/client.ts';
import { Settings } from '../../schema/settings.ts';
import { apiOver, type HttpApi } from './http-api.ts';
import { Failure } from './kubectl.ts';

export interface OwnApiOptions {
  readonly kube: KubeClient;
  readonly namespace: string;
  /** Where Davit is installed. */
  readonly davitNamespace: string;
}

/** What the chart publishes of the settings. */
const PUBLISHED = 'davit-platform';

/** Throws Failure where Davit is not installed. */
export async function makeOwnApi({ kube, namespace, davitNamespace }: OwnApiOptions): Promise<HttpApi> {
  const [{ makeOwnFacade }, settings] = await Promise.all([
    import('../../app/own-facade.ts'),
    readSettings(kube, davitNamespace),
  ]);
  const facade = await makeOwnFacade({ kube, namespace, settings });
  return {
    ...apiOver(facade, { server: 'The API server', namespace }),
    upload: () =>
      Promise.reject(new Failure("Uploads need Davit's HTTP API. Name its address with --server or DAVIT_SERVER.")),
  };
}

export interface ConfigMapObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

async function readSettings(kube: KubeClient, davitNamespace: string): Promise<Settings> {
  const ref = { namespace: davitNamespace, name: PUBLISHED };
  try {
    const { data } = await kube.get<ConfigMapObject>(CONFIG_MAPS, ref);
    return Settings.parse(JSON.parse(data?.['settings.json'] ?? '{}'));
  } catch (error) {
    if (error instanceof NotFound || error instanceof Forbidden)
      throw new Failure(
        `Davit is not installed in namespace ${davitNamespace}: ConfigMap ${PUBLISHED}, which its chart creates for kubectl davit, cannot be read there. If Davit is in another namespace, name it with --davit-namespace.`,
      );
    if (error instanceof ServerError) throw new Failure(error.serverMessage ?? error.message);
    throw error;
  }
}
