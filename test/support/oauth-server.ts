// An OAuth server on loopback, with TLS: oidc-provider, whose person agrees to everything, or refuses.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { makeAuthority } from '../cluster/certificates.ts';
import { answering, close } from './http-servers.ts';

export interface OAuthTestServer {
  readonly issuer: string;
  /** `host:port`, as settings have it. */
  readonly host: string;
  readonly ca: string;
  readonly client: { readonly id: string; readonly secret: string };
  /** Id of a client without a secret. */
  readonly publicClient: string;
  /** Seconds for which access tokens are valid. */
  lifetime: number;
  isRefusing: boolean;
  /** Takes over one request; false leaves it to the server. */
  fault: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Grants that it gave or refused, in order: `refresh_token`, `refresh_token refused`. */
  readonly grants: string[];
  /** Audiences of the access tokens that it issued. */
  readonly audiences: (string | undefined)[];
  /** Codes, verifiers and tokens that came or went. */
  readonly secrets: Set<string>;
  /** Access tokens that were revoked, alone or with their refresh tokens. */
  readonly revoked: Set<string>;
  /** Paths that were requested. */
  readonly seen: string[];
  close(): Promise<void>;
}

export const SCOPES = ['openid', 'api:read', 'api:write'];

interface GrantContext {
  readonly oidc: {
    readonly params?: Readonly<Partial<Record<'grant_type' | 'code' | 'code_verifier' | 'refresh_token', string>>>;
  };
  readonly body?: Readonly<Partial<Record<'access_token' | 'refresh_token', string>>>;
}

/** Where the documents of an origin really are, which are clients by their addresses. */
export interface ClientDocuments {
  readonly origin: string;
  at: string;
}

/** `redirectUris`: where it may send codes. `documents`: it takes clients by their documents too. */
export async function startOAuthServer(
  redirectUris: readonly string[],
  documents?: ClientDocuments,
): Promise<OAuthTestServer> {
  const authority = makeAuthority('oauth server');
  const { certificate, key } = authority.serving('127.0.0.1', ['127.0.0.1']);
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const http = createServer({ cert: certificate, key }, (request, response) => handle(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const client = { id: 'davit', secret: 'canary-client-secret-77b1' };
  const server: OAuthTestServer = {
    issuer: `https://${host}`,
    host,
    ca: authority.certificate,
    client,
    publicClient: 'davit-public',
    lifetime: 3600,
    isRefusing: false,
    fault: undefined,
    grants: [],
    audiences: [],
    secrets: new Set(),
    revoked: new Set(),
    seen: [],
    close: () => close(http),
  };
  const provider = new Provider(server.issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: redirectUris,
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['authorization_code', 'refresh_token'],
      },
      {
        client_id: server.publicClient,
        redirect_uris: redirectUris,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    scopes: SCOPES,
    cookies: { keys: ['of a test'] },
    fetch: (url: string | URL, { method, headers, redirect, signal }: RequestInit) => {
      const { origin = '', at = '' } = documents ?? {};
      // Without its dispatcher, which connects to no address of loopback.
      return fetch(String(url).replace(origin, at), { method, headers, redirect, signal } as RequestInit);
    },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      registration: { enabled: true },
      clientIdMetadataDocument: { enabled: documents !== undefined, ack: 'draft-02' },
      registrationManagement: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, audience: string) => ({ audience, scope: SCOPES.join(' ') }),
      },
    },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: { AccessToken: () => server.lifetime, RefreshToken: 86_400, Grant: 86_400, Session: 3600, Interaction: 600 },
  });
  /** Access tokens by the refresh tokens that came with them. */
  const pairs = new Map<string, string>();
  const note = (suffix: string) => (context: GrantContext) => {
    const { params = {} } = context.oidc;
    server.grants.push(`${params.grant_type}${suffix}`);
    const { code, code_verifier, refresh_token } = params;
    const given = context.body ?? {};
    if (given.access_token && given.refresh_token) pairs.set(given.refresh_token, given.access_token);
    for (const one of [code, code_verifier, refresh_token, given.access_token, given.refresh_token])
      if (one !== undefined) server.secrets.add(one);
  };
  provider.on('grant.success', note(''));
  provider.on('grant.error', note(' refused'));
  provider.on('access_token.saved', ({ aud }) => void server.audiences.push(aud));
  provider.use(async (context, next) => {
    await next();
    const { route, params } = context.oidc ?? {};
    if (route === 'revocation' && params?.token !== undefined)
      server.revoked.add(pairs.get(params.token) ?? params.token);
  });
  const answer = provider.callback();
  handle = (request, response) => {
    server.seen.push(request.url?.split('?', 1)[0] ?? '');
    if (server.fault?.(request, response) === true) return;
    if (request.url === '/.well-known/oauth-protected-resource/mcp') describeMcp(server, response);
    else if (request.url?.startsWith('/interaction/') === true)
      void answering(response, () => interact(provider, server, request, response));
    else answer(request, response);
  };
  return server;
}

/** The metadata of an MCP server (RFC 9728). */
function describeMcp({ issuer }: OAuthTestServer, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ resource: `${issuer}/mcp`, authorization_servers: [issuer] }));
}

async function interact(
  provider: Provider,
  { isRefusing }: OAuthTestServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (isRefusing) {
    await provider.interactionFinished(request, response, { error: 'access_denied' });
    return;
  }
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: 'ada' } });
    return;
  }
  const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? '');
  if (params.resource !== undefined) grant.addResourceScope(params.resource, params.scope ?? '');
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

/** What `POST /v2/auth/providers` takes for this server and its confidential client. */
export function providerPayload({ issuer, client }: OAuthTestServer, id: string, name: string): object {
  return {
    provider_id: id,
    name,
    client_id: client.id,
    client_secret: client.secret,
    auth_url: `${issuer}/auth`,
    token_url: `${issuer}/token`,
    revocation_url: `${issuer}/token/revocation`,
    issuer,
    uses_pkce: true,
  };
}
