// What a person's browser sees: the page of consent, and the page at the end. Neither takes a token; the link, the state and the
// browser's cookie lead to what is stored.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from '../../../api/errors.ts';
import type { App } from '../../../api/validation.ts';
import { providerIdOf } from '../../../kinds/provider-id.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { isBrowser } from '../../oauth/flow.ts';
import { digestOf } from '../../oauth/names.ts';
import type { OAuth } from '../../oauth/oauth.ts';
import { quirksOf } from '../../oauth/quirks.ts';
import { isRandomValue, randomValue } from '../../oauth/random.ts';
import { challengeOf, resourceOf } from '../../oauth/server.ts';
import type { Access } from './access.ts';
import { CONFIRMED } from './confirm.ts';
import { type End, endingOf, REFUSED, refusalOf, told } from './ending.ts';
import { confirmPage, consentPage, endPage, policyFor, REFUSE } from './html.ts';

const COOKIE = '__Host-davit-oauth';
const CALLBACK = '/v2/auth/callback';

interface PageNeeds {
  readonly access: Access;
  readonly log: Logger;
}

const GONE: End = {
  status: 404,
  title: 'This link no longer works',
  text: 'It has been used, or is more than ten minutes old. Ask the agent for a new one.',
};
const OTHER_BROWSER: End = {
  status: 403,
  title: 'This is another browser',
  text: "The sign-in started in another browser, or this browser blocks cookies. Nothing was stored. Open the agent's link again in this browser.",
};

const LARGEST_FORM_KIB = 64;
const NO_FORM = `Send a form (application/x-www-form-urlencoded) of at most ${LARGEST_FORM_KIB} KiB.`;

export function registerPages(app: App, needs: PageNeeds): void {
  // A scope of its own: strangers send these requests, so a body is a short form, and the handler parses it after its checks.
  void app.register(async (scope: FastifyInstance) => {
    scope.removeAllContentTypeParsers();
    const asText = { parseAs: 'string', bodyLimit: LARGEST_FORM_KIB * 1024 } as const;
    scope.addContentTypeParser('application/x-www-form-urlencoded', asText, (_request, body, done) => done(null, body));
    scope.setErrorHandler<{ statusCode?: number }>((error, request, reply) => {
      const { statusCode: status } = error;
      const isForm = status !== 413 && status !== 415;
      answerError(isForm ? error : new HttpError(status, NO_FORM), request, reply);
    });
    registerConsent(scope, needs);
    registerCallback(scope, needs);
    registerConfirmed(scope, needs);
  });
}

const HIDDEN = { schema: { hide: true } };

/** Each link has a limit of its own, which strangers with the same address cannot use up. */
function linkOf({ ready }: Access): (request: FastifyRequest) => Promise<string | undefined> {
  return async ({ params, query }) => {
    const { auth_id: authId, name } = params as Readonly<Record<string, string | undefined>>;
    const { state } = query as { readonly state?: unknown };
    const link = await ready().oauth.flows.linkOf(authId ?? name ?? String(state));
    return link && `link ${link}`;
  };
}

function registerConsent(app: FastifyInstance, { access }: PageNeeds): void {
  const hidden = { ...HIDDEN, config: { hasSecretPath: true, credentialOf: linkOf(access) } };
  app.get('/v2/auth/consent/:auth_id', hidden, async (request, reply) => {
    const { oauth } = access.ready();
    const flow = await oauth.flows.find(authIdOf(request));
    if (!flow || flow.entry.about.tokenId !== undefined) return end(reply, GONE);
    // The same for all flows of the browser, which may run at once.
    const cookie = cookieOf(request) ?? randomValue();
    reply.header('set-cookie', `${COOKIE}=${cookie}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=3600`);
    // The answer to the form leads to the provider.
    const verifier = oauth.verifierOf(flow.entry.subject.tenant)?.url;
    return html(reply, consentPage(flow, verifier), policyFor(['self', new URL(flow.provider.spec.authUrl).origin]));
  });

  app.post('/v2/auth/consent/:auth_id', hidden, async (request, reply) => {
    const { oauth, publicUrl } = access.ready();
    const flow = await oauth.flows.find(authIdOf(request));
    if (!flow || flow.entry.about.tokenId !== undefined) return end(reply, GONE);
    const cookie = cookieOf(request);
    // Another site's form carries no such cookie.
    const isOwn = ['same-origin', undefined].includes(request.headers['sec-fetch-site'] as string | undefined);
    if (cookie === undefined || !isOwn) return end(reply, OTHER_BROWSER);
    if (new URL(request.url, 'https://davit.invalid').searchParams.has(REFUSE)) {
      await oauth.flows.drop(flow.entry.id);
      return end(reply, { ...REFUSED, text: 'You refused. The agent gets no access.' });
    }
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
    app.get(path, { ...HIDDEN, config: { credentialOf: linkOf(access) } }, async (request, reply) => {
      const { oauth } = access.ready();
      const { provider_id: provider } = request.params as { readonly provider_id: string };
      const parameters = new URL(request.url, 'https://davit.invalid').searchParams;
      const next = await received(oauth, { provider, parameters, cookie: cookieOf(request) }, log);
      return next instanceof URL ? html(reply, confirmPage(next), policyFor([])) : end(reply, next);
    });
    // A form of another site carries no cookie of SameSite=Lax; the redirect to a GET does.
    app.post(path, HIDDEN, async (request, reply) => {
      const { provider_id: provider } = request.params as { readonly provider_id: string };
      const { publicUrl } = access.ready();
      const fields = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
      return reply
        .code(303)
        .header('location', `${publicUrl}${CALLBACK}/${encodeURIComponent(provider)}?${fields.toString()}`)
        .send();
    });
  }
}

/** The tenant's page has said who sits there, and leads the browser back: the same one, or somebody has consented for another. */
function registerConfirmed(app: FastifyInstance, { access, log }: PageNeeds): void {
  const hidden = { ...HIDDEN, config: { hasSecretPath: true, credentialOf: linkOf(access) } };
  app.get(`${CONFIRMED}/:name`, hidden, async (request, reply) => {
    const { oauth } = access.ready();
    const { name } = request.params as { readonly name: string };
    const taken = await oauth.flows.findConfirmation(name, 'confirmed');
    if (!taken || !(await oauth.flows.takeConfirmation(taken))) return end(reply, GONE);
    if (!isBrowser(cookieOf(request), taken)) return end(reply, OTHER_BROWSER);
    if (!(await oauth.flows.isOpen(taken.flow))) return end(reply, GONE);
    return end(reply, await endingOf(oauth, { taken, parameters: new URLSearchParams(taken.answer) }, log));
  });
}

interface Received {
  readonly provider: string;
  readonly parameters: URLSearchParams;
  readonly cookie: string | undefined;
}

/** The state is taken first: whatever is wrong with the rest, it counts once. A URL is that of the page that confirms the person. */
async function received(oauth: OAuth, { provider, parameters, cookie }: Received, log: Logger): Promise<End | URL> {
  const taken = await oauth.flows.takeState(parameters.get('state') ?? '');
  if (taken?.subject.provider !== provider) return GONE;
  if (!isBrowser(cookie, taken)) return OTHER_BROWSER;
  // Another browser may have ended it, or another person was confirmed.
  if (!(await oauth.flows.isOpen(taken.flow))) return GONE;
  const returned = { taken, parameters };
  const verifier = await told(taken, log, async () =>
    refusalOf(returned) === undefined ? oauth.verifierOf(taken.subject.tenant) : undefined,
  );
  if (verifier === undefined) return endingOf(oauth, returned, log);
  if (!('url' in verifier)) return verifier;
  // Only this browser learns the name.
  verifier.url.searchParams.set('confirmation', await oauth.flows.addConfirmation(taken, parameters.toString()));
  return verifier.url;
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
