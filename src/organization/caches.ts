// The controller's watch caches of the organization's namespace.

import type { CacheSet } from '../lib/controller/cluster.ts';
import { makeReflector, type Reflector, type ReflectorOptions } from '../lib/controller/reflector.ts';
import { SECRETS } from '../lib/kube/api-resources.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../schema/code-host-integration.ts';
import { PROVIDER_LABEL } from '../schema/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../schema/oauth-provider.ts';

/** Index of objects by the names of the Secrets that they reference. */
export const SECRETS_NAMED = 'secrets named';

export interface OrganizationCaches extends CacheSet {
  readonly organizationNamespace: string;
  readonly providers: Reflector<OAuthProvider>;
  readonly integrations: Reflector<CodeHostIntegration>;
  /** Metadata of the Secrets in the organization's namespace, among them OAuth client secrets. */
  readonly clientSecrets: Reflector<KubeObject>;
}

export type OrganizationCacheOptions = Pick<ReflectorOptions<KubeObject>, 'client' | 'log' | 'metrics' | 'onRewound'>;

/** `secrets`: a cache that covers the Secrets of `namespace`; without one, they are watched too. */
export function makeOrganizationCaches(
  options: OrganizationCacheOptions,
  namespace: string,
  secrets: Reflector<KubeObject> | undefined,
): OrganizationCaches {
  const providers = makeReflector<OAuthProvider>({
    ...options,
    resource: OAUTH_PROVIDERS,
    namespace,
    indexes: { [SECRETS_NAMED]: ({ spec }) => (spec.clientSecretRef ? [spec.clientSecretRef.name] : []) },
  });
  const integrations = makeReflector<CodeHostIntegration>({
    ...options,
    resource: CODE_HOST_INTEGRATIONS,
    namespace,
    indexes: { [SECRETS_NAMED]: ({ spec }) => [spec.credentialsRef.name] },
  });
  const clientSecrets =
    secrets ??
    makeReflector<KubeObject>({
      ...options,
      resource: SECRETS,
      namespace,
      metadataOnly: true,
      indexedLabels: [PROVIDER_LABEL],
    });
  const all = [providers, integrations, ...(secrets ? [] : [clientSecrets])] as unknown as Reflector<KubeObject>[];
  return { organizationNamespace: namespace, providers, integrations, clientSecrets, all };
}
