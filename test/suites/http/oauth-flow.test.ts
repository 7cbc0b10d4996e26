// The flow of a token, from an agent's link to its end, with oidc-provider as the OAuth server and a browser that keeps cookies, over an
// in-memory API server. test/suites/integration/api-server/oauth.test.ts has what needs a real one.

import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../../../src/kinds/oauth-provider.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { SecretObject } from '../../../src/runtime/kube/client.ts';
import { FLOW_MS } from '../../../src/tokens/oauth/flow.ts';
import type { Browser, Visited } from '../../support/cookie-browser.ts';
import { type OAuthTestServer, startOAuthServer } from '../../support/oauth-server.ts';
import { callsOf, leaked, makePeople, type People } from '../../support/people.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Answer, callsTo } from '../../support/running-davit.ts';
import { type Facade, listen, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

const PUBLIC = 'https://davit.example';
const CALLBACK = `${PUBLIC}/v2/auth/callback/`;
const VAULT = 'davit-oauth';
const tenant: Tenant = { ...TENANT, token: TOKEN };
const other: Tenant = { ...OTHER_TENANT, token: TOKEN };

let server: OAuthTestServer;
/** Another one, which takes clients by their documents. */
let modern: OAuthTestServer;
let facade: Facade;
let apiUrl: string;
let call: ReturnType<typeof callsTo>;
let people: People;
let browser: Browser;
let user: string;
const { provider, authenticate, consent, connected } = callsOf(() => people);

beforeAll(async () => {
  const ids = ['idp', 'remade', 'moved', 'plain', 'swapped', 'chat', 'google_workspace'];
  server = await startOAuthServer(ids.map((id) => CALLBACK + id));
  const documents = { origin: PUBLIC, at: '' };
  modern = await startOAuthServer([], documents);
  const settings = defaultSettings();
  const hosts = [server, modern].map(({ host, ca }) => ({ host, addresses: ['127.0.0.1'], ca }));
  facade = await makeFacade({
    oauth: { ...settings.oauth, hosts: [...hosts, { host: 'localhost:1', addresses: [] }] },
    http: { ...settings.http, publicUrl: PUBLIC },
  });
  apiUrl = await listen(facade);
  documents.at = apiUrl;
  call = callsTo(apiUrl);
  people = makePeople({ publicUrl: PUBLIC, apiUrl, call, tenant, server });
  await provider('idp');
});
afterAll(async () => {
  await facade?.app.close();
  await server?.close();
  await modern?.close();
});
beforeEach(() => {
  server.lifetime = 3600;
  server.isRefusing = false;
  server.fault = undefined;
  server.grants.length = 0;
  people.next();
  ({ user, browser } = people);
});

/** Gives a token that has expired by the time at which it is asked for. */
async function connectedShortly(more?: object): Promise<void> {
  server.lifetime = 1;
  await people.give(more);
  facade.clock.ms += 1000;
  server.lifetime = 3600;
}

const tokensOf = (person: string): SecretObject[] =>
  facade.kube
    .objects<SecretObject>(SECRETS)
    .filter(({ metadata }) => metadata.name.startsWith('token-') && entryOf(metadata).subject.user === person);

interface EntryText {
  readonly subject: { readonly user: string };
  readonly about: object;
}

const ENTRY = 'davit.dev/oauth-entry';
function entryOf({ annotations }: SecretObject['metadata']): EntryText {
  return JSON.parse(annotations?.[ENTRY] ?? '') as EntryText;
}

/** Another state of the only token of this person. */
function claimed(person: string, claim: object): void {
  const [secret] = tokensOf(person);
  if (secret === undefined) throw new Error(`${person} has no token`);
  const { subject, about } = entryOf(secret.metadata);
  const annotations = { [ENTRY]: JSON.stringify({ subject, about: { ...about, claim } }) };
  facade.kube.seed(SECRETS, { ...secret, metadata: { ...secret.metadata, annotations } });
}

it('of a provider that cannot be used, an agent is told so, and nobody gets a link', async () => {
  const elsewhere = { token_url: 'https://elsewhere.example/token' };
  await provider('unlisted', elsewhere);
  const { status, body } = await authenticate({ provider: 'unlisted' });
  expect([status, body.detail]).toEqual([
    424,
    expect.stringMatching(/^OAuth provider "unlisted": This platform sends no requests to elsewhere\.example/),
  ]);
});

describe('a person', () => {
  it('who refuses gives no token, and who waits learns it', async () => {
    server.isRefusing = true;
    const { body } = await authenticate();
    const waiting = call(tenant, 'GET', `/v2/auth/wait/${body.auth_id}?timeout=60`);
    const end = await browser.open(await consent(body.url));
    expect([end.status, end.body]).toEqual([200, expect.stringContaining('answered access_denied')]);
    expect((await waiting).body).toEqual({ status: 'not_found', token: null });
    expect((await authenticate()).body.status).toBe('pending');
  });

  it('who allows less is asked again, and who waits learns it', async () => {
    server.fault = (request, response) => {
      if (request.url !== '/token') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: 'less', token_type: 'bearer', scope: 'api:read' }));
      return true;
    };
    const { body } = await authenticate({ scopes: ['api:read', 'api:write'] });
    const waiting = call(tenant, 'GET', `/v2/auth/wait/${body.auth_id}?timeout=60`);
    const end = await browser.open(await consent(body.url));
    expect([end.status, end.body]).toEqual([200, expect.stringContaining('did not grant: api:write')]);
    expect((await waiting).body).toEqual({ status: 'connection_required', token: null });
    expect((await authenticate({ scopes: ['api:read', 'api:write'] })).body.status).toBe('connection_required');
  });

  it('who refuses on the page of consent ends the link, in the browser that opened it alone', async () => {
    const { body } = await authenticate();
    expect((await people.newBrowser().submit(`${body.url}?refuse`)).status).toBe(403);
    const page = await browser.open(body.url);
    expect(page.body).toMatch(/<button type="submit" formaction="\?refuse">Refuse<\/button>/);
    const waiting = call(tenant, 'GET', `/v2/auth/wait/${body.auth_id}?timeout=60`);
    const end = await browser.submit(`${body.url}?refuse`);
    expect([end.status, end.body]).toEqual([200, expect.stringMatching(/Access was refused.*You refused\./s)]);
    expect((await waiting).body).toEqual({ status: 'not_found', token: null });
    expect((await browser.open(body.url)).status).toBe(404);
    expect(server.grants).toEqual([]);
  });

  it('whose provider fails has not refused, and may open the link again', async () => {
    const { body } = await authenticate();
    const back = new URL(await consent(body.url));
    back.searchParams.delete('code');
    back.searchParams.set('error', 'server_error');
    const end = await browser.open(back.href);
    expect([end.status, end.body]).toEqual([
      502,
      expect.stringMatching(/The provider did not grant access.*answered server_error\. Nothing was stored\./s),
    ]);
    expect(end.body).not.toContain('Access was refused');
    expect((await browser.open(body.url)).status).toBe(200);
  });

  it('who does nothing is waited for as long as was asked', async () => {
    const { body } = await authenticate();
    const path = `/v2/auth/wait/${body.auth_id}?timeout=1`;
    expect((await call(tenant, 'GET', path)).body).toEqual({ status: 'timeout', token: null });
    expect((await call(other, 'GET', path)).body).toEqual({ status: 'not_found', token: null });
    const guessed = `${body.auth_id.slice(0, -43)}${'a'.repeat(43)}`;
    expect((await call(tenant, 'GET', `/v2/auth/wait/${guessed}`)).body).toEqual({
      status: 'not_found',
      token: null,
    });
    expect((await browser.open(`${PUBLIC}/v2/auth/consent/${guessed}`)).status).toBe(404);
  });

  it('is asked for nothing any more, and the token costs one request to the API server', async () => {
    const token = await connected();
    const asked: string[] = [];
    facade.kube.failOn(({ verb, kind }) => void asked.push(`${verb} ${kind}`));
    const { body } = await authenticate();
    facade.kube.failOn(undefined);
    expect([body.token, asked]).toEqual([token, ['get Secret']]);
  });

  it('is asked again for scopes that the token does not have, and keeps those that it has', async () => {
    await connected();
    const { body } = await authenticate({ scopes: ['api:write'] });
    expect(body.status).toBe('connection_required');
    expect((await browser.open(body.url)).body).toContain('api:read, api:write');
  });
});

it('Slack is asked for scopes of the person', async () => {
  await provider('chat', { provider_type: 'slack' });
  const { body } = await authenticate({ provider: 'chat', scopes: ['chat:write', 'search:read'] });
  await browser.open(body.url);
  const { url } = await browser.submit(body.url, (next) => next.startsWith(`${server.issuer}/auth`));
  const { searchParams } = new URL(url);
  people.secrets.add(searchParams.get('state') ?? '');
  expect([searchParams.get('user_scope'), searchParams.get('scope')]).toEqual(['chat:write,search:read', null]);
  await call(tenant, 'DELETE', '/v2/auth/providers/chat');
});

it('a provider has an id that no object can be named, at every step', async () => {
  const named = { provider: 'google_workspace' };
  await provider(named.provider);
  const token = await connected(named);
  const query = `provider_id=${named.provider}&user_id=${user}`;
  expect((await call(tenant, 'GET', `/v2/auth/tokens?${query}`)).body).toMatchObject([{ provider_id: named.provider }]);
  expect((await authenticate(named)).body.token).toBe(token);
  expect((await authenticate({ provider: 'google-workspace-cf112e7e' })).status).toBe(404);
  const bad = await authenticate({ provider: 'google workspace' });
  expect([bad.status, JSON.stringify(bad.body.detail)]).toEqual([
    422,
    expect.stringContaining('must have only letters, digits, ., _ and -'),
  ]);
  expect((await call(tenant, 'DELETE', `/v2/auth/providers/${named.provider}`)).status).toBe(200);
  expect((await authenticate(named)).status).toBe(404);
});

describe('the answer of a provider', () => {
  const rejected = async (url: string, using = browser): Promise<Visited> => {
    const before = server.grants.length;
    const end = await using.open(url);
    expect(server.grants.length).toBe(before);
    expect((await authenticate()).body.token).toBe(null);
    return end;
  };

  it('counts once', async () => {
    const { body } = await authenticate();
    const back = await consent(body.url);
    const ends = await Promise.all([0, 1, 2].map(() => browser.open(back)));
    expect(ends.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404]);
    expect(server.grants).toEqual(['authorization_code']);
  });

  it('is nothing in another browser, and has ended then', async () => {
    const { body } = await authenticate();
    const back = await consent(body.url);
    const victim = people.newBrowser();
    expect((await rejected(back, victim)).status).toBe(403);
    expect((await rejected(back)).status).toBe(404);
    // Another browser that has a cookie of its own is another browser.
    const again = await consent(body.url);
    await victim.open(body.url);
    expect((await rejected(again, victim)).status).toBe(403);
  });

  it('a form that another site sends begins nothing', async () => {
    const { body } = await authenticate();
    expect((await people.newBrowser().submit(body.url)).status).toBe(403);
  });

  it.each([
    ['a guessed state', (url: URL) => url.searchParams.set('state', 'a'.repeat(43)), 404],
    ['no state', (url: URL) => url.searchParams.delete('state'), 404],
    ['the state of another provider', (url: URL) => void (url.pathname = '/v2/auth/callback/remade'), 404],
    ['no issuer', (url: URL) => url.searchParams.delete('iss'), 502],
    ['a foreign issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example'), 502],
  ])('with %s is rejected before the code is sent', async (_name, change, status) => {
    const { body } = await authenticate();
    const url = new URL(await consent(body.url));
    change(url);
    expect((await rejected(url.href)).status).toBe(status);
  });

  it('with an expired state is rejected', async () => {
    const { body } = await authenticate();
    const back = await consent(body.url);
    facade.clock.ms += FLOW_MS;
    expect((await rejected(back)).status).toBe(404);
  });

  it('with the code of another authorization is rejected by the server: it has another verifier', async () => {
    const { body: mine } = await authenticate();
    const { body: theirs } = await authenticate({ agent_id: 'of-an-attacker' });
    const [own, stolen] = [new URL(await consent(mine.url)), new URL(await consent(theirs.url))];
    own.searchParams.set('code', stolen.searchParams.get('code') ?? '');
    const end = await browser.open(own.href);
    expect([end.status, end.body]).toEqual([502, expect.stringContaining('Nothing was stored')]);
    expect(server.grants).toEqual(['authorization_code refused']);
    expect(tokensOf(user)).toEqual([]);
  });

  it('that names an issuer is rejected where the provider has none', async () => {
    await provider('plain', { issuer: undefined });
    const { body } = await authenticate({ provider: 'plain' });
    const back = await consent(body.url);
    expect(new URL(back).searchParams.get('iss')).toBe(server.issuer);
    expect((await rejected(back)).status).toBe(502);
    await call(tenant, 'DELETE', '/v2/auth/providers/plain');
  });

  it('is sent to no redirect URI that is not registered', async () => {
    await provider('unregistered');
    const { body } = await authenticate({ provider: 'unregistered' });
    await browser.open(body.url);
    const { status, url } = await browser.submit(body.url, (next) => next.startsWith(PUBLIC));
    expect([status, new URL(url).origin]).toEqual([400, server.issuer]);
    await call(tenant, 'DELETE', '/v2/auth/providers/unregistered');
  });

  it.each(['//evil.example/', '%2F%2Fevil.example%2F..', '..%2f..%2f%2fevil.example', '%40evil.example'])(
    'as a form to %s leads to no other site',
    async (name) => {
      const { headers } = await browser.submit(`${PUBLIC}/v2/auth/callback/${name}`, () => true, { state: 'x' });
      const { location = PUBLIC } = headers;
      expect(new URL(String(location), PUBLIC).origin).toBe(PUBLIC);
    },
  );

  it('as a form leads on to the same end', async () => {
    const { body } = await authenticate();
    const url = new URL(await consent(body.url));
    const fields = Object.fromEntries(url.searchParams);
    const end = await browser.submit(`${PUBLIC}/host-oauth-callback/idp`, undefined, fields);
    expect([end.status, end.body]).toEqual([200, expect.stringContaining('<h1>Connected</h1>')]);
  });
});

describe('a token that expires', () => {
  it('and was refreshed without an answer is not refreshed again', async () => {
    await connectedShortly();
    claimed(user, { holder: 'gone', until: '2020-01-01T00:00:00Z' });
    server.grants.length = 0;
    expect((await authenticate()).body).toMatchObject({
      status: 'token_expired',
      url: expect.any(String),
      token: null,
    });
    expect(server.grants).toEqual([]);
  });

  it('and was revoked by the provider is expired, and is not asked for again', async () => {
    await connectedShortly();
    server.fault = tokenFault((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":"invalid_grant"}');
    });
    server.seen.length = 0;
    for (let n = 0; n < 2; n += 1)
      expect((await authenticate()).body).toMatchObject({ status: 'token_expired', token: null });
    expect(server.seen.filter((path) => path === '/token')).toHaveLength(1);
  });

  it.each<[string, Parameters<typeof tokenFault>[0], number]>([
    ['is down', (response) => void response.socket?.destroy(), 502],
    ['is slow', () => undefined, 504],
    ['answers HTML', (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>canary'), 502],
    [
      'answers 10 MB',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(10_000_000)),
      502,
    ],
    [
      'redirects to a private address',
      (response) => void response.writeHead(307, { location: 'https://127.0.0.1:1/' }).end(),
      502,
    ],
  ])('and whose provider %s stays for the next attempt', async (_name, fault, status) => {
    await connectedShortly();
    server.fault = tokenFault(fault);
    expect((await authenticate()).status).toBe(status);
    server.fault = undefined;
    expect((await authenticate()).body.status).toBe('completed');
  });
});

function tokenFault(answer: (response: ServerResponse) => void): NonNullable<OAuthTestServer['fault']> {
  return (request, response) => {
    if (request.url !== '/token') return false;
    request.resume();
    request.once('end', () => answer(response));
    return true;
  };
}

describe('a token goes nowhere else', () => {
  /** By kubectl, past the facade. */
  function changeProvider(name: string, spec: object): void {
    const [present] = facade.providers.list().filter(({ metadata }) => metadata.name === name);
    if (present === undefined) throw new Error(`there is no provider ${name}`);
    facade.kube.seed<OAuthProvider>(OAUTH_PROVIDERS, { ...present, spec: { ...present.spec, ...spec } });
    facade.providers.fill();
  }

  const tokenPaths = (): number => server.seen.filter((path) => path.startsWith('/token')).length;

  const forOthers = { detail: expect.stringMatching(/moved--client-.* belongs to another authUrl/) };
  it.each([
    ['another token endpoint', { tokenUrl: 'https://localhost:1/token' }, forOthers],
    ['another client', { clientId: 'mine' }, { status: 'connection_required', token: null }],
    ['another issuer', { issuer: 'https://localhost:1' }, forOthers],
    ['another revocation endpoint', { revocationUrl: 'https://localhost:1/revoke' }, forOthers],
  ])('if its provider gets %s', async (_name, spec, answer) => {
    await provider('moved');
    await connected({ provider: 'moved' });
    changeProvider('moved', spec);
    const before = tokenPaths();
    expect((await authenticate({ provider: 'moved' })).body).toMatchObject(answer);
    const query = `provider_id=moved&user_id=${user}`;
    expect((await call(tenant, 'DELETE', `/v2/auth/tokens?${query}`)).status).toBe(200);
    expect(tokenPaths()).toBe(before);
    await call(tenant, 'DELETE', '/v2/auth/providers/moved');
  });

  it('if its provider is deleted and made again', async () => {
    await provider('remade');
    await connected({ provider: 'remade' });
    await call(tenant, 'DELETE', '/v2/auth/providers/remade');
    await provider('remade');
    const before = tokenPaths();
    expect((await authenticate({ provider: 'remade' })).body).toMatchObject({
      status: 'connection_required',
      token: null,
    });
    expect(tokenPaths()).toBe(before);
  });
});

it('another client secret sends a token nowhere else, and keeps it', async () => {
  await provider('swapped');
  await connectedShortly({ provider: 'swapped' });
  const swap = (client_secret: string): Promise<Answer> =>
    call(tenant, 'PATCH', '/v2/auth/providers/swapped', { client_secret });
  expect((await swap('of-an-editor')).status).toBe(200);
  expect((await authenticate({ provider: 'swapped' })).status).toBe(502);
  expect(server.grants).not.toContain('refresh_token');
  expect((await swap(server.client.secret)).status).toBe(200);
  expect((await authenticate({ provider: 'swapped' })).body).toMatchObject({ status: 'completed' });
});

describe('tokens', () => {
  const tokens = (query: string, as = tenant): Promise<Answer> => call(as, 'GET', `/v2/auth/tokens?${query}`);

  it('are listed without values, described, and revoked before they are deleted', async () => {
    const token = await connected();
    const { body } = await tokens(`user_id=${user}`);
    expect(body).toMatchObject([
      { provider_id: 'idp', user_id: user, scopes: ['api:read'], is_default: true, metadata: {} },
    ]);
    expect(JSON.stringify(body)).not.toContain(token);
    const [{ id }] = body;
    const query = `user_id=${user}`;
    const patched = await call(tenant, 'PATCH', `/v2/auth/tokens/${id}/metadata?${query}`, {
      metadata: { account: 'ada' },
    });
    expect(patched.body.metadata).toEqual({ account: 'ada' });
    expect((await authenticate()).body.metadata).toEqual({ account: 'ada' });
    // By another person, another tenant, and without a word of whose it is.
    for (const [as, more] of [
      [tenant, 'user_id=nobody'],
      [other, query],
      [tenant, ''],
    ] as const)
      expect((await call(as, 'DELETE', `/v2/auth/tokens/${id}?${more}`)).status).toBe(404);
    server.fault = (request, response) => {
      if (request.url !== '/token/revocation') return false;
      response.socket?.destroy();
      return true;
    };
    expect((await call(tenant, 'DELETE', `/v2/auth/tokens/${id}?${query}`)).status).toBe(502);
    server.fault = undefined;
    server.seen.length = 0;
    expect((await call(tenant, 'DELETE', `/v2/auth/tokens/${id}?${query}`)).status).toBe(204);
    expect(server.seen).toContain('/token/revocation');
    expect((await tokens(query)).body).toEqual([]);
    expect((await authenticate()).body.status).toBe('pending');
  });

  it("of one person are not deleted with another's", async () => {
    await connected();
    const mine = await call(tenant, 'DELETE', '/v2/auth/tokens?provider_id=idp');
    expect([mine.status, mine.body.provider_id]).toEqual([200, 'idp']);
    const exists = `/v2/auth/tokens/exists?provider_id=idp&user_id=${user}`;
    expect((await call(tenant, 'GET', exists)).body).toEqual({ has_token: true });
    expect((await call(tenant, 'DELETE', `/v2/auth/tokens?provider_id=idp&user_id=${user}`)).status).toBe(200);
    expect((await call(tenant, 'GET', exists)).body).toEqual({ has_token: false });
  });

  it('of several accounts of a person are reached by their ids', async () => {
    const token = await connected();
    const { body } = await authenticate({ force_new: true, is_default: false });
    await browser.open(await consent(body.url));
    expect((await authenticate()).body.token).toBe(token);
    const [{ id }] = (await tokens(`user_id=${user}`)).body.filter((one: { is_default: boolean }) => !one.is_default);
    const alone = (await authenticate({ token_id: id })).body;
    expect(alone).toMatchObject({ status: 'completed', token_id: id });
    expect(alone.token).not.toBe(token);
  });

  it('are connected to agents and taken away from them', async () => {
    const token = await connected();
    const agent = { agent_id: 'helper' };
    expect((await authenticate(agent)).body).toMatchObject({ status: 'connection_required', token: null });
    const [{ id }] = (await tokens(`user_id=${user}`)).body;
    const path = '/v2/auth/agents/helper/connections';
    const query = `user_id=${user}`;
    const made = await call(tenant, 'POST', `${path}?${query}`, { oauth_token_id: id });
    expect([made.status, made.body]).toMatchObject([
      201,
      { agent_id: 'helper', oauth_token_id: id, provider_id: 'idp' },
    ]);
    expect((await authenticate(agent)).body).toMatchObject({ status: 'completed', token });
    expect((await call(tenant, 'GET', `${path}?${query}`)).body).toEqual({ data: [made.body] });
    expect((await call(other, 'GET', `${path}?${query}`)).body).toEqual({ data: [] });
    expect((await call(tenant, 'DELETE', `${path}/${made.body.id}?${query}`)).status).toBe(204);
    expect((await authenticate(agent)).body.status).toBe('connection_required');
  });
});

describe('an MCP server', () => {
  const discover = (more: object = {}): Promise<Answer> =>
    call(tenant, 'POST', '/v2/auth/providers/mcp-discover', {
      provider_id: 'notes',
      name: 'Notes',
      mcp_server_url: `${server.issuer}/mcp`,
      ...more,
    });

  it('gives a provider with a client of its own, whose tokens are for that server', async () => {
    const { status, body } = await discover();
    expect([status, body]).toMatchObject([
      200,
      {
        provider_id: 'notes',
        auth_url: `${server.issuer}/auth`,
        token_url: `${server.issuer}/token`,
        issuer: server.issuer,
        revocation_url: `${server.issuer}/token/revocation`,
        uses_pkce: true,
        code_challenge_method: 'S256',
        mcp_server_url: `${server.issuer}/mcp`,
        token_endpoint_auth_method: 'client_secret_basic',
        is_dynamic_client: true,
      },
    ]);
    expect(body.client_id).not.toBe(server.client.id);
    server.audiences.length = 0;
    await connectedShortly({ provider: 'notes' });
    expect((await authenticate({ provider: 'notes' })).body.status).toBe('completed');
    expect(server.audiences).toEqual([`${server.issuer}/mcp`, `${server.issuer}/mcp`]);
    const registrations = server.seen.filter((path) => path === '/reg').length;
    expect((await discover()).status).toBe(409);
    expect(server.seen.filter((path) => path === '/reg').length).toBe(registrations);
  });

  it('whose OAuth server takes a client by its document gets the address of one, which Davit serves', async () => {
    const id = 'modern.Notes';
    const { status, body } = await discover({ provider_id: id, mcp_server_url: `${modern.issuer}/mcp` });
    const address = `${PUBLIC}/v2/auth/clients/${id}`;
    expect([status, body]).toMatchObject([
      200,
      { client_id: address, token_endpoint_auth_method: 'none', uses_pkce: true, is_dynamic_client: false },
    ]);
    expect(modern.seen).not.toContain('/reg');
    const served = await fetch(address.replace(PUBLIC, apiUrl));
    expect(await served.json()).toEqual({
      client_id: address,
      client_name: 'Davit: Notes',
      redirect_uris: [CALLBACK + id],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
    // Others have another client, and no document.
    for (const other of ['idp', 'absent']) expect((await fetch(`${apiUrl}/v2/auth/clients/${other}`)).status).toBe(404);
    const { body: link } = await authenticate({ provider: id });
    const using = people.newBrowser(modern);
    expect((await using.open(await consent(link.url, using))).status).toBe(200);
    expect((await authenticate({ provider: id })).body).toMatchObject({
      status: 'completed',
      token: expect.any(String),
    });
    expect(modern.grants).toEqual(['authorization_code']);
    expect((await call(tenant, 'DELETE', `/v2/auth/providers/${id}`)).status).toBe(200);
  });

  it.each<[string, object, number, string]>([
    ['without metadata', { mcp_server_url: 'ISSUER/other' }, 424, 'oauth-protected-resource'],
    ['that is not listed', { mcp_server_url: 'https://elsewhere.example/mcp' }, 424, 'setting oauth.hosts'],
  ])('%s gives none', async (_name, more, status, words) => {
    const sent = JSON.parse(JSON.stringify(more).replace('ISSUER', server.issuer)) as object;
    const answer = await discover({ provider_id: 'none', ...sent });
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(words)]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['knows no S256', { code_challenge_methods_supported: ['plain'] }, 'S256'],
    ['registers nobody', { registration_endpoint: undefined }, 'registration_endpoint'],
    ['is another', { issuer: 'https://evil.example' }, 'no valid metadata'],
  ])('whose OAuth server %s gives none', async (_name, more, words) => {
    server.fault = (request, response) => {
      if (!/^\/\.well-known\/(openid-configuration|oauth-authorization-server)/.test(request.url ?? '')) return false;
      const metadata = {
        issuer: server.issuer,
        authorization_endpoint: `${server.issuer}/auth`,
        token_endpoint: `${server.issuer}/token`,
        registration_endpoint: `${server.issuer}/reg`,
        code_challenge_methods_supported: ['S256'],
        ...more,
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      return true;
    };
    const answer = await discover({ provider_id: 'none' });
    expect([answer.status, answer.body.detail]).toEqual([424, expect.stringContaining(words)]);
  });
});

it('codes, verifiers and tokens are in no object, log, error and page', () => {
  for (const secret of [...server.secrets, ...modern.secrets]) people.secrets.add(secret);
  const stored = JSON.stringify(facade.kube.objects(SECRETS));
  expect([people.secrets.size > 50, people.told.length > 20, stored.includes(VAULT)]).toEqual([true, true, true]);
  expect(facade.log()).toContain('/v2/auth/callback/idp');
  expect(leaked(people.secrets, { stored, log: facade.log(), told: people.told.join('') })).toEqual([]);
});

describe('the trail of tokens', () => {
  const events = async (query = `user_id=${user}`): Promise<Record<string, unknown>[]> => {
    const { status, body } = await call(tenant, 'GET', `/v2/auth/token-events?${query}`);
    expect([status, body.detail]).toEqual([200, undefined]);
    return body;
  };
  const names = async (query?: string): Promise<unknown[]> => (await events(query)).map(({ event }) => event);

  it('has what became of a token, with its person, agent and account, and so has the log without the name', async () => {
    const before = facade.log().length;
    server.isRefusing = true;
    const { body } = await authenticate({ agent_id: 'triage' });
    await browser.open(await consent(body.url));
    server.isRefusing = false;
    await connectedShortly({ agent_id: 'triage' });
    await authenticate({ agent_id: 'triage' });
    await call(tenant, 'DELETE', `/v2/auth/tokens?provider_id=idp&user_id=${user}`);
    expect((await names()).toReversed()).toEqual([
      'link',
      'refused',
      'link',
      'consented',
      'refreshed',
      'given',
      'revoked',
    ]);
    const [revoked, given] = await events();
    expect(given).toEqual({
      event: 'given',
      at: expect.stringMatching(/^20.*Z$/),
      provider_id: 'idp',
      user_id: user,
      agent_id: 'triage',
      account: expect.any(String),
      deployment_id: null,
      deployment: null,
      token_id: revoked?.['token_id'],
    });
    expect(await names(`token_id=${String(given?.['token_id'])}`)).toEqual([
      'revoked',
      'given',
      'refreshed',
      'consented',
    ]);
    expect(await names(`user_id=${user}&provider_id=plain`)).toEqual([]);
    const lines = facade.log().slice(before).trim().split('\n');
    const said = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'Token event');
    expect(said.map(({ event }) => event)).toEqual((await names()).toReversed());
    expect(said.every(({ person }) => typeof person === 'string' && /^[0-9a-f]{16}$/.test(person))).toBe(true);
    expect(JSON.stringify(said)).not.toContain(user);
  });

  it('is of one tenant, and outlives the process that wrote it', async () => {
    await people.give();
    expect(await names()).toEqual(['consented', 'link']);
    expect((await call(other, 'GET', `/v2/auth/token-events?user_id=${user}`)).body).toEqual([]);
    const kept = facade.kube
      .objects<SecretObject>(SECRETS)
      .filter(({ metadata }) => metadata.name.startsWith('trail-'));
    expect(kept.map(({ metadata, data }) => [metadata.namespace, data])).toEqual([[VAULT, {}]]);
  });

  it('tells when a token was last used, to within five minutes', async () => {
    const used = async (): Promise<unknown> =>
      (await call(tenant, 'GET', `/v2/auth/tokens?user_id=${user}`)).body[0].last_used_at;
    await people.give();
    expect(await used()).toBeNull();
    await authenticate();
    const first = await used();
    expect(first).toBe(new Date(facade.clock.ms).toISOString());
    facade.clock.ms += 299_000;
    await authenticate();
    expect(await used()).toBe(first);
    facade.clock.ms += 1000;
    await authenticate();
    expect(await used()).toBe(new Date(facade.clock.ms).toISOString());
  });

  it('that cannot be written costs no token', async () => {
    await people.give();
    const refused: string[] = [];
    facade.kube.failOn(({ verb, ref: { name } }) => {
      if (verb !== 'update') return undefined;
      refused.push(name.split('-', 1)[0] ?? '');
      return new Error('down');
    });
    const { body } = await authenticate();
    facade.kube.failOn(undefined);
    expect([body.status, refused]).toEqual(['completed', ['trail']]);
    expect(facade.log()).toContain('Could not store a token event, it is only in this log');
  });
});
