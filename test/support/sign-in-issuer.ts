// The cluster's OpenID Connect issuer on loopback, with TLS: oidc-provider with one public client, and a page on which a person says who she
// is, or refuses.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Provider from 'oidc-provider';
import { makeAuthority } from '../cluster/certificates.ts';
import { answering, close } from './http-servers.ts';

export interface SignInIssuer {
  readonly issuer: string;
  /** PEM. */
  readonly ca: string;
  /** Seconds for which ID tokens are valid. */
  lifetime: number;
  /** Whether it gives refresh tokens. */
  isRefreshing: boolean;
  /** Takes over one request; false leaves it to the issuer. */
  fault: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Grants that it gave or refused, in order: `refresh_token`, `refresh_token refused`. */
  readonly grants: string[];
  /** Method, path and query of each request. */
  readonly seen: string[];
  /** Every ID token, refresh token and access token that it gave. */
  readonly given: Set<string>;
  close(): Promise<void>;
}

/** Group of everybody but eve. */
export const GROUP = 'team-people';

/** `redirectUri` is the page; its origin may ask for tokens. */
export async function startSignInIssuer(clientId: string, redirectUri: string): Promise<SignInIssuer> {
  const authority = makeAuthority('issuer');
  const { certificate, key } = authority.serving('127.0.0.1', ['127.0.0.1']);
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const http = createServer({ cert: certificate, key }, (request, response) => handle(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: SignInIssuer = {
    issuer: `https://127.0.0.1:${(http.address() as AddressInfo).port}`,
    ca: authority.certificate,
    lifetime: 3600,
    isRefreshing: false,
    fault: undefined,
    grants: [],
    seen: [],
    given: new Set(),
    close: () => close(http),
  };
  const provider = new Provider(server.issuer, configuration(server, clientId, redirectUri));
  const note =
    (suffix: string) => (context: { readonly oidc: { readonly params?: { readonly grant_type?: string } } }) =>
      void server.grants.push(`${context.oidc.params?.grant_type}${suffix}`);
  provider.on('grant.success', (context) => {
    note('')(context);
    const { body } = context as unknown as { readonly body: Readonly<Record<string, unknown>> };
    for (const kind of ['id_token', 'access_token', 'refresh_token']) {
      const token = body[kind];
      if (typeof token === 'string') server.given.add(token);
    }
  });
  provider.on('grant.error', note(' refused'));
  const answer = provider.callback();
  handle = (request, response) => {
    server.seen.push(`${request.method} ${request.url}`);
    if (server.fault?.(request, response) === true) return;
    if (request.url?.startsWith('/interaction/') === true)
      void answering(response, () => interact(provider, request, response));
    else answer(request, response);
  };
  return server;
}

function configuration(server: SignInIssuer, clientId: string, redirectUri: string): object {
  const { origin } = new URL(redirectUri);
  return {
    clients: [
      {
        client_id: clientId,
        token_endpoint_auth_method: 'none',
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'], email: ['email', 'email_verified'] },
    // What the API server reads is in the ID token.
    conformIdTokenClaims: false,
    clientBasedCORS: (_context: unknown, asking: string) => asking === origin,
    cookies: { keys: ['of a test'] },
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        preferred_username: accountId,
        email: `${accountId}@example.com`,
        email_verified: true,
        groups: accountId === 'eve' ? [] : [GROUP],
      }),
    }),
    issueRefreshToken: () => server.isRefreshing,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 3600,
      IdToken: () => server.lifetime,
      RefreshToken: 86_400,
      Grant: 86_400,
      Session: 3600,
      Interaction: 600,
    },
  };
}

async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'consent') {
    const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: params.client_id });
    grant.addOIDCScope(params.scope ?? '');
    await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
    return;
  }
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(`<!doctype html><html lang="en"><title>Example ID</title><h1>Example ID</h1>
<form method="post"><label>User <input name="user" autofocus></label>
<button name="how" value="in">Log in</button> <button name="how" value="refuse">Refuse</button></form>`);
    return;
  }
  const form = new URLSearchParams(await text(request));
  const result =
    form.get('how') === 'in'
      ? { login: { accountId: form.get('user') ?? '' } }
      : { error: 'access_denied', error_description: 'The person refused' };
  await provider.interactionFinished(request, response, result);
}
