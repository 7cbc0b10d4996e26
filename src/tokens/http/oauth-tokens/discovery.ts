// POST /v2/auth/providers/mcp-discover: a provider of an MCP server's own OAuth server.

import { failures } from '../../../api/openapi.ts';
import type { App } from '../../../api/validation.ts';
import { OAUTH_PROVIDERS } from '../../../kinds/oauth-provider.ts';
import { providerNameFor } from '../../../kinds/provider-id.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Discovered, Planned } from '../../oauth/discovery.ts';
import type { OAuth } from '../../oauth/oauth.ts';
import { GrantFailed } from '../../oauth/server.ts';
import { notFound, taken } from '../oauth-providers/change.ts';
import { type CreateProvider, McpDiscover, OAuthProviderResponse, ProviderPath } from '../oauth-providers/payloads.ts';
import { makeProviders } from '../oauth-providers/repository.ts';
import { presenterOf } from '../oauth-providers/routes.ts';
import type { Access, TokenNeeds } from './access.ts';

const CLIENT_METADATA = '/v2/auth/clients';
/** In place of the id and the secret of a client, while the rest of a provider is judged. */
const UNREGISTERED = 'unregistered';

export function registerDiscovery(app: App, context: TokenNeeds, access: Access): void {
  const { auth, caches, secrets } = context;
  const providers = makeProviders(context);
  const present = presenterOf(context);
  registerClientMetadata(app, access);

  app.post('/v2/auth/providers/mcp-discover', {
    onRequest: auth.inOrganization('create', OAUTH_PROVIDERS),
    schema: {
      tags: ['providers'],
      operationId: 'discoverMcpProvider',
      summary: 'Create an OAuth provider for an MCP server: its OAuth server is found, and a client registered there',
      body: McpDiscover,
      response: { 200: OAuthProviderResponse, ...failures(400, 401, 403, 409, 413, 415, 422, 424, 502, 504) },
    },
    handler: async (request) => {
      const { oauth, publicUrl } = access.ready();
      const { provider_id: id, name, mcp_server_url: mcpServerUrl } = request.body;
      // Before a client is registered that no provider would name.
      if (caches.providers.get({ namespace: secrets.namespace, name: providerNameFor(id) })) throw taken(id);
      const caller = auth.callerOf(request);
      const redirectUri = `${publicUrl}/v2/auth/callback/${id}`;
      const clientName = `Davit: ${name}`;
      const metadataUrl = `${publicUrl}${CLIENT_METADATA}/${id}`;
      const payloadOf = (found: Omit<Discovered, 'registration'>): CreateProvider => ({
        provider_id: id,
        name,
        client_id: found.clientId,
        client_secret: found.secret,
        auth_url: found.authUrl,
        token_url: found.tokenUrl,
        issuer: found.issuer,
        revocation_url: found.revocationUrl,
        uses_pkce: true,
        mcp_server_url: mcpServerUrl,
        token_endpoint_auth_method: found.tokenEndpointAuthMethod,
      });
      const judge = (planned: Planned): Promise<void> => {
        const secret = planned.tokenEndpointAuthMethod === 'none' ? undefined : UNREGISTERED;
        return providers.judge(caller, payloadOf({ ...planned, clientId: UNREGISTERED, secret }));
      };
      const found = await oauth.discover({ mcpServerUrl, redirectUri, clientName, metadataUrl, judge }).catch(refused);
      const isDynamicClient = found.clientId !== metadataUrl;
      const takeBack = async (): Promise<void> => {
        if (isDynamicClient) await withoutClient(oauth, found, context.log);
      };
      const created = await providers.create(caller, payloadOf(found), { isDynamicClient }).catch(async (error) => {
        await takeBack();
        throw error;
      });
      if (found.registration)
        await oauth.clients.keep(created, found.registration).catch(async (error) => {
          // Where the provider stays, its client has to.
          await providers.remove(caller, id).then(takeBack, () => undefined);
          throw error;
        });
      return present(created);
    },
  });
}

/**
 * The metadata of the client of a provider, whose address is its client id: whoever reads it learns where answers may be sent, and nothing
 * secret. Only for providers that have this client id.
 */
function registerClientMetadata(app: App, access: Access): void {
  app.get(
    `${CLIENT_METADATA}/:provider_id`,
    { schema: { hide: true, params: ProviderPath } },
    async (request, reply) => {
      const { oauth, publicUrl } = access.ready();
      const { provider_id: id } = request.params;
      const provider = oauth.provider(id);
      const clientId = `${publicUrl}${CLIENT_METADATA}/${id}`;
      if (provider?.spec.clientId !== clientId) throw notFound(id);
      return reply.header('cache-control', 'public, max-age=300').send({
        client_id: clientId,
        client_name: `Davit: ${provider.spec.name}`,
        redirect_uris: [`${publicUrl}/v2/auth/callback/${id}`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      });
    },
  );
}

/** Deletes a client that no provider names, where the server has said how. */
async function withoutClient(
  { server }: Pick<OAuth, 'server'>,
  { clientId, registration }: Pick<Discovered, 'clientId' | 'registration'>,
  log: Logger,
): Promise<void> {
  try {
    if (registration === undefined) throw new Error('The OAuth server does not support the deletion of clients.');
    await server.unregister(registration.uri, registration.token);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ clientId, reason }, 'An unused client remains at its OAuth server');
  }
}

function refused(error: unknown): never {
  throw error instanceof GrantFailed ? new HttpError(424, error.message) : error;
}
