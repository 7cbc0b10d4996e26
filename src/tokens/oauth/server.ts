// Requests to OAuth servers, by oauth4webapi over the guarded fetch: listed hosts, one deadline, and no redirect of a POST. Its errors
// carry responses with tokens, so none of them leaves this file.

import * as oauth from 'oauth4webapi';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { CodeHostFailed } from '../../runtime/errors.ts';
import { isObject, jsonOf } from '../../runtime/json-value.ts';
import type { GuardedFetch } from '../../runtime/outbound/guarded-fetch.ts';
import { metadataOf, type Quirks, quirksOf, standardAnswer } from './quirks.ts';
import type { TokenValues } from './token.ts';

/** Less than the 5 s for which published clients wait. */
export const DEADLINE_MS = 4000;

/** A provider with its client secret, which a public client does not have. */
export interface Client {
  readonly provider: OAuthProvider;
  readonly secret: string | undefined;
}

export interface Grant extends TokenValues {
  readonly scope: string | undefined;
  /** Seconds. */
  readonly expiresIn: number | undefined;
  /** What the agent has to know besides, such as the address of the person's instance. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** `denied`: the server refused the grant for good, such as a refresh token that it has revoked. `refused`: any other error. */
export class GrantFailed extends Error {
  override readonly name = 'GrantFailed';
  readonly why: 'denied' | 'refused';
  constructor(why: 'denied' | 'refused', message: string) {
    super(message);
    this.why = why;
  }
}

/** Parameters of the callback after their check. */
export type Callback = URLSearchParams;

export interface OAuthServer {
  /** Throws GrantFailed, or CodeHostFailed if the server cannot be asked. */
  exchange(
    client: Client,
    callback: Callback,
    sent: { redirectUri: string; verifier: string | undefined },
  ): Promise<Grant>;
  refresh(client: Client, refreshToken: string): Promise<Grant>;
  /** Revokes both tokens; one that the server does not know any more is as good. The provider has a revocationUrl. */
  revoke(client: Client, tokens: TokenValues): Promise<void>;
  /** Deletes a client that was registered dynamically (RFC 7592, 2.3); one that is gone already is as good. */
  unregister(uri: string, token: string): Promise<void>;
}

/** Options of a request of oauth4webapi: over the guarded fetch, and with the deadline. */
export type RequestOptions = {
  readonly [oauth.customFetch]: (url: string, request: Sent) => Promise<Response>;
  readonly signal: AbortSignal;
};

/** Any request of oauth4webapi: a form, a JSON text, or no body. */
type Sent = oauth.CustomFetchOptions<string, URLSearchParams | string | undefined>;

export function requestsOver(guarded: GuardedFetch): () => RequestOptions {
  async function send(url: string, request: Sent): Promise<Response> {
    const { status, headers, body } = await guarded.fetch(url, {
      method: request.method,
      headers: request.headers,
      ...(request.body !== undefined && { body: request.body.toString() }),
      signal: request.signal ?? AbortSignal.timeout(DEADLINE_MS),
    });
    return responseOf(status, headers, body);
  }
  return () => ({ [oauth.customFetch]: send, signal: AbortSignal.timeout(DEADLINE_MS) });
}

/** What the token is for (RFC 8707). */
export function resourceOf({ spec: { mcpServerUrl } }: OAuthProvider): { readonly resource?: string } {
  return mcpServerUrl === undefined ? {} : { resource: mcpServerUrl };
}

export function makeServer(options: () => RequestOptions): OAuthServer {
  const forTokens = (
    provider: OAuthProvider,
  ): [Quirks, RequestOptions & { readonly additionalParameters: { readonly resource?: string } }] => {
    const quirks = quirksOf(provider);
    return [quirks, { ...ofTokens(options(), quirks), additionalParameters: resourceOf(provider) }];
  };
  return {
    async exchange({ provider, secret }, callback, { redirectUri, verifier }) {
      const [as, client, auth] = registered(provider, secret);
      const [quirks, sent] = forTokens(provider);
      const grant = await granted(quirks, async () => {
        const code = verifier ?? oauth.nopkce;
        const answer = await oauth.authorizationCodeGrantRequest(as, client, auth, callback, redirectUri, code, sent);
        return oauth.processAuthorizationCodeResponse(as, client, answer);
      });
      // Without a refresh token it is used until it fails.
      return grant.refreshToken === undefined ? grant : withLifetime(grant, quirks);
    },
    async refresh({ provider, secret }, refreshToken) {
      const [as, client, auth] = registered(provider, secret);
      const [quirks, sent] = forTokens(provider);
      const grant = await granted(quirks, async () => {
        const answer = await oauth.refreshTokenGrantRequest(as, client, auth, refreshToken, sent);
        return oauth.processRefreshTokenResponse(as, client, answer);
      });
      return withLifetime(grant, quirks);
    },
    async revoke({ provider, secret }, { accessToken, refreshToken }) {
      const [as, client, auth] = registered(provider, secret);
      const revoked = (token: string): Promise<void> =>
        asFailure(async () =>
          orUnknown(oauth.processRevocationResponse(await oauth.revocationRequest(as, client, auth, token, options()))),
        );
      if (refreshToken === undefined) return revoked(accessToken);
      await revoked(refreshToken);
      // That should end what was made from it (RFC 7009, 2.1), but not every server does so. One that does may answer with an error.
      await revoked(accessToken).catch((error: unknown) => {
        if (!(error instanceof GrantFailed)) throw error;
      });
    },
    async unregister(uri, token) {
      const { signal, [oauth.customFetch]: send } = options();
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await send(uri, { method: 'DELETE', headers, body: undefined, redirect: 'manual', signal });
      // 401: the token has gone with the client. 200: some answer so instead of 204.
      if (![200, 204, 401, 404].includes(status))
        throw new GrantFailed('refused', `The OAuth server answered ${status} to the deletion of a client.`);
    },
  };
}

/**
 * Checks `state` and `iss` of a callback. Throws GrantFailed; its message may be shown. Returns the error that the server names, if
 * any.
 */
export function checkedCallback(
  provider: OAuthProvider,
  parameters: URLSearchParams,
  state: string,
): { readonly callback: Callback } | { readonly error: string } {
  const { issuer } = provider.spec;
  const iss = parameters.get('iss');
  // Without a known issuer, an answer that names one could be another server's.
  if (issuer === undefined && iss !== null)
    throw new GrantFailed(
      'refused',
      'The provider sent an issuer (iss), but its OAuthProvider has none. Set issuer there.',
    );
  if (issuer !== undefined && iss !== issuer)
    throw new GrantFailed(
      'refused',
      iss === null ? 'The answer has no issuer (iss).' : 'The answer came from a different server than expected (iss).',
    );
  try {
    const [as, client] = registered(provider, undefined);
    return { callback: oauth.validateAuthResponse(as, client, parameters, state) };
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) return { error: error.error.slice(0, 100) };
    throw new GrantFailed('refused', "The provider's answer is not valid.");
  }
}

/** `S256` challenge of a verifier. */
export function challengeOf(verifier: string): Promise<string> {
  return oauth.calculatePKCECodeChallenge(verifier);
}

function registered(
  { spec }: OAuthProvider,
  secret: string | undefined,
): [oauth.AuthorizationServer, oauth.Client, oauth.ClientAuth] {
  const { clientId, authUrl, tokenUrl, issuer, revocationUrl, tokenEndpointAuthMethod } = spec;
  const as: oauth.AuthorizationServer = {
    issuer: issuer ?? new URL(authUrl).origin,
    authorization_endpoint: authUrl,
    token_endpoint: tokenUrl,
    ...(revocationUrl !== undefined && { revocation_endpoint: revocationUrl }),
    authorization_response_iss_parameter_supported: issuer !== undefined,
  };
  if (tokenEndpointAuthMethod === 'none' || secret === undefined) return [as, { client_id: clientId }, oauth.None()];
  const auth = tokenEndpointAuthMethod === 'client_secret_basic' ? basicWith(secret) : oauth.ClientSecretPost(secret);
  return [as, { client_id: clientId }, auth];
}

/**
 * RFC 6749, 2.3.1: both are encoded as in forms. That leaves `-`, `_`, `.` and `*` as they are, and so does this, unlike the library's:
 * many servers do not decode them.
 */
function basicWith(secret: string): oauth.ClientAuth {
  const encoded = (value: string): string => new URLSearchParams([['', value]]).toString().slice(1);
  return (_as, { client_id: id }, _body, headers) => {
    const credentials = Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString('base64');
    headers.set('authorization', `Basic ${credentials}`);
  };
}

function responseOf(status: number, headers: Headers, body: string): Response {
  return new Response(status === 204 || status === 304 ? null : body, { status, headers });
}

/** Requests to a token endpoint: what is special in its answers is taken out. */
function ofTokens({ signal, [oauth.customFetch]: send }: RequestOptions, quirks: Quirks): RequestOptions {
  return {
    signal,
    async [oauth.customFetch](url, request) {
      const answer = await send(url, request);
      const body = await answer.text();
      const read = jsonOf(body);
      const { status, json } = isObject(read) ? standardAnswer(answer.status, read, quirks) : answer;
      return responseOf(status, answer.headers, isObject(json) ? JSON.stringify(json) : body);
    },
  };
}

/** Some servers answer so, instead of 200, for a token that they do not know any more. */
async function orUnknown(revoked: Promise<undefined>): Promise<void> {
  try {
    await revoked;
  } catch (error) {
    if (!(error instanceof oauth.ResponseBodyError) || error.error !== 'invalid_token') throw error;
  }
}

function withLifetime(grant: Grant, { lifetimeSeconds }: Quirks): Grant {
  return { ...grant, expiresIn: grant.expiresIn ?? lifetimeSeconds };
}

const INVALID = "The OAuth server's answer is not valid.";
/** `access-token` and `refresh-token` of RFC 6749, appendix A: agents put the first into a header. */
const TOKEN = /^[\x20-\x7e]+$/;

async function granted(quirks: Quirks, ask: () => Promise<oauth.TokenEndpointResponse>): Promise<Grant> {
  const answer = await asFailure(ask, undefined, quirks.denials);
  const { access_token: accessToken, refresh_token: refreshToken, scope, expires_in: expiresIn } = answer;
  // The agents know no other type: of RFC 9449, they would have to prove who they are.
  if (answer.token_type !== 'bearer' || ![accessToken, refreshToken ?? accessToken].every((token) => TOKEN.test(token)))
    throw new GrantFailed('refused', INVALID);
  const metadata = metadataOf(answer, quirks);
  return { accessToken, ...(refreshToken !== undefined && { refreshToken }), scope, expiresIn, metadata };
}

/**
 * Runs `ask`. Throws GrantFailed for errors of oauth4webapi: with the server's error code, otherwise with `invalid`. `denials`: codes
 * that mean `invalid_grant`.
 */
export async function asFailure<T>(
  ask: () => Promise<T>,
  invalid = INVALID,
  denials: readonly string[] = [],
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CodeHostFailed) throw error;
    if (error instanceof oauth.ResponseBodyError) {
      const code = /^[\x20-\x7e]{1,100}$/.test(error.error) ? error.error : 'an error';
      throw new GrantFailed(
        code === 'invalid_grant' || denials.includes(code) ? 'denied' : 'refused',
        `The OAuth server answered ${code}.`,
      );
    }
    throw new GrantFailed('refused', invalid);
  }
}
