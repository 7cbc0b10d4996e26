// POST /v2/auth/providers/mcp-discover: a provider of an MCP server's own OAuth server.

import { HttpError } from '../../../lib/http/http-error.ts';
import { OAUTH_PROVIDERS } from '../../../schema/oauth-provider.ts';
import { providerNameFor } from '../../../schema/provider-id.ts';
import { failures } from '../../facade/openapi.ts';
import type { App } from '../../facade/validation.ts';
import { GrantFailed } from '../../oauth/server.ts';
import { notFound, taken } from '../oauth-providers/change.ts';
import { McpDiscover, OAuthProviderResponse, ProviderPath } from '../oauth-providers/payloads.ts';
import { makeProviders } from '../oauth-providers/repository.ts';
import { presenterOf } from '../oauth-providers/routes.ts';
import type { Access, TokenNeeds } from './access.ts';

const CLIENT_METADATA = '/v2/auth/clients';

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
      const redirectUri = `${publicUrl}/v2/auth/callback/${id}`;
      const clientName = `Davit: ${name}`;
      const metadataUrl = `${publicUrl}${CLIENT_METADATA}/${id}`;
      const found = await oauth.discover({ mcpServerUrl, redirectUri, clientName, metadataUrl }).catch(refused);
      const payload = {
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
      };
      const created = await providers.create(auth.callerOf(request), payload, {
        isDynamicClient: found.clientId !== metadataUrl,
      });
      if (found.registration) await oauth.clients.keep(created, found.registration);
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

function refused(error: unknown): never {
  throw error instanceof GrantFailed ? new HttpError(424, error.message) : error;
}
