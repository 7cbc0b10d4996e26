// Davit's HTTP API in this process: its own routes, with the kubeconfig's credentials. It needs no address, no token, and no davit-api
// that runs.

import { Settings } from '../../kinds/settings.ts';
import { Forbidden, NotFound, ServerError, Unauthorized } from '../../runtime/errors.ts';
import { CONFIG_MAPS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../runtime/kube/client.ts';
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
/** The API server's words to a caller of --as. */
const IMPERSONATION = / cannot impersonate /;

/** Throws Failure where Davit is not installed. */
export async function makeOwnApi({ kube, namespace, davitNamespace }: OwnApiOptions): Promise<HttpApi> {
  const [{ makeOwnFacade }, settings] = await Promise.all([
    import('../../main/own-facade.ts'),
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
    return settingsIn(data?.['settings.json'] ?? '{}', davitNamespace);
  } catch (error) {
    if (error instanceof Unauthorized)
      throw new Failure(
        'The Kubernetes API server does not accept the credentials of the kubeconfig, or they have expired. Renew them, or name another context with --context.',
      );
    if (error instanceof Forbidden && IMPERSONATION.test(error.serverMessage ?? ''))
      throw new Failure(`${error.serverMessage}. Leave out --as, or ask for the right to impersonate that user.`);
    if (error instanceof NotFound || error instanceof Forbidden)
      throw new Failure(
        `Davit is not installed in namespace ${davitNamespace}: ConfigMap ${PUBLISHED}, which its chart creates for kubectl davit, cannot be read there. If Davit is in another namespace, name it with --davit-namespace.`,
      );
    if (error instanceof ServerError) throw new Failure(error.words);
    throw error;
  }
}

function settingsIn(text: string, davitNamespace: string): Settings {
  try {
    return Settings.parse(JSON.parse(text));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'no JSON' : 'no settings of this version';
    throw new Failure(
      `ConfigMap ${PUBLISHED} in namespace ${davitNamespace} has ${why}. Use the kubectl davit of the installed version. helm upgrade with the chart of that version writes the ConfigMap again.`,
    );
  }
}
