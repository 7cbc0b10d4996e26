// The routes of tokens for agents: /v2/auth/authenticate, wait, tokens and agents' connections. People's pages are in pages.ts.

import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { failures } from '../../../api/openapi.ts';
import { noteHeld } from '../../../api/request-log.ts';
import type { App } from '../../../api/validation.ts';
import type { OAuthProvider } from '../../../kinds/oauth-provider.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { Asking, Outcome } from '../../oauth/broker.ts';
import type { OAuth } from '../../oauth/oauth.ts';
import { GrantFailed } from '../../oauth/server.ts';
import { type Access, makeAccess, type TokenNeeds } from './access.ts';
import { registerConfirm } from './confirm.ts';
import { registerConnections } from './connections.ts';
import { registerDiscovery } from './discovery.ts';
import { registerPages } from './pages.ts';
import {
  Authenticate,
  Authenticated,
  HasToken,
  OwnerQuery,
  PatchMetadata,
  ProviderQuery,
  TokenEvents,
  TokenEventsQuery,
  TokenInfo,
  TokenPath,
  TokensDeleted,
  TokensQuery,
  Waited,
  WaitPath,
  WaitQuery,
} from './payloads.ts';
import { presentToken } from './presenter.ts';

const TAGS = ['tokens'];

export function registerTokens(app: App, context: TokenNeeds): void {
  const { auth, oauth, settings } = context;
  const access = makeAccess(auth, oauth, settings.http.publicUrl);
  registerAuthenticate(app, context, access);
  registerConfirm(app, context, access);
  registerTokenLists(app, context, access);
  registerTokenEvents(app, context, access);
  registerSingleTokens(app, context, access);
  registerConnections(app, context, access);
  registerDiscovery(app, context, access);
  registerPages(app, { access, log: context.log });
}

function registerAuthenticate(app: App, { auth }: TokenNeeds, access: Access): void {
  app.post('/v2/auth/authenticate', {
    onRequest: auth.asCaller,
    config: { isForAgents: true },
    schema: {
      tags: TAGS,
      operationId: 'authenticate',
      summary: "Get a person's token, or the page on which the person consents",
      body: Authenticate,
      response: { 200: Authenticated, ...failures(400, 401, 403, 404, 413, 415, 422, 424, 502, 504) },
    },
    handler: async (request) => {
      const { oauth, publicUrl } = access.ready();
      const { provider: id, user_id: user, ...body } = request.body;
      const person = await access.person(request, { user: user ?? undefined, provider: id });
      const asking: Asking = {
        ...person,
        requester: access.requester(request),
        scopes: body.scopes,
        agentId: body.agent_id ?? undefined,
        tokenId: body.token_id?.toLowerCase(),
        forceNew: body.force_new ?? false,
        isDefault: body.is_default ?? true,
      };
      const provider = providerOf(oauth, id);
      const outcome = await answered(() => oauth.authenticate(asking, provider));
      if (outcome.status !== 'completed') {
        // Before a link is given that could not lead to an end.
        oauth.verifierOf(person.tenant.namespace);
        await oauth.clientOf(provider);
      }
      return present(outcome, person.user, publicUrl);
    },
  });

  app.get('/v2/auth/wait/:auth_id', {
    onRequest: auth.asCaller,
    config: { timeLimitMs: 310_000, hasSecretPath: true, isForAgents: true },
    schema: {
      tags: TAGS,
      operationId: 'waitForAuthentication',
      summary: 'Wait until a person has consented',
      params: WaitPath,
      querystring: WaitQuery,
      response: { 200: Waited, ...failures(401, 403, 422, 424, 502, 504) },
    },
    handler: async (request, reply) => {
      const { oauth } = access.ready();
      const flow = await access.flow(request, request.params.auth_id);
      if (flow === undefined) return { status: 'not_found' as const, token: null };
      const begun = performance.now();
      const waited = await answered(() => oauth.wait(flow, request.query.timeout * 1000, closedOf(reply)));
      noteHeld(request, performance.now() - begun);
      return { status: waited.status, token: waited.status === 'completed' ? waited.token : null };
    },
  });
}

function registerTokenLists(app: App, { auth }: TokenNeeds, access: Access): void {
  app.get('/v2/auth/tokens', {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'listOAuthTokens',
      summary: "List a person's tokens, without their values",
      querystring: TokensQuery,
      response: { 200: z.array(TokenInfo), ...failures(401, 403, 422, 424) },
    },
    handler: async (request) => {
      const { provider_id: provider, user_id: user } = request.query;
      const all = await access.ready().oauth.list(await access.person(request, { user, provider }));
      return all.filter(({ subject }) => provider === undefined || subject.provider === provider).map(presentToken);
    },
  });

  app.get('/v2/auth/tokens/exists', {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'hasOAuthToken',
      summary: 'Whether a person has a token of a provider',
      querystring: ProviderQuery,
      response: { 200: HasToken, ...failures(401, 403, 422, 424) },
    },
    handler: async (request) => {
      const { provider_id: provider, user_id: user } = request.query;
      const all = await access.ready().oauth.list(await access.person(request, { user, provider }));
      return { has_token: all.some(({ subject }) => subject.provider === provider) };
    },
  });

  app.delete('/v2/auth/tokens', {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'deleteOAuthTokens',
      summary: "Revoke and delete a person's tokens of a provider",
      querystring: ProviderQuery,
      response: { 200: TokensDeleted, ...failures(401, 403, 422, 424, 502, 504) },
    },
    handler: async (request) => {
      const { oauth } = access.ready();
      const { provider_id: provider, user_id: user } = request.query;
      const person = await access.person(request, { user, provider });
      const requester = access.requester(request);
      const own = (await oauth.list(person)).filter(({ subject }) => subject.provider === provider);
      for (const { id } of own) {
        // A list has no values.
        const entry = await oauth.find(person, id);
        if (entry) await answered(() => oauth.end(entry, requester));
      }
      const [tokens, were] = own.length === 1 ? ['1 token', 'was'] : [`${own.length} tokens`, 'were'];
      return { message: `${tokens} of "${person.user}" ${were} deleted.`, provider_id: provider };
    },
  });
}

function registerTokenEvents(app: App, { auth }: TokenNeeds, access: Access): void {
  app.get('/v2/auth/token-events', {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'listTokenEvents',
      summary: "List the events of people's tokens in a tenant, newest first",
      querystring: TokenEventsQuery,
      response: { 200: TokenEvents, ...failures(401, 403, 422, 424) },
    },
    handler: async (request) => {
      const { provider_id: provider, user_id: user, token_id: token } = request.query;
      const { tenant } = await access.person(request, { user: user ?? '', provider });
      const all = await access.ready().oauth.events({ tenant: tenant.namespace, tenantId: tenant.id });
      return all
        .filter((event) => provider === undefined || event.provider_id === provider)
        .filter((event) => user === undefined || event.user_id === user)
        .filter((event) => token === undefined || event.token_id === token.toLowerCase());
    },
  });
}

function registerSingleTokens(app: App, { auth }: TokenNeeds, access: Access): void {
  app.patch('/v2/auth/tokens/:token_id/metadata', {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'patchOAuthTokenMetadata',
      summary: "Replace a token's metadata",
      params: TokenPath,
      querystring: OwnerQuery,
      body: PatchMetadata,
      response: { 200: TokenInfo, ...failures(400, 401, 403, 404, 413, 415, 422, 424) },
    },
    handler: async (request) => {
      const { oauth } = access.ready();
      const entry = await access.tokenToDescribe(request, request.query.user_id, request.params.token_id);
      const changed = await oauth.tokens.describe(entry.id, request.body.metadata);
      if (changed === undefined) throw new HttpError(404, `Token ID ${entry.id} not found.`);
      return presentToken(changed);
    },
  });

  app.delete('/v2/auth/tokens/:token_id', {
    onRequest: auth.asCaller,
    schema: {
      tags: TAGS,
      operationId: 'deleteOAuthToken',
      summary: 'Revoke and delete a token',
      params: TokenPath,
      querystring: OwnerQuery,
      response: { 204: z.undefined().describe('Deleted.'), ...failures(401, 403, 404, 422, 424, 502, 504) },
    },
    handler: async (request, reply) => {
      const { oauth } = access.ready();
      const { entry } = await access.token(request, request.query.user_id, request.params.token_id);
      await answered(() => oauth.end(entry, access.requester(request)));
      return reply.code(204).send();
    },
  });
}

function providerOf(oauth: OAuth, id: string): OAuthProvider {
  const provider = oauth.provider(id);
  if (provider === undefined) throw new HttpError(404, `OAuth provider "${id}" not found.`);
  return provider;
}

/** A refusal of the OAuth server is the provider's, not the caller's. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof GrantFailed ? new HttpError(502, error.message) : error;
  }
}

function present(outcome: Outcome, user: string, publicUrl: string): Authenticated {
  if (outcome.status === 'completed') {
    const { token, entry } = outcome;
    const { id, about } = entry;
    const { metadata } = about;
    return { status: 'completed', url: null, auth_id: null, token, token_id: id, user_id: user, metadata };
  }
  const { authId } = outcome.flow;
  const url = `${publicUrl}/v2/auth/consent/${authId}`;
  return { status: outcome.status, url, auth_id: authId, token: null, token_id: null, user_id: user, metadata: null };
}

function closedOf(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once('close', () => closed.abort());
  return closed.signal;
}
