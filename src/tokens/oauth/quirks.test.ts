// Answers of single servers, as their documentation shows them, through the library.

import { describe, expect, it } from 'vitest';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import type { GuardedFetch } from '../../runtime/outbound/guarded-fetch.ts';
import { isCovered, quirksOf } from './quirks.ts';
import { checkedCallback, type Grant, makeServer, requestsOver } from './server.ts';

const TOKEN_URLS = {
  slack: 'https://slack.com/api/oauth.v2.access',
  github: 'https://github.com/login/oauth/access_token',
  google: 'https://oauth2.googleapis.com/token',
  microsoft: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
  salesforce: 'https://example.my.salesforce.com/services/oauth2/token',
  other: 'https://tracker.example/token',
} as const;
type Kind = keyof typeof TOKEN_URLS;

function provider(kind: Kind, spec: Partial<OAuthProvider['spec']> = {}): OAuthProvider {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { name: kind },
    spec: {
      name: kind,
      clientId: 'a',
      authUrl: new URL('/authorize', TOKEN_URLS[kind]).href,
      tokenUrl: TOKEN_URLS[kind],
      usesPkce: false,
      tokenEndpointAuthMethod: 'client_secret_post',
      isDynamicClient: false,
      ...spec,
    },
  };
}

/** What the person gets if the server answers so. */
function refreshed(of: OAuthProvider, body: object, status = 200): Promise<Grant> {
  return serverThat(body, status).refresh({ provider: of, secret: 's' }, 'r0');
}
function exchanged(of: OAuthProvider, body: object, status = 200): Promise<Grant> {
  const server = serverThat(body, status);
  return server.exchange({ provider: of, secret: 's' }, checked(of), {
    redirectUri: 'https://davit.example/v2/auth/callback/x',
    verifier: undefined,
  });
}

function checked(of: OAuthProvider): URLSearchParams {
  const result = checkedCallback(of, new URLSearchParams({ code: 'c', state: 's' }), 's');
  if ('error' in result) throw new Error(result.error);
  return result.callback;
}

function serverThat(body: object, status: number): ReturnType<typeof makeServer> {
  const fetch: GuardedFetch['fetch'] = async (url) => ({
    status,
    url,
    headers: new Headers({ 'content-type': 'application/json; charset=utf-8' }),
    body: JSON.stringify(body),
  });
  return makeServer(requestsOver({ fetch, close: async () => undefined }));
}

describe('Slack', () => {
  const person = {
    id: 'U1234',
    scope: 'chat:write,search:read',
    access_token: 'xoxe.xoxp-1',
    token_type: 'user',
    refresh_token: 'xoxe-1',
    expires_in: 43_200,
  };
  const installed = {
    ok: true,
    access_token: 'xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy',
    token_type: 'bot',
    scope: 'commands,incoming-webhook',
    bot_user_id: 'U0KRQLJ9H',
    app_id: 'A0KRD7HC3',
    team: { name: 'Team', id: 'T9TK3CUKW' },
    enterprise: null,
    authed_user: person,
  };
  const wanted = { accessToken: 'xoxe.xoxp-1', refreshToken: 'xoxe-1', scope: person.scope, expiresIn: 43_200 };

  it("gives the person's token, not the bot's", async () => {
    expect(await exchanged(provider('slack'), installed)).toMatchObject(wanted);
    const { access_token: _bot, token_type: _type, scope: _scope, ...alone } = installed;
    expect(await exchanged(provider('slack'), alone)).toMatchObject(wanted);
  });

  it('gives none if it has only a bot', async () => {
    const botAlone = { ...installed, authed_user: { id: 'U1234' } };
    await expect(exchanged(provider('slack'), botAlone)).rejects.toMatchObject({ why: 'refused' });
    // As on another server, a token of that kind is none.
    await expect(exchanged(provider('other'), installed)).rejects.toMatchObject({ why: 'refused' });
  });

  it('refreshes it, and tells errors with status 200', async () => {
    const { id: _id, ...rotated } = person;
    expect(await refreshed(provider('slack'), { ok: true, ...rotated })).toMatchObject(wanted);
    await expect(refreshed(provider('slack'), { ok: false, error: 'invalid_refresh_token' })).rejects.toMatchObject({
      why: 'denied',
      message: 'The OAuth server answered invalid_refresh_token.',
    });
    await expect(refreshed(provider('slack'), { ok: false, error: 'ratelimited' })).rejects.toMatchObject({
      why: 'refused',
    });
  });

  it('is asked for scopes of the person', () => {
    expect(quirksOf(provider('slack')).scopes).toEqual({ parameter: 'user_scope', separator: ',' });
  });
});

describe('GitHub', () => {
  const answer = { access_token: 'gho_16C7e42F292c6912E7710c838347Ae178B4a', scope: 'repo,user', token_type: 'bearer' };

  it('gives a token that has no end, with fewer scopes than were asked for', async () => {
    const grant = await exchanged(provider('github'), answer);
    expect(grant).toMatchObject({ accessToken: answer.access_token, scope: 'repo,user', expiresIn: undefined });
    const has = (scope: string): boolean => isCovered(scope, ['repo', 'user'], quirksOf(provider('github')));
    expect(['repo', 'repo:status', 'user:email', 'admin:org', 'constructor'].map(has)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it.each([
    ['bad_verification_code', 'refused'],
    ['bad_refresh_token', 'denied'],
  ])('tells %s with status 200', async (error, why) => {
    const body = { error, error_description: 'canary', error_uri: 'https://docs.github.com' };
    await expect(refreshed(provider('github'), body)).rejects.toMatchObject({
      why,
      message: `The OAuth server answered ${error}.`,
    });
  });

  it('names times as texts', async () => {
    const app = { ...answer, scope: '', expires_in: '28800', refresh_token: 'ghr_1' };
    expect(await exchanged(provider('github'), app)).toMatchObject({ expiresIn: 28_800, refreshToken: 'ghr_1' });
  });
});

describe('Microsoft', () => {
  const answer = {
    token_type: 'Bearer',
    scope: 'Mail.Read User.Read profile openid email',
    expires_in: 3599,
    ext_expires_in: 3599,
    access_token: 'eyJ0',
    refresh_token: '0.AX',
    id_token: 'eyJ0.not-one.that-is-read',
  };
  const granted = ['Mail.Read', 'User.Read', 'profile', 'openid', 'email', 'api://1234/read'];

  it('gives a token with its refresh token', async () => {
    expect(await exchanged(provider('microsoft'), answer)).toMatchObject({ accessToken: 'eyJ0', refreshToken: '0.AX' });
  });

  it.each([
    ['mail.read', true],
    ['https://graph.microsoft.com/Mail.Read', true],
    ['https://graph.microsoft.com/.default', true],
    ['api://1234/.default', true],
    ['api://4321/.default', false],
    ['https://graph.microsoft.com/Mail.Send', false],
  ])('whether it has granted %s: %s', (scope, want) => {
    expect(isCovered(scope, granted, quirksOf(provider('microsoft')))).toBe(want);
    expect(isCovered(scope, granted, quirksOf(provider('other')))).toBe(false);
  });

  it('that wants the person to sign in again has ended the token', async () => {
    const body = { error: 'interaction_required', error_description: 'AADSTS50076: canary', error_codes: [50_076] };
    await expect(refreshed(provider('microsoft'), body, 400)).rejects.toMatchObject({ why: 'denied' });
  });
});

describe('Salesforce', () => {
  const answer = {
    access_token:
      '00Dx0000000BV7z!AR8AQAxo9UfVkh8AlV0Gomt9Czx9LjHnSSpwBMmbRcgKFmxOtvxjTrKW19ye6PE3Ds1eQz3z8jr3W7_VbWmEu4Q8TVGSTHxs',
    signature: 'SSSbLO/gBhmmyNUvN18ODBDFYHzakxOMgqYtu+hDPsc=',
    scope: 'refresh_token api',
    instance_url: 'https://example.my.salesforce.com',
    id: 'https://login.salesforce.com/id/00Dx0000000BV7z/005x00000012Q9P',
    token_type: 'Bearer',
    issued_at: '1278448384422',
  };

  it('names no time: the token is refreshed in time all the same', async () => {
    expect(await refreshed(provider('salesforce'), answer)).toMatchObject({ expiresIn: 900 });
    const grant = await exchanged(provider('salesforce'), { ...answer, refresh_token: '5Aep8614iLM' });
    expect(grant).toMatchObject({ expiresIn: 900, metadata: { instance_url: answer.instance_url } });
    // Nothing can be refreshed: it is used as long as it works.
    expect(await exchanged(provider('salesforce'), answer)).toMatchObject({ expiresIn: undefined });
    expect(await exchanged(provider('other'), answer)).toMatchObject({ expiresIn: undefined, metadata: {} });
  });
});

it('Google names scopes by other names', () => {
  const granted = ['https://www.googleapis.com/auth/userinfo.email', 'openid'];
  expect(
    ['email', 'openid', 'profile'].map((scope) => isCovered(scope, granted, quirksOf(provider('google')))),
  ).toEqual([true, true, false]);
});

it('a provider is known by its type, then by the host of its token endpoint', () => {
  const slack = quirksOf(provider('slack'));
  expect(quirksOf(provider('other', { providerType: 'Slack' }))).toBe(slack);
  expect(quirksOf(provider('slack', { providerType: 'chat' }))).toBe(slack);
  const none = quirksOf(provider('other'));
  for (const tokenUrl of ['https://evil-salesforce.com/', 'https://slack.com.evil.example/', 'https://notgithub.com/'])
    expect(quirksOf(provider('other', { tokenUrl, providerType: 'constructor' }))).toBe(none);
});

describe('an answer that is no bearer token of the RFCs', () => {
  const answer = { access_token: 'a', token_type: 'bearer', expires_in: 3600 };
  it.each([
    ['an error beside a token', { ...answer, error: 'temporarily_unavailable' }, 'temporarily_unavailable'],
    [
      'a line break in the token, which agents put into a header',
      { ...answer, access_token: 'a\r\nX: y' },
      'not valid',
    ],
    ['a line break in the refresh token', { ...answer, refresh_token: 'a\nb' }, 'not valid'],
    ['letters beyond ASCII', { ...answer, access_token: 'täken' }, 'not valid'],
    ['no token at all', { ...answer, access_token: '' }, 'not valid'],
    ['a token that its holder has to prove', { ...answer, token_type: 'DPoP' }, 'not valid'],
    ['a type that nobody knows', { ...answer, token_type: 'mac' }, 'not valid'],
  ])('is refused: %s', async (_what, body, words) => {
    for (const asked of [exchanged, refreshed])
      await expect(asked(provider('other'), body)).rejects.toMatchObject({
        why: 'refused',
        message: expect.stringContaining(words) as string,
      });
  });
});
