// An MCP server of the protocol's own SDK, which is its own OAuth server. Its only tool says to whom the token belongs that calls it.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type { OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { Agent, fetch } from 'undici';
import { makeAuthority } from '../cluster/certificates.ts';
import { close } from './http-servers.ts';

export interface McpTestServer {
  readonly url: string;
  readonly host: string;
  readonly ca: string;
  /** Clients that were registered, by id. */
  readonly clients: ReadonlyMap<string, OAuthClientInformationFull>;
  /** What was granted and is not revoked. */
  readonly live: ReadonlySet<string>;
  /** The person who is signed in there. */
  person: string;
  /** Every access token has expired. */
  expire(): void;
  /** What the tool says to this token. Rejects if the server does not take it. */
  whoAmI(token: string): Promise<string>;
  close(): Promise<void>;
}

/** For which an access token lives, as the server says. */
const LIFETIME_S = 3600;

interface Granted {
  readonly clientId: string;
  readonly person: string;
  readonly scopes: readonly string[];
  /** For which server alone the token is (RFC 8707). */
  readonly resource: string | undefined;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

interface Asked extends Omit<Granted, 'expiresAt'> {
  readonly challenge: string;
  readonly redirectUri: string;
}

/** The OAuth server's part, in memory. Codes and refresh tokens are used once. */
function makeProvider(settings: Pick<McpTestServer, 'person'>) {
  const clients = new Map<string, OAuthClientInformationFull>();
  const codes = new Map<string, Asked>();
  const access = new Map<string, Granted>();
  const refreshes = new Map<string, Omit<Granted, 'expiresAt'>>();
  const live = new Set<string>();

  function grant(granted: Omit<Granted, 'expiresAt'>): OAuthTokens {
    const [token, refresh] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    access.set(token, { ...granted, expiresAt: Date.now() / 1000 + LIFETIME_S });
    refreshes.set(refresh, granted);
    live.add(token).add(refresh);
    return {
      access_token: token,
      refresh_token: refresh,
      token_type: 'bearer',
      expires_in: LIFETIME_S,
      scope: granted.scopes.join(' '),
    };
  }

  const provider: OAuthServerProvider = {
    clientsStore: {
      getClient: (id) => clients.get(id),
      registerClient(client) {
        const registered = client as OAuthClientInformationFull;
        clients.set(registered.client_id, registered);
        return registered;
      },
    },
    async authorize({ client_id: clientId }, { state, scopes = [], codeChallenge, redirectUri, resource }, response) {
      const code = randomUUID();
      const { person } = settings;
      codes.set(code, { clientId, person, scopes, resource: resource?.href, challenge: codeChallenge, redirectUri });
      const back = new URL(redirectUri);
      back.searchParams.set('code', code);
      if (state !== undefined) back.searchParams.set('state', state);
      response.redirect(back.href);
    },
    async challengeForAuthorizationCode(_client, code) {
      const { challenge } = codes.get(code) ?? {};
      if (challenge === undefined) throw new InvalidGrantError('no such code');
      return challenge;
    },
    async exchangeAuthorizationCode(client, code, _verifier, redirectUri, resource) {
      const asked = codes.get(code);
      codes.delete(code);
      if (asked?.clientId !== client.client_id || asked.redirectUri !== redirectUri)
        throw new InvalidGrantError('no such code');
      if (asked.resource !== resource?.href) throw new InvalidGrantError('for another resource');
      return grant(asked);
    },
    async exchangeRefreshToken(client, refreshToken, _scopes, resource) {
      const before = refreshes.get(refreshToken);
      refreshes.delete(refreshToken);
      if (!live.delete(refreshToken) || before?.clientId !== client.client_id)
        throw new InvalidGrantError('no such token');
      if (before.resource !== resource?.href) throw new InvalidGrantError('for another resource');
      return grant(before);
    },
    async verifyAccessToken(token): Promise<AuthInfo> {
      const granted = access.get(token);
      if (granted === undefined || !live.has(token)) throw new InvalidTokenError('no such token');
      const { clientId, scopes, expiresAt, resource, person } = granted;
      return {
        token,
        clientId,
        scopes: [...scopes],
        expiresAt,
        ...(resource !== undefined && { resource: new URL(resource) }),
        extra: { person },
      };
    },
    async revokeToken(_client, { token }) {
      live.delete(token);
    },
  };
  const expire = (): void => {
    for (const [token, granted] of access) access.set(token, { ...granted, expiresAt: 1 });
  };
  return { provider, clients, live, expire };
}

type Use = (...handlers: unknown[]) => void;
type Called = IncomingMessage & { readonly body?: unknown; readonly auth?: AuthInfo };

export async function startMcpServer(): Promise<McpTestServer> {
  const authority = makeAuthority('mcp server');
  const { certificate, key } = authority.serving('127.0.0.1', ['127.0.0.1']);
  const app = createMcpExpressApp() as RequestListener & { use: Use; post: Use };
  const server = createServer({ cert: certificate, key }, app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [issuerUrl, resource] = [new URL(`https://${host}`), new URL(`https://${host}/mcp`)];
  const settings = { person: 'nobody' };
  const { provider, clients, live, expire } = makeProvider(settings);

  const noLimit = { rateLimit: false } as const;
  app.use(
    mcpAuthRouter({
      provider,
      issuerUrl,
      resourceServerUrl: resource,
      scopesSupported: ['notes:read'],
      authorizationOptions: noLimit,
      clientRegistrationOptions: noLimit,
      revocationOptions: noLimit,
      tokenOptions: noLimit,
    }),
  );
  const bearer = requireBearerAuth({
    verifier: {
      async verifyAccessToken(token) {
        const info = await provider.verifyAccessToken(token);
        if (info.resource?.href !== resource.href) throw new InvalidTokenError('for another server');
        return info;
      },
    },
    requiredScopes: ['notes:read'],
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
  });
  app.post('/mcp', bearer, async (request: Called, response: ServerResponse) => {
    const mcp = new McpServer({ name: 'notes', version: '1.0.0' });
    mcp.registerTool('who_am_i', { description: 'Says whose token it is.' }, ({ authInfo }) => ({
      content: [{ type: 'text', text: String(authInfo?.extra?.['person']) }],
    }));
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.once('close', () => void transport.close());
    await mcp.connect(transport as Parameters<typeof mcp.connect>[0]);
    await transport.handleRequest(request, response, request.body);
  });

  return {
    url: resource.href,
    host,
    ca: authority.certificate,
    clients,
    live,
    expire,
    get person() {
      return settings.person;
    },
    set person(name) {
      settings.person = name;
    },
    async whoAmI(token) {
      const dispatcher = new Agent({ connect: { ca: authority.certificate } });
      const client = new Client({ name: 'agent', version: '1.0.0' });
      const transport = new StreamableHTTPClientTransport(resource, {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
        fetch: ((url: string | URL, init?: object) =>
          fetch(url, { ...init, dispatcher } as Parameters<typeof fetch>[1])) as unknown as typeof globalThis.fetch,
      });
      try {
        await client.connect(transport as Parameters<typeof client.connect>[0]);
        const { content } = await client.callTool({ name: 'who_am_i' });
        return (content as readonly { readonly text: string }[]).map(({ text }) => text).join('');
      } finally {
        await client.close();
        await dispatcher.close();
      }
    },
    close: () => close(server),
  };
}
