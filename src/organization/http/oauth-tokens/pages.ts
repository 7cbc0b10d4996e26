// What a person's browser sees: the page of consent, and the page at the end. Neither takes a token; the link, the state and the
// browser's cookie lead to what is stored.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CodeHostFailed } from '../../../lib/errors.ts';
import { HttpError } from '../../../lib/http/http-error.ts';
import { asObject } from '../../../lib/json-value.ts';
import type { Logger } from '../../../lib/logger.ts';
import { providerIdOf } from '../../../schema/provider-id.ts';
import type { App } from '../../facade/validation.ts';
import { isBrowser, type OpenState } from '../../oauth/flow.ts';
import { digestOf } from '../../oauth/names.ts';
import type { OAuth } from '../../oauth/oauth.ts';
import { quirksOf } from '../../oauth/quirks.ts';
import { isRandomValue, randomValue } from '../../oauth/random.ts';
import { challengeOf, checkedCallback, GrantFailed, resourceOf } from '../../oauth/server.ts';
import { grantedScopes, missingScopes } from '../../oauth/token.ts';
import type { Access } from './access.ts';
import { consentPage, endPage, policyFor } from './html.ts';

const COOKIE = '__Host-davit-oauth';
const CALLBACK = '/v2/auth/callback';

interface PageNeeds {
  readonly access: Access;
  readonly log: Logger;
}

/** What the person reads at the end, and the status of the answer. */
interface End {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

const GONE: End = {
  status: 404,
  title: 'This link has ended',
  text: 'It was used already, or it is older than ten minutes. Ask the agent again for a new one.',
};
const OTHER_BROWSER: End = {
  status: 403,
  title: 'This is another browser',
  text: 'The sign-in began in another browser, or this one keeps no cookies. Nothing was stored. Open the link of the agent again in this browser.',
};

export function registerPages(app: App, needs: PageNeeds): void {
  // A scope of its own: forms are read here alone.
  void app.register(async (scope: FastifyInstance) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 64 * 1024 },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
    );
    registerConsent(scope, needs);
    registerCallback(scope, needs);
  });
}

const HIDDEN = { schema: { hide: true } };

function registerConsent(app: FastifyInstance, { access }: PageNeeds): void {
  const hidden = { ...HIDDEN, config: { hasSecretPath: true } };
  app.get('/v2/auth/consent/:auth_id', hidden, async (request, reply) => {
    const { oauth } = access.ready();
    const flow = await oauth.flows.find(authIdOf(request));
    if (!flow || flow.entry.about.tokenId !== undefined) return end(reply, GONE);
    // The same for all flows of the browser, which may run at once.
    const cookie = cookieOf(request) ?? randomValue();
    reply.header('set-cookie', `${COOKIE}=${cookie}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=3600`);
    // The answer to the form leads to the provider.
    return html(reply, consentPage(flow), policyFor(['self', new URL(flow.provider.spec.authUrl).origin]));
  });

  app.post('/v2/auth/consent/:auth_id', hidden, async (request, reply) => {
    const { oauth, publicUrl } = access.ready();
    const flow = await oauth.flows.find(authIdOf(request));
    if (!flow || flow.entry.about.tokenId !== undefined) return end(reply, GONE);
    const cookie = cookieOf(request);
    // Another site's form carries no such cookie.
    const isOwn = ['same-origin', undefined].includes(request.headers['sec-fetch-site'] as string | undefined);
    if (cookie === undefined || !isOwn) return end(reply, OTHER_BROWSER);
    const { spec } = flow.provider;
    // A public client proves itself by PKCE alone.
    const usesPkce = spec.usesPkce || spec.tokenEndpointAuthMethod === 'none';
    const verifier = usesPkce ? randomValue() : undefined;
    const redirectUri = `${publicUrl}${CALLBACK}/${providerIdOf(flow.provider)}`;
    const browser = digestOf(cookie);
    const state = await oauth.flows.addState(flow, {
      redirectUri,
      browser,
      ...(verifier !== undefined && { verifier }),
    });
    const url = new URL(spec.authUrl);
    const { scopes = { parameter: 'scope', separator: ' ' } } = quirksOf(flow.provider);
    const method = spec.codeChallengeMethod ?? 'S256';
    const parameters = {
      response_type: 'code',
      client_id: spec.clientId,
      redirect_uri: redirectUri,
      state,
      ...resourceOf(flow.provider),
      ...(flow.request.scopes.length > 0 && { [scopes.parameter]: flow.request.scopes.join(scopes.separator) }),
      ...(verifier !== undefined && {
        code_challenge: method === 'plain' ? verifier : await challengeOf(verifier),
        code_challenge_method: method,
      }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return reply.code(303).header('location', url.href).send();
  });
}

function authIdOf(request: FastifyRequest): string {
  return (request.params as { readonly auth_id: string }).auth_id;
}

function registerCallback(app: FastifyInstance, { access, log }: PageNeeds): void {
  for (const path of [`${CALLBACK}/:provider_id`, '/host-oauth-callback/:provider_id']) {
    app.get(path, HIDDEN, async (request, reply) => {
      const { oauth } = access.ready();
      const { provider_id: provider } = request.params as { readonly provider_id: string };
      const parameters = new URL(request.url, 'https://davit.invalid').searchParams;
      return end(reply, await received(oauth, { provider, parameters, cookie: cookieOf(request) }, log));
    });
    // A form of another site carries no cookie of SameSite=Lax; the redirect to a GET does.
    app.post(path, HIDDEN, async (request, reply) => {
      const { provider_id: provider } = request.params as { readonly provider_id: string };
      const sent = Object.entries(asObject(request.body)).filter(([, value]) => typeof value === 'string');
      const fields = new URLSearchParams(sent as [string, string][]);
      const { publicUrl } = access.ready();
      return reply
        .code(303)
        .header('location', `${publicUrl}${CALLBACK}/${encodeURIComponent(provider)}?${fields.toString()}`)
        .send();
    });
  }
}

interface Received {
  readonly provider: string;
  readonly parameters: URLSearchParams;
  readonly cookie: string | undefined;
}

/** The state is taken first: whatever is wrong with the rest, it counts once. */
async function received(oauth: OAuth, { provider, parameters, cookie }: Received, log: Logger): Promise<End> {
  const state = parameters.get('state') ?? '';
  const taken = await oauth.flows.takeState(state);
  if (taken?.subject.provider !== provider) return GONE;
  if (!isBrowser(cookie, taken)) return OTHER_BROWSER;
  try {
    return await finished(oauth, taken, parameters, state);
  } catch (error) {
    const isExpected = error instanceof GrantFailed || error instanceof CodeHostFailed || error instanceof HttpError;
    if (!isExpected) throw error;
    log.warn({ provider, reason: error.message }, 'An authorization failed');
    const text = `${error.message} Nothing was stored. Open the link of the agent again, or tell your administrator.`;
    return { status: 502, title: 'The provider gave no access', text };
  }
}

async function finished(oauth: OAuth, taken: OpenState, parameters: URLSearchParams, state: string): Promise<End> {
  const { subject, provider, request, flow, verifier, redirectUri } = taken;
  const checked = checkedCallback(provider, parameters, state);
  if ('error' in checked) {
    await oauth.flows.drop(flow);
    const text = `${provider.spec.name} answered ${checked.error}. The agent gets no access.`;
    return { status: 200, title: 'Access was refused', text };
  }
  const grant = await oauth.server.exchange(await oauth.clientOf(provider), checked.callback, {
    redirectUri,
    verifier,
  });
  const { id } = await oauth.keep(subject, provider, request, grant);
  await oauth.flows.finish(flow, id);
  const missing = missingScopes(
    request.scopes,
    { ...grant, scopes: grantedScopes(grant.scope, request.scopes) },
    quirksOf(provider),
  );
  if (missing.length > 0) {
    const text = `${provider.spec.name} is connected, but has not given: ${missing.join(', ')}. The agent gets no access until it has what it asked for. Ask it again, and allow all of it.`;
    return { status: 200, title: 'Connected with fewer permissions', text };
  }
  return { status: 200, title: 'Connected', text: `${provider.spec.name} is connected. You may close this page.` };
}

function cookieOf({ headers }: FastifyRequest): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const value = pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
  return value !== undefined && isRandomValue(value) ? value : undefined;
}

function end(reply: FastifyReply, { status, title, text }: End): FastifyReply {
  return html(reply.code(status), endPage(title, text), policyFor([]));
}

function html(reply: FastifyReply, text: string, policy: string): FastifyReply {
  return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(text);
}
