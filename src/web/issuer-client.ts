// The page as a public client of the cluster's OpenID Connect issuer: authorization code with PKCE (RFC 7636, 9700), by oauth4webapi.
// Nothing here stores anything.

import * as oauth from 'oauth4webapi';
import type { SignInSetup } from '../kinds/sign-in.ts';
import type { Credentials } from './credentials.ts';
import type { Flow } from './way-back.ts';

/** A request to the issuer. */
const LONGEST_MS = 20_000;
/** A token that is valid for less is renewed before it is sent. */
const RESERVE_MS = 30_000;
/** The API server judges times. A computer whose clock is wrong must not. */
const CLOCK_TOLERANCE_S = 86_400;

/** Errors of an answer that was asked for without showing the person anything (OpenID Connect Core, 3.1.2.6). */
const NEEDS_PERSON = ['login_required', 'interaction_required', 'consent_required', 'account_selection_required'];

/** It rejects with sentences for people. */
export interface IssuerClient {
  /** Where the browser goes to sign in. `isSilent`: the issuer shows nothing, and answers at once. */
  begin(how: { readonly isSilent: boolean }): Promise<{ readonly url: string; readonly flow: Flow }>;
  /** `answer`: the query with which the issuer led back. Undefined if it has to show the person something first. */
  finish(flow: Flow, answer: URLSearchParams): Promise<Credentials | undefined>;
  /** Where the browser goes to sign out at the issuer; undefined if it has no such place. */
  leaving(): Promise<string | undefined>;
}

export type Send = (
  url: string,
  request: oauth.CustomFetchOptions<string, URLSearchParams | undefined>,
) => Promise<Response>;

/** There was no answer. */
class Unreachable extends Error {}

interface Tokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
  readonly subject: string;
  readonly person: string;
  /** By this computer's clock. */
  readonly endsAt: number;
}

/** `send`: another fetch, in tests. */
export function makeClient(setup: SignInSetup, send?: Send): IssuerClient {
  const requests = makeRequests(setup, send);
  const { metadata, client } = requests;
  const { name, clientId, redirectUri } = setup;

  return {
    async begin({ isSilent }) {
      const server = await metadata();
      const flow: Flow = {
        state: oauth.generateRandomState(),
        nonce: oauth.generateRandomNonce(),
        verifier: oauth.generateRandomCodeVerifier(),
      };
      const url = new URL(server.authorization_endpoint ?? '');
      const parameters = {
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: setup.scopes.join(' '),
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await oauth.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
        ...(isSilent && { prompt: 'none' }),
      };
      for (const [parameter, value] of Object.entries(parameters)) url.searchParams.set(parameter, value);
      return { url: url.href, flow };
    },
    async finish(flow, answer) {
      const server = await metadata();
      let checked: URLSearchParams;
      try {
        checked = oauth.validateAuthResponse(server, client, answer, flow.state);
      } catch (error) {
        if (!(error instanceof oauth.AuthorizationResponseError))
          throw new Error(`The answer was not used: ${reasonOf(error)} Sign in again.`);
        if (NEEDS_PERSON.includes(error.error)) return undefined;
        throw new Error(refusal(name, error));
      }
      return credentialsOf(requests, server, await requests.redeem(server, checked, flow));
    },
    async leaving() {
      const { end_session_endpoint: at } = await metadata();
      if (at?.startsWith('https:') !== true) return undefined;
      // With the client's id instead of a token, which would be in histories and logs.
      const url = new URL(at);
      url.searchParams.set('client_id', clientId);
      url.searchParams.set('post_logout_redirect_uri', redirectUri);
      return url.href;
    },
  };
}

interface Requests {
  readonly client: oauth.Client;
  /** Asked once, and again after a failure. */
  metadata(): Promise<oauth.AuthorizationServer>;
  redeem(server: oauth.AuthorizationServer, answer: URLSearchParams, flow: Flow): Promise<Tokens>;
  /** Without a refresh token if the issuer gives no more. */
  refresh(server: oauth.AuthorizationServer, before: Tokens): Promise<Tokens>;
  revoke(server: oauth.AuthorizationServer, token: string): Promise<void>;
}

function makeRequests(setup: SignInSetup, send: Send | undefined): Requests {
  const { name, clientId, redirectUri } = setup;
  const client: oauth.Client = { client_id: clientId, [oauth.clockTolerance]: CLOCK_TOLERANCE_S };
  const options = (): { [oauth.customFetch]?: Send; signal: AbortSignal } => ({
    ...(send && { [oauth.customFetch]: send }),
    signal: AbortSignal.timeout(LONGEST_MS),
  });
  let known: Promise<oauth.AuthorizationServer> | undefined;

  /** fetch does not say why. Errors of the library are about what it was given. */
  function unreachable(error: unknown): never {
    if (error instanceof oauth.OperationProcessingError) throw error;
    throw new Unreachable(
      `${name} cannot be reached from this browser. Check the network, its certificate, and that it lets ${new URL(redirectUri).origin} ask it (CORS).`,
    );
  }

  async function discover(): Promise<oauth.AuthorizationServer> {
    const url = new URL(setup.issuer);
    const found = await oauth.discoveryRequest(url, options()).catch(unreachable);
    const server = await oauth.processDiscoveryResponse(url, found).catch((error: unknown) => {
      throw new Error(`The metadata of ${name} cannot be used: ${reasonOf(error)} Check settings.http.oidc.issuer.`);
    });
    if (server.authorization_endpoint === undefined || server.token_endpoint === undefined)
      throw new Error(`The metadata of ${name} names no endpoint for signing in. It is not an issuer for people.`);
    const { origin } = new URL(server.token_endpoint);
    if (setup.origins.includes(origin)) return server;
    throw new Error(
      `${name} gives tokens at ${origin}, which this page may not ask. Add it to settings.http.oidc.origins.`,
    );
  }

  return {
    client,
    metadata() {
      const asked = known ?? discover();
      known = asked;
      asked.catch(() => (known = undefined));
      return asked;
    },
    async redeem(server, answer, flow) {
      try {
        const response = await oauth
          .authorizationCodeGrantRequest(server, client, oauth.None(), answer, redirectUri, flow.verifier, options())
          .catch(unreachable);
        const expected = { expectedNonce: flow.nonce, requireIdToken: true };
        return tokensOf(await oauth.processAuthorizationCodeResponse(server, client, response, expected));
      } catch (error) {
        if (error instanceof Unreachable) throw error;
        throw new Error(`${name} gave no token that can be used: ${reasonOf(error)} Sign in again.`);
      }
    },
    async refresh(server, before) {
      const refreshToken = before.refreshToken ?? '';
      const response = await oauth
        .refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, options())
        .catch(unreachable);
      const result = await oauth.processRefreshTokenResponse(server, client, response);
      // OpenID Connect Core, 12.2: the ID token may be absent, and is about the same person. Otherwise the one before stays.
      if (result.id_token === undefined) return { ...before, refreshToken: undefined };
      const tokens = tokensOf(result);
      if (tokens.subject !== before.subject) return { ...before, refreshToken: undefined };
      return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
    },
    async revoke(server, token) {
      const at = server.revocation_endpoint;
      if (at === undefined || !setup.origins.includes(new URL(at).origin)) return;
      await oauth.revocationRequest(server, client, oauth.None(), token, options()).catch(() => undefined);
    },
  };
}

function credentialsOf(requests: Requests, server: oauth.AuthorizationServer, first: Tokens): Credentials {
  let tokens = first;
  let refreshing: Promise<void> | undefined;

  async function renew(): Promise<void> {
    try {
      tokens = await requests.refresh(server, tokens);
    } catch (error) {
      // What has ended for good is not asked again; what cannot be reached is. The token may be valid yet, and if not, the API says so.
      if (error instanceof oauth.ResponseBodyError) tokens = { ...tokens, refreshToken: undefined };
    }
  }
  return {
    subject: first.subject,
    person: first.person,
    async token() {
      if (tokens.refreshToken !== undefined && Date.now() > tokens.endsAt - RESERVE_MS) {
        // Two refreshes with one refresh token would revoke it.
        refreshing ??= renew().finally(() => (refreshing = undefined));
        await refreshing;
      }
      return tokens.idToken;
    },
    async end() {
      await refreshing;
      const { refreshToken } = tokens;
      tokens = { ...tokens, refreshToken: undefined };
      if (refreshToken !== undefined) await requests.revoke(server, refreshToken);
    },
  };
}

function tokensOf(result: oauth.TokenEndpointResponse): Tokens {
  const claims = oauth.getValidatedIdTokenClaims(result);
  if (claims === undefined || result.id_token === undefined) throw new Error('It has no ID token.');
  const words = [claims['preferred_username'], claims['email'], claims['name'], claims.sub];
  return {
    idToken: result.id_token,
    refreshToken: result.refresh_token,
    subject: claims.sub,
    person: words.find((word): word is string => typeof word === 'string' && word !== '') ?? '',
    endsAt: Date.now() + (claims.exp - claims.iat) * 1000,
  };
}

function refusal(name: string, { error, error_description: why }: oauth.AuthorizationResponseError): string {
  const said = why === undefined ? error : `${error}: ${why}`;
  return error === 'access_denied'
    ? `${name} did not let you in (${said}). You refused, or may not use this application there.`
    : `${name} answered with an error (${said}).`;
}

/** One sentence. */
function reasonOf(error: unknown): string {
  const text =
    error instanceof oauth.ResponseBodyError
      ? [error.error, error.error_description].filter((part) => part !== undefined).join(': ')
      : error instanceof Error
        ? error.message
        : String(error);
  return text.endsWith('.') ? text : `${text}.`;
}
