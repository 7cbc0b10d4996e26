// Computes the spec of a provider from a POST, and from a PATCH. Pure: if a PATCH changes nothing, it returns the same object.

import { isDeepStrictEqual } from 'node:util';
import { CLIENT_SECRET_KEY, type OAuthProvider, type OAuthProviderSpec } from '../../../kinds/oauth-provider.ts';
import { providerNameFor } from '../../../kinds/provider-id.ts';
import type { FieldError } from '../../../runtime/http/http-error.ts';
import { type CreateProvider, NEEDS_PKCE, type PatchProvider } from './payloads.ts';

/** `secretName`: the Secret of the client secret, if there is one. The API server adds defaults. */
export function specOf(payload: CreateProvider, secretName: string): OAuthProviderSpec {
  const usesPkce = payload.uses_pkce ?? false;
  const { provider_id: providerId, provider_type: providerType, mcp_server_url: mcpServerUrl } = payload;
  const { issuer, revocation_url: revocationUrl } = payload;
  return {
    name: payload.name,
    ...(providerNameFor(providerId) !== providerId && { providerId }),
    clientId: payload.client_id,
    ...(isGiven(payload.client_secret) && { clientSecretRef: { name: secretName, key: CLIENT_SECRET_KEY } }),
    authUrl: payload.auth_url,
    tokenUrl: payload.token_url,
    ...(issuer !== undefined && { issuer }),
    ...(revocationUrl !== undefined && { revocationUrl }),
    usesPkce,
    ...(usesPkce && { codeChallengeMethod: payload.code_challenge_method ?? 'S256' }),
    ...(providerType !== undefined && { providerType }),
    ...(mcpServerUrl !== undefined && { mcpServerUrl }),
    tokenEndpointAuthMethod: payload.token_endpoint_auth_method ?? 'client_secret_post',
    isDynamicClient: false,
  };
}

/** `newSecret`: the Secret of the sent client secret. Undefined if none was sent, or it equals the current one. */
export function patchedSpec(
  before: OAuthProviderSpec,
  patch: PatchProvider,
  newSecret: string | undefined,
): OAuthProviderSpec {
  const { codeChallengeMethod: _method, issuer: _issuer, revocationUrl: _revocationUrl, ...rest } = before;
  const issuer = patch.issuer ?? before.issuer ?? '';
  const revocationUrl = patch.revocation_url ?? before.revocationUrl ?? '';
  const after: OAuthProviderSpec = {
    ...rest,
    ...(isGiven(patch.name) && { name: patch.name }),
    ...(isGiven(patch.client_id) && { clientId: patch.client_id }),
    ...(newSecret !== undefined && { clientSecretRef: { name: newSecret, key: CLIENT_SECRET_KEY } }),
    ...(isGiven(patch.auth_url) && { authUrl: patch.auth_url }),
    ...(isGiven(patch.token_url) && { tokenUrl: patch.token_url }),
    // null means unchanged, so an empty string removes one.
    ...(issuer !== '' && { issuer }),
    ...(revocationUrl !== '' && { revocationUrl }),
    ...patchedPkce(before, patch),
  };
  return isDeepStrictEqual(after, before) ? before : after;
}

/** A sent method that is in force already leaves an unset field unset: the provider may have been created with kubectl. */
function patchedPkce(
  before: OAuthProviderSpec,
  patch: PatchProvider,
): Pick<OAuthProviderSpec, 'usesPkce' | 'codeChallengeMethod'> {
  const usesPkce = patch.uses_pkce ?? before.usesPkce;
  const wanted = patch.code_challenge_method ?? methodInForce(before) ?? 'S256';
  if (!usesPkce) return { usesPkce };
  if (before.usesPkce && wanted === methodInForce(before)) {
    const { codeChallengeMethod } = before;
    return { usesPkce, ...(codeChallengeMethod !== undefined && { codeChallengeMethod }) };
  }
  return { usesPkce, codeChallengeMethod: wanted };
}

export function methodInForce({ usesPkce, codeChallengeMethod }: OAuthProviderSpec): 'S256' | 'plain' | null {
  return usesPkce ? (codeChallengeMethod ?? 'S256') : null;
}

/** The errors of a patch of this provider. */
export function patchFindings({ spec }: OAuthProvider, patch: PatchProvider): FieldError[] {
  if (!isGiven(patch.code_challenge_method) || (patch.uses_pkce ?? spec.usesPkce)) return [];
  return [{ loc: ['body', 'code_challenge_method'], msg: NEEDS_PKCE, type: 'value_error' }];
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
