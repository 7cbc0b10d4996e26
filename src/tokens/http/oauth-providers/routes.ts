// The routes of /v2/auth/providers.

import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FacadeContext } from '../../../api/collection.ts';
import { addWarnings } from '../../../api/field-validation.ts';
import { failures } from '../../../api/openapi.ts';
import { NoParameters } from '../../../api/payload-fields.ts';
import type { App } from '../../../api/validation.ts';
import { OAUTH_PROVIDERS, type OAuthProvider, refusedHosts } from '../../../kinds/oauth-provider.ts';
import { providerIdOf } from '../../../kinds/provider-id.ts';
import type { Store } from '../../../runtime/controller/store.ts';
import { Unavailable } from '../../../runtime/errors.ts';
import { snake } from '../../../runtime/http/casing.ts';
import type { FieldError } from '../../../runtime/http/http-error.ts';
import { createdAt, writtenAt } from '../../../runtime/kube/write-times.ts';
import { methodInForce } from './patch.ts';
import { CreateProvider, OAuthProviderResponse, PatchProvider, ProviderDeleted, ProviderPath } from './payloads.ts';
import { makeProviders } from './repository.ts';

export function registerProviders(app: App, context: FacadeContext): void {
  const { auth } = context;
  const providers = makeProviders(context);
  const tags = ['providers'];
  const path = '/v2/auth/providers';
  const present = presenterOf(context);
  const shown = (request: FastifyRequest, provider: OAuthProvider): OAuthProviderResponse => {
    addWarnings(request, hostWarnings(provider, context.settings));
    return present(provider);
  };

  app.get(path, {
    onRequest: auth.inOrganization('list', OAUTH_PROVIDERS),
    schema: {
      tags,
      operationId: 'listOAuthProviders',
      summary: 'List OAuth providers',
      querystring: NoParameters,
      response: { 200: z.array(OAuthProviderResponse), ...failures(401, 403, 422) },
    },
    handler: async () => providers.list().map(present),
  });

  app.post(path, {
    onRequest: auth.inOrganization('create', OAUTH_PROVIDERS),
    schema: {
      tags,
      operationId: 'createOAuthProvider',
      summary: 'Create an OAuth provider',
      body: CreateProvider,
      response: { 200: OAuthProviderResponse, ...failures(400, 401, 403, 409, 413, 415, 422) },
    },
    handler: async (request) => shown(request, await providers.create(auth.callerOf(request), request.body)),
  });

  app.get(`${path}/:provider_id`, {
    onRequest: auth.inOrganization('get', OAUTH_PROVIDERS),
    schema: {
      tags,
      operationId: 'getOAuthProvider',
      summary: 'Get an OAuth provider',
      params: ProviderPath,
      response: { 200: OAuthProviderResponse, ...failures(401, 403, 404) },
    },
    handler: async (request) => present(await providers.find(auth.callerOf(request), request.params.provider_id)),
  });

  app.patch(`${path}/:provider_id`, {
    onRequest: auth.inOrganization('patch', OAUTH_PROVIDERS),
    schema: {
      tags,
      operationId: 'patchOAuthProvider',
      summary: 'Change an OAuth provider',
      params: ProviderPath,
      body: PatchProvider,
      response: { 200: OAuthProviderResponse, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request) =>
      shown(request, await providers.patch(auth.callerOf(request), request.params.provider_id, request.body)),
  });

  app.delete(`${path}/:provider_id`, {
    onRequest: auth.inOrganization('delete', OAUTH_PROVIDERS),
    schema: {
      tags,
      operationId: 'deleteOAuthProvider',
      summary: 'Delete an OAuth provider and its client secret',
      params: ProviderPath,
      response: { 200: ProviderDeleted, ...failures(401, 403, 404) },
    },
    handler: async (request) => {
      const { provider_id: id } = request.params;
      await providers.remove(auth.callerOf(request), id);
      return { message: `OAuth provider "${id}" was deleted.` };
    },
  });
}

function hostWarnings({ spec }: OAuthProvider, { oauth }: FacadeContext['settings']): FieldError[] {
  return refusedHosts(spec, oauth).map(({ field, message: msg }) => ({
    loc: ['body', snake(field)],
    msg,
    type: 'value_error',
  }));
}

/** Presents a provider with the id of the organization. */
export function presenterOf({
  caches,
  secrets,
}: Pick<FacadeContext, 'caches' | 'secrets'>): (provider: OAuthProvider) => OAuthProviderResponse {
  return (provider) => presentProvider(provider, uidOf(secrets.namespace, caches.tenants));
}

function uidOf(namespace: string, namespaces: Store): string {
  const uid = namespaces.get({ name: namespace })?.metadata.uid;
  if (uid === undefined)
    throw new Unavailable(`read namespace ${namespace}: it does not exist`, { retryAfterMs: 1000 });
  return uid;
}

function presentProvider(provider: OAuthProvider, organizationId: string): OAuthProviderResponse {
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
