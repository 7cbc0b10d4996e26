// The page as a client of an issuer: what it sends, and what it makes of every kind of answer. The issuer is a function of the test's own.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Credentials } from './credentials.ts';
import { type IssuerClient, makeClient, type Send } from './issuer-client.ts';
import type { Flow } from './way-back.ts';

const ISSUER = 'https://id.example';
const SETUP = {
  issuer: ISSUER,
  name: 'Example ID',
  clientId: 'davit',
  scopes: ['openid', 'email'],
  origins: [ISSUER],
  redirectUri: 'https://davit.example/',
};
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize?realm=a`,
  token_endpoint: `${ISSUER}/token`,
  revocation_endpoint: `${ISSUER}/revoke`,
  end_session_endpoint: `${ISSUER}/logout`,
};
type Answer = (form: URLSearchParams) => Response;

let metadata: object;
let answers: Answer[];
let sent: { readonly url: string; readonly form: URLSearchParams }[];
let client: IssuerClient;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  [metadata, answers, sent] = [METADATA, [], []];
  client = makeClient(SETUP, answer);
});
afterEach(() => void vi.useRealTimers());

const answer: Send = async (url, { body }) => {
  const form = new URLSearchParams(body);
  sent.push({ url, form });
  if (url === `${ISSUER}/.well-known/openid-configuration`) return Response.json(metadata);
  const next = answers.shift();
  if (next === undefined) throw new TypeError('Failed to fetch');
  return next(form);
};

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
function idToken(claims: object): string {
  const now = Math.floor(Date.now() / 1000);
  const whole = { iss: ISSUER, aud: 'davit', sub: 'ada', iat: now, exp: now + 300, ...claims };
  return `${part({ alg: 'RS256' })}.${part(whole)}.c2lnbmF0dXJl`;
}
const tokens =
  (claims: object, more: object = {}): Answer =>
  () =>
    Response.json({ access_token: 'a', token_type: 'Bearer', id_token: idToken(claims), ...more });
const refused =
  (error: string): Answer =>
  () =>
    Response.json({ error }, { status: 400 });
const atTokenEndpoint = () => sent.filter(({ url }) => url === `${ISSUER}/token`);
const back = (flow: Flow, query = 'code=the-code'): URLSearchParams =>
  new URLSearchParams(`${query}&state=${flow.state}`);

async function signedIn(more: object = {}, claims: object = {}): Promise<Credentials> {
  const { flow } = await client.begin({ isSilent: false });
  answers.push(tokens({ nonce: flow.nonce, ...claims }, more));
  const credentials = await client.finish(flow, back(flow));
  if (credentials === undefined) throw new Error('nobody is signed in');
  return credentials;
}

describe('the way to the issuer', () => {
  it('has a state, a nonce and a challenge, and no secret', async () => {
    const { url, flow } = await client.begin({ isSilent: false });
    const { origin, pathname, searchParams } = new URL(url);
    expect([origin, pathname]).toEqual([ISSUER, '/authorize']);
    expect(Object.fromEntries(searchParams)).toEqual({
      realm: 'a',
      client_id: 'davit',
      redirect_uri: 'https://davit.example/',
      response_type: 'code',
      scope: 'openid email',
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: createHash('sha256').update(flow.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
  });

  it('is another one each time, of 256 bits', async () => {
    const [one, two] = await Promise.all([client.begin({ isSilent: false }), client.begin({ isSilent: true })]);
    const words = [...Object.values(one.flow), ...Object.values(two.flow)];
    expect(new Set(words).size).toBe(6);
    for (const word of words) expect(Buffer.from(word, 'base64url').length).toBeGreaterThanOrEqual(32);
    expect(new URL(two.url).searchParams.get('prompt')).toBe('none');
    expect(sent).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    ['is of another issuer', { issuer: 'https://evil.example' }, 'Check settings.http.oidc.issuer.'],
    ['names no endpoint', { token_endpoint: undefined }, 'names no endpoint for signing in'],
    [
      'names tokens elsewhere',
      { token_endpoint: 'https://tokens.example/token' },
      'gives tokens at https://tokens.example, which this page may not ask. Add it to settings.http.oidc.origins.',
    ],
  ])('does not begin with metadata that %s', async (_what, wrong, says) => {
    metadata = { ...METADATA, ...wrong };
    await expect(client.begin({ isSilent: false })).rejects.toThrow(says);
  });

  it('says what to look at where the browser does not say why it cannot ask', async () => {
    let isThere = false;
    client = makeClient(SETUP, async (url, request) => {
      if (!isThere) throw new TypeError('Failed to fetch');
      return answer(url, request);
    });
    await expect(client.begin({ isSilent: false })).rejects.toThrow(
      'Example ID cannot be reached from this browser. Check the network, its certificate, and that it lets https://davit.example ask it (CORS).',
    );
    isThere = true;
    await client.begin({ isSilent: false });
  });

  it('says so of an issuer that answers with something else', async () => {
    client = makeClient(SETUP, async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }));
    await expect(client.begin({ isSilent: false })).rejects.toThrow('The metadata of Example ID cannot be used');
  });
});

describe('the way back', () => {
  it('redeems the code with its verifier, and knows the person', async () => {
    const { flow } = await client.begin({ isSilent: false });
    answers = [tokens({ nonce: flow.nonce, email: 'ada@example.com' })];
    const credentials = await client.finish(flow, back(flow));
    expect(credentials).toMatchObject({ subject: 'ada', person: 'ada@example.com' });
    expect(await credentials?.token()).toBe(idToken({ nonce: flow.nonce, email: 'ada@example.com' }));
    expect(atTokenEndpoint().map(({ form }) => Object.fromEntries(form))).toEqual([
      {
        client_id: 'davit',
        grant_type: 'authorization_code',
        code: 'the-code',
        redirect_uri: 'https://davit.example/',
        code_verifier: flow.verifier,
      },
    ]);
  });

  it.each([
    ['another issuer', 'code=1&iss=https%3A%2F%2Fevil.example', {}],
    ['no issuer, where it names itself', 'code=1', { authorization_response_iss_parameter_supported: true }],
    ['two codes', 'code=1&code=2', {}],
    ['a token in the address', 'code=1&id_token=x', {}],
  ])('with %s sends nothing', async (_what, query, more) => {
    metadata = { ...METADATA, ...more };
    const { flow } = await client.begin({ isSilent: false });
    await expect(client.finish(flow, back(flow, query))).rejects.toThrow(
      /^(The answer was not used|Example ID gave no token that can be used): .* Sign in again\.$/,
    );
    expect(atTokenEndpoint()).toEqual([]);
  });

  it('with another state sends nothing', async () => {
    const { flow } = await client.begin({ isSilent: false });
    const answered = new URLSearchParams('code=1&state=foreign');
    await expect(client.finish(flow, answered)).rejects.toThrow('The answer was not used');
    expect(atTokenEndpoint()).toEqual([]);
  });

  it.each([
    ['error=access_denied', 'Example ID did not let you in (access_denied). You refused, or may not use this'],
    ['error=access_denied&error_description=No+licence', 'did not let you in (access_denied: No licence).'],
    ['error=server_error&error_description=Later', 'Example ID answered with an error (server_error: Later).'],
  ])('that is an error says so: %s', async (query, says) => {
    const { flow } = await client.begin({ isSilent: false });
    await expect(client.finish(flow, back(flow, query))).rejects.toThrow(says);
    expect(atTokenEndpoint()).toEqual([]);
  });

  it.each(['login_required', 'interaction_required', 'consent_required', 'account_selection_required'])(
    'leads to the person where the issuer needs one: %s',
    async (error) => {
      const { flow } = await client.begin({ isSilent: true });
      expect(await client.finish(flow, back(flow, `error=${error}`))).toBeUndefined();
    },
  );

  it.each<[string, Answer | undefined, string]>([
    ['of another sign-in', tokens({ nonce: 'foreign' }), 'gave no token that can be used'],
    ['without a nonce', tokens({}), 'gave no token that can be used'],
    ['for another client', tokens({ aud: 'other' }), 'gave no token that can be used'],
    ['of another issuer', tokens({ iss: 'https://evil.example' }), 'gave no token that can be used'],
    ['that is none', () => Response.json({ access_token: 'a', token_type: 'Bearer' }), 'gave no token'],
    ['for a code that was used', refused('invalid_grant'), 'gave no token that can be used: invalid_grant.'],
    ['that does not come', undefined, 'cannot be reached from this browser'],
  ])('takes no ID token %s', async (_what, given, says) => {
    const { flow } = await client.begin({ isSilent: false });
    if (given) answers = [given];
    await expect(client.finish(flow, back(flow))).rejects.toThrow(says);
  });

  it('leaves times to the API server: the clock of a computer may be wrong', async () => {
    const past = Math.floor(Date.now() / 1000) - 7200;
    await expect(signedIn({}, { iat: past, exp: past + 300 })).resolves.toMatchObject({ subject: 'ada' });
  });
});

describe('a token that ends', () => {
  const minutes = (count: number): void => void vi.advanceTimersByTime(count * 60_000);

  it('is renewed before that, once for all who ask, with the newest refresh token', async () => {
    const credentials = await signedIn({ refresh_token: 'first' });
    const first = await credentials.token();
    minutes(3);
    expect(await credentials.token()).toBe(first);
    minutes(2);
    answers = [tokens({}, { refresh_token: 'second' })];
    const all = new Set(await Promise.all(Array.from({ length: 50 }, () => credentials.token())));
    expect([all.size, all.has(first)]).toEqual([1, false]);
    minutes(5);
    answers = [tokens({})];
    await credentials.token();
    minutes(5);
    answers = [tokens({})];
    await credentials.token();
    expect(atTokenEndpoint().map(({ form }) => form.get('refresh_token'))).toEqual([null, 'first', 'second', 'second']);
  });

  it('is left as it is without a refresh token', async () => {
    const credentials = await signedIn();
    const first = await credentials.token();
    minutes(10);
    expect([await credentials.token(), atTokenEndpoint().length]).toEqual([first, 1]);
  });

  it.each<[string, Answer | undefined, number]>([
    ['the issuer refuses', refused('invalid_grant'), 1],
    ['the issuer sends none', () => Response.json({ access_token: 'a', token_type: 'Bearer' }), 1],
    ['the new one is about somebody else', tokens({ sub: 'eve' }, { refresh_token: 'x' }), 1],
    ['the issuer is not there, and asks again', undefined, 2],
    ['the issuer is in trouble, and asks again', () => new Response('', { status: 503 }), 2],
  ])('stays where %s', async (_what, given, times) => {
    const credentials = await signedIn({ refresh_token: 'first' });
    const first = await credentials.token();
    minutes(5);
    if (given) answers = [given];
    expect(await credentials.token()).toBe(first);
    expect(await credentials.token()).toBe(first);
    expect(atTokenEndpoint()).toHaveLength(1 + times);
  });
});

describe('signing out', () => {
  const revoked = () => sent.filter(({ url }) => url === `${ISSUER}/revoke`).map(({ form }) => form.get('token'));

  it('takes the refresh token back, once', async () => {
    const credentials = await signedIn({ refresh_token: 'first' });
    answers = [() => new Response('', { status: 200 })];
    await credentials.end();
    await credentials.end();
    expect(revoked()).toEqual(['first']);
  });

  it('fails for nobody where the issuer does not answer', async () => {
    const credentials = await signedIn({ refresh_token: 'first' });
    await credentials.end();
    expect(revoked()).toEqual(['first']);
  });

  it('sends nothing to other hosts, or without a refresh token', async () => {
    metadata = { ...METADATA, revocation_endpoint: 'https://elsewhere.example/revoke' };
    await (await signedIn({ refresh_token: 'first' })).end();
    metadata = METADATA;
    await (await signedIn()).end();
    expect(sent.filter(({ url }) => url.endsWith('/revoke'))).toEqual([]);
  });

  it('at the issuer is an address without a token, if there is one', async () => {
    expect(await client.leaving()).toBe(
      `${ISSUER}/logout?client_id=davit&post_logout_redirect_uri=https%3A%2F%2Fdavit.example%2F`,
    );
    for (const at of [undefined, 'http://id.example/logout', 'javascript:alert(1)']) {
      metadata = { ...METADATA, end_session_endpoint: at };
      expect(await makeClient(SETUP, answer).leaving()).toBeUndefined();
    }
  });
});
