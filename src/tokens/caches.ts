// The controller's watch caches of the organization's namespace.

import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../kinds/code-host-integration.ts';
import { PROVIDER_LABEL } from '../kinds/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../kinds/oauth-provider.ts';
import type { CacheSet } from '../runtime/controller/cluster.ts';
import { cacheMaker } from '../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, Watching } from '../runtime/controller/reflector.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';

/** Index of objects by the names of the Secrets that they reference. */
export const SECRETS_NAMED = 'secrets named';

export interface OrganizationCaches extends CacheSet {
  readonly organizationNamespace: string;
  readonly providers: Reflector<OAuthProvider>;
  readonly integrations: Reflector<CodeHostIntegration>;
  /** Metadata of the Secrets in the organization's namespace, among them OAuth client secrets. */
  readonly clientSecrets: Reflector<KubeObject>;
}

/** `secrets`: a cache that covers the Secrets of `namespace`; without one, they are watched too. */
export function makeOrganizationCaches(
  watching: Watching,
  namespace: string,
  secrets: Reflector<KubeObject> | undefined,
): OrganizationCaches {
  const cache = cacheMaker(watching);
  const providers = cache<OAuthProvider>(OAUTH_PROVIDERS, {
    namespace,
    indexes: { [SECRETS_NAMED]: ({ spec }) => (spec.clientSecretRef ? [spec.clientSecretRef.name] : []) },
  });
  const integrations = cache<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
    namespace,
    indexes: { [SECRETS_NAMED]: ({ spec }) => [spec.credentialsRef.name] },
  });
  const clientSecrets = secrets ?? cache(SECRETS, { namespace, metadataOnly: true, indexedLabels: [PROVIDER_LABEL] });
  const all = [providers, integrations, ...(secrets ? [] : [clientSecrets])] as unknown as Reflector<KubeObject>[];
  return { organizationNamespace: namespace, providers, integrations, clientSecrets, all };
}
