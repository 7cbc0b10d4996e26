// Presents a provider as the API returns it. Pure. It has no access to the client secret.

import { createdAt, writtenAt } from '../../../lib/kube/write-times.ts';
import type { OAuthProvider } from '../../../schema/oauth-provider.ts';
import { providerIdOf } from '../../../schema/provider-id.ts';
import { methodInForce } from './patch.ts';
import type { OAuthProviderResponse } from './payloads.ts';

export function presentProvider(provider: OAuthProvider, organizationId: string): OAuthProviderResponse {
  const { metadata, spec } = provider;
  if (metadata.uid === undefined) throw new TypeError(`OAuthProvider ${metadata.name} has no uid`);
  return {
    id: metadata.uid,
    organization_id: organizationId,
    provider_id: providerIdOf(provider),
    name: spec.name,
    client_id: spec.clientId,
    auth_url: spec.authUrl,
    token_url: spec.tokenUrl,
    ...(spec.issuer !== undefined && { issuer: spec.issuer }),
    ...(spec.revocationUrl !== undefined && { revocation_url: spec.revocationUrl }),
    uses_pkce: spec.usesPkce,
    code_challenge_method: methodInForce(spec),
    created_at: createdAt(provider),
    updated_at: writtenAt(provider),
    provider_type: spec.providerType ?? null,
    mcp_server_url: spec.mcpServerUrl ?? null,
    token_endpoint_auth_method: spec.tokenEndpointAuthMethod,
    is_dynamic_client: spec.isDynamicClient,
  };
}
