// The client secret of a provider, for requests to its OAuth server.

import { HttpError } from '../../lib/http/http-error.ts';
import type { KubeClient } from '../../lib/kube/client.ts';
import type { OAuthProvider } from '../../schema/oauth-provider.ts';
import { providerIdOf } from '../../schema/provider-id.ts';
import type { Settings } from '../../schema/settings.ts';
import { providerVerdict } from '../conditions.ts';
import { makeOrganizationSecrets, textOf } from '../facade/organization-secrets.ts';
import type { Client } from './server.ts';

/** Reads client secrets with the facade's own account. Throws HttpError 424 if the provider cannot be used. */
export function clientReader(
  kube: KubeClient,
  { organizationNamespace, codeHosts, oauth }: Settings,
): (provider: OAuthProvider) => Promise<Client> {
  const secrets = makeOrganizationSecrets(kube, organizationNamespace);
  return async (provider) => {
    const { clientSecretRef } = provider.spec;
    const secret = clientSecretRef && (await secrets.read(clientSecretRef.name));
    const { status, message } = providerVerdict(provider, { secret: () => secret, codeHosts, oauth });
    const value = clientSecretRef && textOf(secret, clientSecretRef.key);
    if (status !== 'True') throw new HttpError(424, `OAuth provider "${providerIdOf(provider)}": ${message}`);
    if (clientSecretRef !== undefined && value === undefined)
      throw new HttpError(424, `Secret ${clientSecretRef.name} has no key ${clientSecretRef.key}.`);
    return { provider, secret: value };
  };
}
