// Finds the OAuth server of an MCP server and registers a client there: the metadata of the resource (RFC 9728) names the server, whose
// own metadata (RFC 8414 or OpenID Connect) has the endpoints. The client is the address of a document that Davit serves, where the server
// takes one, and is registered dynamically otherwise (RFC 7591).

import * as oauth from 'oauth4webapi';
import type { OAuthProviderSpec } from '../../kinds/oauth-provider.ts';
import type { Registration } from './clients.ts';
import { asFailure, GrantFailed, type RequestOptions } from './server.ts';

/** A client that was registered, and the server that knows it. */
export interface Discovered
  extends Pick<
    OAuthProviderSpec,
    'clientId' | 'authUrl' | 'tokenUrl' | 'issuer' | 'revocationUrl' | 'tokenEndpointAuthMethod'
  > {
  readonly secret: string | undefined;
  /** How the client is deleted. Undefined where the server does not say it. */
  readonly registration: Registration | undefined;
}

export interface DiscoveryRequest {
  readonly mcpServerUrl: string;
  readonly redirectUri: string;
  /** Display name of the client at the server. */
  readonly clientName: string;
  /** Where Davit serves the metadata of the client (draft-ietf-oauth-client-id-metadata-document). */
  readonly metadataUrl?: string;
  /** Asked before a client is registered, with the method that it would have. What it throws ends the discovery. */
  readonly judge?: (planned: Planned) => Promise<void>;
}

/** What is found before a client is registered. */
export type Planned = Omit<Discovered, 'clientId' | 'secret' | 'registration'>;

/** Authentication methods that Davit supports, the best first. */
const METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/** Throws GrantFailed, whose message says what is missing, or CodeHostFailed if a server cannot be asked. */
export async function discoverMcp(
  { mcpServerUrl, redirectUri, clientName, metadataUrl, judge }: DiscoveryRequest,
  options: () => RequestOptions,
): Promise<Discovered> {
  const as = await authorizationServer(new URL(mcpServerUrl), options);
  if (as.code_challenge_methods_supported?.includes('S256') !== true)
    throw new GrantFailed('refused', 'The OAuth server does not support PKCE with S256.');
  const { authorization_endpoint: authUrl, token_endpoint: tokenUrl, revocation_endpoint: revocationUrl } = as;
  const endpoints = {
    // Only a server that says so names itself in its answers.
    ...(as.authorization_response_iss_parameter_supported === true && { issuer: as.issuer }),
    ...(revocationUrl !== undefined && { revocationUrl }),
  };
  // Nothing is left at the server that would have to be deleted.
  if (
    as['client_id_metadata_document_supported'] === true &&
    metadataUrl?.startsWith('https://') &&
    authUrl &&
    tokenUrl
  )
    return {
      ...endpoints,
      registration: undefined,
      clientId: metadataUrl,
      secret: undefined,
      authUrl,
      tokenUrl,
      tokenEndpointAuthMethod: 'none',
    };
  if (as.registration_endpoint === undefined)
    throw new GrantFailed(
      'refused',
      'The OAuth server does not register clients (registration_endpoint). Register a client there yourself, and create the provider with its client_id.',
    );
  const supported = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = METHODS.find((one) => supported.includes(one));
  if (method === undefined || authUrl === undefined || tokenUrl === undefined)
    throw new GrantFailed('refused', 'The OAuth server lacks an endpoint or an authentication method for this flow.');
  // A client that no provider names would be left at the server.
  await judge?.({ ...endpoints, authUrl, tokenUrl, tokenEndpointAuthMethod: method });
  const {
    client_id: clientId,
    client_secret: secret,
    ...client
  } = await registered(as, { method, redirectUri, clientName }, options);
  const { registration_client_uri: uri, registration_access_token: token } = client;
  return {
    registration: typeof uri === 'string' && typeof token === 'string' ? { uri, token } : undefined,
    clientId,
    secret: typeof secret === 'string' ? secret : undefined,
    authUrl,
    tokenUrl,
    ...endpoints,
    tokenEndpointAuthMethod: typeof secret !== 'string' ? 'none' : method,
  };
}

async function authorizationServer(resource: URL, options: () => RequestOptions): Promise<oauth.AuthorizationServer> {
  const { authorization_servers: servers = [] } = await asFailure(
    async () =>
      oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, options())),
    'The MCP server has no valid metadata at /.well-known/oauth-protected-resource (RFC 9728).',
  );
  const issuer = URL.parse(servers[0] ?? '');
  if (issuer === null) throw new GrantFailed('refused', 'The MCP server names no OAuth server.');
  return serverMetadata(issuer, options);
}

/** The metadata of an OAuth server, which must name this issuer. Throws GrantFailed, or CodeHostFailed. */
export function serverMetadata(issuer: URL, options: () => RequestOptions): Promise<oauth.AuthorizationServer> {
  const metadata = (algorithm: 'oauth2' | 'oidc'): Promise<oauth.AuthorizationServer> =>
    asFailure(
      async () =>
        oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...options(), algorithm })),
      'The OAuth server has no valid metadata (RFC 8414, OpenID Connect Discovery).',
    );
  return metadata('oauth2').catch((error: unknown) => {
    if (error instanceof GrantFailed) return metadata('oidc');
    throw error;
  });
}

interface ClientMetadata {
  readonly method: string;
  readonly redirectUri: string;
  readonly clientName: string;
}

function registered(
  as: oauth.AuthorizationServer,
  { method, redirectUri, clientName }: ClientMetadata,
  options: () => RequestOptions,
): Promise<oauth.OmitSymbolProperties<oauth.Client>> {
  const client = {
    client_name: clientName,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
  };
  return asFailure(
    async () =>
      oauth.processDynamicClientRegistrationResponse(
        created(await oauth.dynamicClientRegistrationRequest(as, client, options())),
      ),
    'The OAuth server did not register a client.',
  );
}

/** Treats 200 as 201: some servers answer 200 to a registration, and rejecting it would leave an unknown client there. */
function created(answer: Response): Response {
  return answer.status === 200 ? new Response(answer.body, { status: 201, headers: answer.headers }) : answer;
}
