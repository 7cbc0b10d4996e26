// OAuthProvider: a client registration at an OAuth 2.0 server, with the endpoints of its authorization-code flow. The object
// and the Secret with its client secret are in the organization's namespace.

import { z } from 'zod';
import { type OwnObject, ownKind } from './meta.ts';
import { SECRET_KEY_PATTERN } from './name-patterns.ts';
import { celRules, flag, matching, ObjectName, ObservedStatus, oneOf, Printable } from './primitives.ts';

/** Longest name of an object, which is also a label value, and longest id. */
export const PROVIDER_ID_MAX_LENGTH = 63;
/** Names of objects, which have no double hyphen besides. */
export const PROVIDER_NAME_PATTERN = '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$';
/** Ids in the HTTP API, as people write them. At least one letter or digit: `.` and `..` mean something else in a path. */
export const PROVIDER_ID_PATTERN = '^[._-]*[A-Za-z0-9][A-Za-z0-9._-]*$';

export const ProviderId = matching(PROVIDER_ID_PATTERN, PROVIDER_ID_MAX_LENGTH, 1);

/** Absolute, https, without credentials or fragment. */
export const HTTPS_URL_PATTERN =
  '^https://(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?([/?][^\\s#\\\\\\x00-\\x1f\\x7f]*)?$';
/** Checks that the pattern cannot express: malformed escapes and ports out of range. */
export const VALID_URL = "isURL(self) && (url(self).getPort() == '' || int(url(self).getPort()) <= 65535)";
export const HttpsUrl = matching(HTTPS_URL_PATTERN, 2048, 1).meta(
  celRules([
    {
      rule: VALID_URL,
      message: 'must be an absolute https URL without user, password or fragment',
    },
  ]),
);

export const CODE_CHALLENGE_METHODS = ['S256', 'plain'] as const;
export const TOKEN_ENDPOINT_AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/** The key of the Secret in which the HTTP API stores a client secret. */
export const CLIENT_SECRET_KEY = 'client-secret';

const ClientSecretRef = z.object({
  name: ObjectName.describe('Secret in the same namespace.'),
  key: matching(SECRET_KEY_PATTERN, 253, 1).describe('Key in the Secret.'),
});

export const OAuthProviderSpec = z
  .object({
    name: Printable.min(1).max(255).describe('Display name.'),
    providerId: ProviderId.meta(celRules([{ rule: 'self == oldSelf', message: 'providerId cannot be changed' }]))
      .describe(
        "provider_id in the HTTP API, if it cannot be the object's name (google_workspace). If absent, the name is the id. The object's name is derived from it, as the HTTP API does it.",
      )
      .optional(),
    clientId: Printable.min(1).max(1024).describe('Client id, as registered with the provider.'),
    clientSecretRef: ClientSecretRef.describe(
      'Secret with the client secret. The HTTP API creates a Secret and names it here. It never returns the value.',
    ).optional(),
    authUrl: HttpsUrl.describe('Authorization endpoint.'),
    tokenUrl: HttpsUrl.describe('Token endpoint.'),
    issuer: HttpsUrl.describe(
      "Issuer identifier (RFC 9207). If set, every answer of the authorization endpoint must have it in iss. Set it if the server's metadata has authorization_response_iss_parameter_supported.",
    ).optional(),
    revocationUrl: HttpsUrl.describe(
      'Revocation endpoint (RFC 7009). If set, a token is revoked there before it is deleted.',
    ).optional(),
    usesPkce: flag(false).describe('Whether the flow uses PKCE (RFC 7636).'),
    codeChallengeMethod: oneOf(CODE_CHALLENGE_METHODS)
      .describe('How PKCE derives its challenge. S256 if PKCE is used and the field is absent.')
      .optional(),
    providerType: Printable.min(1).max(255).describe('Kind of provider.').optional(),
    mcpServerUrl: HttpsUrl.describe('MCP server to which the provider gives access.').optional(),
    tokenEndpointAuthMethod: oneOf(TOKEN_ENDPOINT_AUTH_METHODS)
      .default('client_secret_post')
      .describe('How the client authenticates at the token endpoint.'),
    isDynamicClient: flag(false).describe('Whether the client was registered dynamically (RFC 7591).'),
  })
  .meta(
    celRules([
      {
        rule: '!has(self.codeChallengeMethod) || self.usesPkce',
        message: 'codeChallengeMethod needs usesPkce',
        fieldPath: '.codeChallengeMethod',
      },
      {
        rule: `!has(self.providerId) || !self.providerId.matches('${PROVIDER_NAME_PATTERN}') || self.providerId.contains('--')`,
        message: 'leave out providerId, and give the object this name',
        fieldPath: '.providerId',
      },
      {
        rule: 'has(self.providerId) == has(oldSelf.providerId)',
        message: 'providerId cannot be changed',
        fieldPath: '.providerId',
      },
    ]),
  );
export type OAuthProviderSpec = z.infer<typeof OAuthProviderSpec>;

/** The addresses to which a client secret is bound. A person who changes them without the right to read the secret cannot use it. */
export function clientSecretFor({ authUrl, tokenUrl, issuer, revocationUrl }: Addresses): string {
  const further = issuer === undefined && revocationUrl === undefined ? [] : [issuer ?? null, revocationUrl ?? null];
  return JSON.stringify([authUrl, tokenUrl, ...further]);
}

/** The endpoints of a provider to which this platform sends no requests. None where it gives no tokens at all. */
export function refusedHosts(
  { tokenUrl, revocationUrl }: Pick<Addresses, 'tokenUrl' | 'revocationUrl'>,
  { hosts }: { readonly hosts: readonly { readonly host: string }[] },
): { readonly field: 'tokenUrl' | 'revocationUrl'; readonly message: string }[] {
  const allowed = new Set(hosts.map(({ host }) => URL.parse(`https://${host}`)?.host));
  return Object.entries({ tokenUrl, revocationUrl }).flatMap(([field, url]) => {
    const { host } = (url !== undefined && allowed.size > 0 && URL.parse(url)) || {};
    if (host === undefined || allowed.has(host)) return [];
    const message = `This platform sends no requests to ${host} (${field}). Ask the platform team to add it to settings.oauth.hosts.`;
    return [{ field: field as 'tokenUrl' | 'revocationUrl', message }];
  });
}

type Addresses = Pick<OAuthProviderSpec, 'authUrl' | 'tokenUrl' | 'issuer' | 'revocationUrl'>;

export const OAuthProviderStatus = ObservedStatus;

export type OAuthProvider = OwnObject<'OAuthProvider', OAuthProviderSpec, z.infer<typeof OAuthProviderStatus>>;

export const OAUTH_PROVIDERS = ownKind('OAuthProvider');
