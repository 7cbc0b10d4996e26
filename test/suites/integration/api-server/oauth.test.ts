// Tokens for agents before a real API server, with oidc-provider as the OAuth server: two replicas of the HTTP API, and a browser that
// keeps cookies.

import { readdir, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Davit, startDavit } from '../../../kit/davit.ts';
import { asked, granted, idle } from '../../../support/audited-rights.ts';
import { type Browser, makeBrowser, type Visited } from '../../../support/cookie-browser.ts';
import { type OAuthTestServer, providerPayload, startOAuthServer } from '../../../support/oauth-server.ts';
import {
  DAVIT_NAMESPACE,
  ORGANIZATION_NAMESPACE,
  type Supervised,
  startApi,
  type Tenant,
} from '../../../support/platform.ts';
import { type Answer, callsTo, eventually } from '../../../support/running-davit.ts';

const PUBLIC = 'https://davit.example';
const CALLBACK = `${PUBLIC}/v2/auth/callback/`;
const VAULT = 'davit-oauth';

let server: OAuthTestServer;
/** Another one, which takes clients by their documents. */
let modern: OAuthTestServer;
let davit: Davit;
let tenant: Tenant;
let other: Tenant;
let second: { url: string; supervised: Supervised };
let browser: Browser;
let people = 0;
let user: string;
/** All that was ever secret: it must be in no log. */
const secrets = new Set<string>();
function note(secret: string | null | undefined): void {
  if (secret) secrets.add(secret);
}
/** Davit's pages, and its answers that are errors: nothing of it may be there either. */
const told: string[] = [];

beforeAll(async () => {
  server = await startOAuthServer(
    ['idp', 'remade', 'moved', 'plain', 'ending', 'swapped', 'chat', 'google_workspace'].map((id) => CALLBACK + id),
  );
  const documents = { origin: PUBLIC, at: '' };
  modern = await startOAuthServer([], documents);
  davit = await startDavit('apiserver', {
    auditLog: true,
    values: {
      'settings.http.publicUrl': PUBLIC,
      'settings.oauth.hosts': [
        ...[server, modern].map(({ host, ca }) => ({ host, addresses: ['127.0.0.1'], ca })),
        { host: 'localhost:1' },
      ],
    },
  });
  documents.at = davit.apiUrl;
  [tenant, other] = (await Promise.all(['agents', 'others'].map((name) => davit.knownTenant(name)))) as [
    Tenant,
    Tenant,
  ];
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (const { namespace } of [tenant, other])
    await davit.cluster.kubectl(
      `create rolebinding agent -n ${namespace} --clusterrole=davit-agent --serviceaccount=${namespace}:team`.split(
        ' ',
      ),
    );
  await provider('idp');
  const settings = await davit.cluster.kubectl(
    `get configmap davit-settings -n ${DAVIT_NAMESPACE} -o jsonpath={.data.settings\\.yaml}`.split(' '),
  );
  await eventually(async () => expect((await authenticate({ user_id: 'first' })).status).toBe(200));
  await agePresentKey();
  second = await startApi(davit.cluster, settings);
}, 600_000);
afterAll(async () => {
  await second?.supervised.stop();
  await davit?.stop();
  await server?.close();
  await modern?.close();
}, 60_000);
beforeEach(() => {
  server.lifetime = 3600;
  server.isRefusing = false;
  server.fault = undefined;
  server.grants.length = 0;
  user = `person-${(people += 1)}`;
  browser = newBrowser();
});

function newBrowser({ ca } = server): Browser {
  const made = makeBrowser({ [PUBLIC]: davit.apiUrl }, ca);
  const noted = async (visit: Promise<Visited>): Promise<Visited> => {
    const visited = await visit;
    // A redirect that was not followed is the provider's.
    if (visited.url.startsWith(PUBLIC) && visited.headers['location'] === undefined) told.push(visited.body);
    return visited;
  };
  return {
    open: (...args) => noted(made.open(...args)),
    submit: (...args) => noted(made.submit(...args)),
    close: made.close,
  };
}

/** The second replica then finds a key that is due, and rotates it. */
async function agePresentKey(): Promise<void> {
  const ref = ['secret', 'davit-oauth-keys', '-n', DAVIT_NAMESPACE];
  const text = await davit.cluster.kubectl(['get', ...ref, '-o', 'jsonpath={.data.keys\\.json}']);
  const ring = JSON.parse(Buffer.from(text, 'base64').toString()) as { keys: { createdAt: string }[] };
  for (const key of ring.keys) key.createdAt = '2020-01-01T00:00:00.000Z';
  const data = { 'keys.json': Buffer.from(JSON.stringify(ring)).toString('base64') };
  await davit.cluster.kubectl(['patch', ...ref, '--type=merge', '-p', JSON.stringify({ data })]);
}

async function provider(id: string, more: object = {}): Promise<void> {
  const answer = await davit.call(tenant, 'POST', '/v2/auth/providers', {
    ...providerPayload(server, id, `Provider <${id}>`),
    ...more,
  });
  expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
}

async function authenticate(more: object = {}, { as = tenant, at = davit.call } = {}): Promise<Answer> {
  const body = { provider: 'idp', scopes: ['api:read'], user_id: user, ...more };
  const answer = await at(as, 'POST', '/v2/auth/authenticate', body);
  if (answer.body.token) secrets.add(answer.body.token);
  if (answer.status !== 200) told.push(JSON.stringify(answer.body));
  // Whoever has it can open the page.
  if (answer.body.auth_id) secrets.add(answer.body.auth_id.split('.')[1]);
  return answer;
}

/** From the link of an agent to the provider's answer, which is not delivered. */
async function consent(url: string, using = browser): Promise<string> {
  const page = await using.open(url);
  expect([page.status, page.headers['cache-control'], page.headers['referrer-policy']]).toEqual([
    200,
    'no-store',
    'no-referrer',
  ]);
  const { url: back } = await using.submit(url, (next) => next.startsWith(PUBLIC));
  for (const name of ['code', 'state']) note(new URL(back).searchParams.get(name));
  return back;
}

/** A token that this person has given. */
async function connected(more: object = {}): Promise<string> {
  const { body } = await authenticate(more);
  const end = await browser.open(await consent(body.url));
  expect([end.status, end.body]).toEqual([200, expect.stringContaining('<h1>Connected</h1>')]);
  const { body: got } = await authenticate(more);
  expect(got).toMatchObject({ status: 'completed', url: null, user_id: user, token: expect.any(String) });
  return got.token;
}

const entries = async (kind: string): Promise<string[]> =>
  (await davit.cluster.kubectl(['get', 'secrets', '-n', VAULT, '-l', `davit.dev/oauth=${kind}`, '-o', 'name']))
    .split('\n')
    .filter(Boolean);

describe('a person', () => {
  it('consents once, and the agent gets the token, from any replica', async () => {
    const first = await authenticate({ agent_id: 'triage <b>' });
    expect(first.body).toMatchObject({
      status: 'pending',
      token: null,
      url: expect.stringContaining(`${PUBLIC}/v2/auth/consent/`),
    });
    // A second request gets the same link.
    expect((await authenticate({ agent_id: 'triage <b>' })).body).toEqual(first.body);
    const elsewhere = callsTo(second.url);
    const waiting = elsewhere(tenant, 'GET', `/v2/auth/wait/${first.body.auth_id}?timeout=60`);
    const page = await browser.open(first.body.url);
    for (const text of ['triage &#60;b&#62;', user, 'api:read', `system:serviceaccount:${tenant.namespace}:team`])
      expect(page.body).toContain(text);
    expect(page.headers['content-security-policy']).toContain(`default-src 'none'; style-src 'sha256-`);
    expect(page.headers['content-security-policy']).toContain(
      `form-action 'self' ${server.issuer}; frame-ancestors 'none'`,
    );
    const cookie = String(page.headers['set-cookie']);
    note(/=([^;]*)/.exec(cookie)?.[1]);
    expect(cookie).toMatch(/^__Host-davit-oauth=[^;]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax;/);
    const end = await makeEnd(first.body.url);
    expect(end.status).toBe(200);
    const waited = await waiting;
    expect(waited.body).toEqual({ status: 'completed', token: expect.any(String) });
    secrets.add(waited.body.token);
    expect((await authenticate({ agent_id: 'triage <b>' }, { at: elsewhere })).body).toMatchObject({
      token: waited.body.token,
    });
    // What was given to one agent is for that agent alone.
    expect((await authenticate()).body).toMatchObject({ status: 'pending', token: null });
    expect((await authenticate({ agent_id: 'another' })).body.status).toBe('pending');
    expect((await authenticate({}, { as: other })).body.status).toBe('pending');
  });

  async function makeEnd(url: string): Promise<Visited> {
    return browser.open(await consent(url));
  }

  it('who refuses gives no token, and who waits learns it', async () => {
    server.isRefusing = true;
    const { body } = await authenticate();
    const waiting = davit.call(tenant, 'GET', `/v2/auth/wait/${body.auth_id}?timeout=60`);
    const end = await makeEnd(body.url);
    expect([end.status, end.body]).toEqual([200, expect.stringContaining('answered access_denied')]);
    expect((await waiting).body).toEqual({ status: 'not_found', token: null });
    expect((await authenticate()).body.status).toBe('pending');
  });

  it('who does nothing is waited for as long as was asked', async () => {
    const { body } = await authenticate();
    const path = `/v2/auth/wait/${body.auth_id}?timeout=1`;
    expect((await davit.call(tenant, 'GET', path)).body).toEqual({ status: 'timeout', token: null });
    expect((await davit.call(other, 'GET', path)).body).toEqual({ status: 'not_found', token: null });
    const guessed = `${body.auth_id.slice(0, -43)}${'a'.repeat(43)}`;
    expect((await davit.call(tenant, 'GET', `/v2/auth/wait/${guessed}`)).body).toEqual({
      status: 'not_found',
      token: null,
    });
    expect((await browser.open(`${PUBLIC}/v2/auth/consent/${guessed}`)).status).toBe(404);
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
  note(searchParams.get('state'));
  expect([searchParams.get('user_scope'), searchParams.get('scope')]).toEqual(['chat:write,search:read', null]);
  await davit.call(tenant, 'DELETE', '/v2/auth/providers/chat');
});

it('a provider has an id that no object can be named, at every step', async () => {
  const named = { provider: 'google_workspace' };
  await provider(named.provider);
  const token = await connected(named);
  const query = `provider_id=${named.provider}&user_id=${user}`;
  expect((await davit.call(tenant, 'GET', `/v2/auth/tokens?${query}`)).body).toMatchObject([
    { provider_id: named.provider },
  ]);
  expect((await authenticate(named)).body.token).toBe(token);
  expect((await authenticate({ provider: 'google-workspace-cf112e7e' })).status).toBe(404);
  const bad = await authenticate({ provider: 'google workspace' });
  expect([bad.status, JSON.stringify(bad.body.detail)]).toEqual([
    422,
    expect.stringContaining('must have only letters, digits, ., _ and -'),
  ]);
  server.seen.length = 0;
  expect((await davit.call(tenant, 'DELETE', `/v2/auth/providers/${named.provider}`)).status).toBe(200);
  await eventually(async () => expect(await tokensOf(user)).toEqual([]), 60_000);
  expect(server.seen).toContain('/token/revocation');
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
    const victim = newBrowser();
    expect((await rejected(back, victim)).status).toBe(403);
    expect((await rejected(back)).status).toBe(404);
    // Another browser that has a cookie of its own is another browser.
    const again = await consent(body.url);
    await victim.open(body.url);
    expect((await rejected(again, victim)).status).toBe(403);
  });

  it('a form that another site sends begins nothing', async () => {
    const { body } = await authenticate();
    expect((await newBrowser().submit(body.url)).status).toBe(403);
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
    for (const name of await entries('state')) {
      const key = 'davit.dev/oauth-entry';
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const object = JSON.parse(await davit.cluster.kubectl(['get', name, '-n', VAULT, '-o', 'json'])) as {
        metadata: { annotations: Record<string, string> };
      };
      const entry = JSON.parse(object.metadata.annotations[key] ?? '') as { about: object };
      const aged = JSON.stringify({ ...entry, about: { expiresAt: '2020-01-01T00:00:00Z' } });
      // oxlint-disable-next-line no-await-in-loop -- as above
      await davit.cluster.kubectl(['annotate', name, '-n', VAULT, '--overwrite', `${key}=${aged}`]);
    }
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
    expect(await tokensOf(user)).toEqual([]);
  });

  it('that names an issuer is rejected where the provider has none', async () => {
    await provider('plain', { issuer: undefined });
    const { body } = await authenticate({ provider: 'plain' });
    const back = await consent(body.url);
    expect(new URL(back).searchParams.get('iss')).toBe(server.issuer);
    expect((await rejected(back)).status).toBe(502);
    await davit.call(tenant, 'DELETE', '/v2/auth/providers/plain');
  });

  it('is sent to no redirect URI that is not registered', async () => {
    await provider('unregistered');
    const { body } = await authenticate({ provider: 'unregistered' });
    await browser.open(body.url);
    const { status, url } = await browser.submit(body.url, (next) => next.startsWith(PUBLIC));
    expect([status, new URL(url).origin]).toEqual([400, server.issuer]);
    await davit.call(tenant, 'DELETE', '/v2/auth/providers/unregistered');
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
  it('is refreshed once, by whichever replica is first', async () => {
    server.lifetime = 1;
    const first = await connectedShortly();
    server.grants.length = 0;
    server.lifetime = 3600;
    const doors = [davit.call, callsTo(second.url)];
    // Whoever waits too long for the one that refreshes is told to come again.
    const ask = async (n: number): Promise<Answer> => {
      const answer = await authenticate({}, { at: doors[n % 2] ?? davit.call });
      return answer.status === 503 ? ask(n) : answer;
    };
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ask(n)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const tokens = new Set(answers.map(({ body }) => body.token));
    expect([tokens.size, tokens.has(first), tokens.has(null)]).toEqual([1, false, false]);
    expect(server.grants).toEqual(['refresh_token']);
  });

  /** The same as `connected`, without a first use. */
  async function connectedShortly(): Promise<string> {
    const { body } = await authenticate();
    const waiting = davit.call(tenant, 'GET', `/v2/auth/wait/${body.auth_id}?timeout=0`);
    await waiting;
    expect((await browser.open(await consent(body.url))).status).toBe(200);
    await sleep(1000);
    return '';
  }

  it('and was refreshed without an answer is not refreshed again', async () => {
    server.lifetime = 1;
    await connectedShortly();
    const [name = ''] = await tokensOf(user);
    await annotate(name, (entry) => ({
      ...entry,
      about: { ...entry.about, claim: { holder: 'gone', until: '2020-01-01T00:00:00Z' } },
    }));
    server.grants.length = 0;
    expect((await authenticate()).body).toMatchObject({
      status: 'token_expired',
      url: expect.any(String),
      token: null,
    });
    expect(server.grants).toEqual([]);
  });

  it('and was revoked by the provider is expired, and is not asked for again', async () => {
    server.lifetime = 1;
    await connectedShortly();
    server.fault = tokenFault((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":"invalid_grant"}');
    });
    server.seen.length = 0;
    for (let n = 0; n < 2; n += 1)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
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
    server.lifetime = 1;
    await connectedShortly();
    server.fault = tokenFault(fault);
    const begun = performance.now();
    expect((await authenticate()).status).toBe(status);
    expect(performance.now() - begun).toBeLessThan(20_000);
    server.fault = undefined;
    server.lifetime = 3600;
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

interface EntryText {
  readonly subject: { readonly user: string };
  readonly about: object;
}

async function tokensOf(person: string): Promise<string[]> {
  const { items } = JSON.parse(
    await davit.cluster.kubectl(['get', 'secrets', '-n', VAULT, '-l', 'davit.dev/oauth=token', '-o', 'json']),
  ) as { items: { metadata: { name: string; annotations: Record<string, string> } }[] };
  return items
    .filter(
      ({ metadata }) =>
        (JSON.parse(metadata.annotations['davit.dev/oauth-entry'] ?? '') as EntryText).subject.user === person,
    )
    .map(({ metadata }) => metadata.name);
}

async function annotate(name: string, change: (entry: EntryText) => EntryText): Promise<void> {
  const ref = ['secret', name, '-n', VAULT];
  const path = 'jsonpath={.metadata.annotations.davit\\.dev/oauth-entry}';
  const entry = JSON.parse(await davit.cluster.kubectl(['get', ...ref, '-o', path])) as EntryText;
  await davit.cluster.kubectl([
    'annotate',
    ...ref,
    '--overwrite',
    `davit.dev/oauth-entry=${JSON.stringify(change(entry))}`,
  ]);
}

describe('a token goes nowhere else', () => {
  const tokenPaths = (): number => server.seen.filter((path) => path.startsWith('/token')).length;

  it.each([
    ['another token endpoint', { tokenUrl: 'https://localhost:1/token' }],
    ['another client', { clientId: 'mine' }],
    ['another issuer', { issuer: 'https://localhost:1' }],
    ['another revocation endpoint', { revocationUrl: 'https://localhost:1/revoke' }],
  ])('if its provider gets %s', async (_name, spec) => {
    await provider('moved');
    await connected({ provider: 'moved' });
    const patch = [
      '-n',
      ORGANIZATION_NAMESPACE,
      'patch',
      'oap',
      'moved',
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ];
    await davit.cluster.kubectl(patch);
    const before = tokenPaths();
    await eventually(async () =>
      expect((await authenticate({ provider: 'moved' })).body).toMatchObject({
        status: 'connection_required',
        token: null,
      }),
    );
    const query = `provider_id=moved&user_id=${user}`;
    expect((await davit.call(tenant, 'DELETE', `/v2/auth/tokens?${query}`)).status).toBe(200);
    expect(tokenPaths()).toBe(before);
    await davit.call(tenant, 'DELETE', '/v2/auth/providers/moved');
  });

  it('if its provider is deleted and made again', async () => {
    await provider('remade');
    await connected({ provider: 'remade' });
    await davit.call(tenant, 'DELETE', '/v2/auth/providers/remade');
    await provider('remade');
    const before = tokenPaths();
    await eventually(async () =>
      expect((await authenticate({ provider: 'remade' })).body).toMatchObject({
        status: 'connection_required',
        token: null,
      }),
    );
    expect(tokenPaths()).toBe(before);
  });
});

it('an issuer is compared with the metadata of its server', async () => {
  const said = (id: string): Promise<string> =>
    davit.cluster.kubectl(
      `get oap ${id} -n ${ORGANIZATION_NAMESPACE} -o jsonpath={.status.conditions[?(@.type=="IssuerKnown")].reason}`.split(
        ' ',
      ),
    );
  await eventually(async () => expect(await said('idp')).toBe('MetadataFound'), 60_000);
  await provider('plain', { token_url: 'https://localhost:1/token' });
  await eventually(async () => expect(await said('plain')).toBe('IssuerUnknown'), 60_000);
  // It informs, and nothing more.
  const ready = `wait --for=condition=Ready oap/plain -n ${ORGANIZATION_NAMESPACE} --timeout=30s`;
  await davit.cluster.kubectl(ready.split(' '));
  await davit.call(tenant, 'DELETE', '/v2/auth/providers/plain');
});

it('another client secret sends a token nowhere else, and keeps it', async () => {
  await provider('swapped');
  server.lifetime = 1;
  const { body } = await authenticate({ provider: 'swapped' });
  expect((await browser.open(await consent(body.url))).status).toBe(200);
  await sleep(1000);
  server.lifetime = 3600;
  const swap = (client_secret: string): Promise<Answer> =>
    davit.call(tenant, 'PATCH', '/v2/auth/providers/swapped', { client_secret });
  expect((await swap('of-an-editor')).status).toBe(200);
  await eventually(async () => expect((await authenticate({ provider: 'swapped' })).status).toBe(502));
  expect(server.grants).not.toContain('refresh_token');
  expect((await swap(server.client.secret)).status).toBe(200);
  await eventually(async () =>
    expect((await authenticate({ provider: 'swapped' })).body).toMatchObject({ status: 'completed' }),
  );
});

describe('tokens', () => {
  const tokens = (query: string, as = tenant): Promise<Answer> => davit.call(as, 'GET', `/v2/auth/tokens?${query}`);

  it('are listed without values, described, and revoked before they are deleted', async () => {
    const token = await connected();
    const { body } = await tokens(`user_id=${user}`);
    expect(body).toMatchObject([
      { provider_id: 'idp', user_id: user, scopes: ['api:read'], is_default: true, metadata: {} },
    ]);
    expect(JSON.stringify(body)).not.toContain(token);
    const [{ id }] = body;
    const query = `user_id=${user}`;
    const patched = await davit.call(tenant, 'PATCH', `/v2/auth/tokens/${id}/metadata?${query}`, {
      metadata: { account: 'ada' },
    });
    expect(patched.body.metadata).toEqual({ account: 'ada' });
    expect((await authenticate()).body.metadata).toEqual({ account: 'ada' });
    // By another person, another tenant, and without a word of whose it is.
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (const [as, more] of [
      [tenant, 'user_id=nobody'],
      [other, query],
      [tenant, ''],
    ] as const)
      expect((await davit.call(as, 'DELETE', `/v2/auth/tokens/${id}?${more}`)).status).toBe(404);
    server.fault = (request, response) => {
      if (request.url !== '/token/revocation') return false;
      response.socket?.destroy();
      return true;
    };
    expect((await davit.call(tenant, 'DELETE', `/v2/auth/tokens/${id}?${query}`)).status).toBe(502);
    server.fault = undefined;
    server.seen.length = 0;
    expect((await davit.call(tenant, 'DELETE', `/v2/auth/tokens/${id}?${query}`)).status).toBe(204);
    expect(server.seen).toContain('/token/revocation');
    expect((await tokens(query)).body).toEqual([]);
    expect((await authenticate()).body.status).toBe('pending');
  });

  it("of one person are not deleted with another's", async () => {
    await connected();
    const mine = await davit.call(tenant, 'DELETE', '/v2/auth/tokens?provider_id=idp');
    expect([mine.status, mine.body.provider_id]).toEqual([200, 'idp']);
    const exists = `/v2/auth/tokens/exists?provider_id=idp&user_id=${user}`;
    expect((await davit.call(tenant, 'GET', exists)).body).toEqual({ has_token: true });
    expect((await davit.call(tenant, 'DELETE', `/v2/auth/tokens?provider_id=idp&user_id=${user}`)).status).toBe(200);
    expect((await davit.call(tenant, 'GET', exists)).body).toEqual({ has_token: false });
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
    const made = await davit.call(tenant, 'POST', `${path}?${query}`, { oauth_token_id: id });
    expect([made.status, made.body]).toMatchObject([
      201,
      { agent_id: 'helper', oauth_token_id: id, provider_id: 'idp' },
    ]);
    expect((await authenticate(agent)).body).toMatchObject({ status: 'completed', token });
    expect((await davit.call(tenant, 'GET', `${path}?${query}`)).body).toEqual({ data: [made.body] });
    expect((await davit.call(other, 'GET', `${path}?${query}`)).body).toEqual({ data: [] });
    expect((await davit.call(tenant, 'DELETE', `${path}/${made.body.id}?${query}`)).status).toBe(204);
    expect((await authenticate(agent)).body.status).toBe('connection_required');
  });
});

describe('an MCP server', () => {
  const discover = (more: object = {}): Promise<Answer> =>
    davit.call(tenant, 'POST', '/v2/auth/providers/mcp-discover', {
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
    server.lifetime = 1;
    await eventually(async () => expect((await authenticate({ provider: 'notes' })).body.status).toBe('pending'));
    const { body: link } = await authenticate({ provider: 'notes' });
    expect((await browser.open(await consent(link.url))).status).toBe(200);
    await sleep(1000);
    server.lifetime = 3600;
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
    const served = await fetch(address.replace(PUBLIC, davit.apiUrl));
    expect(await served.json()).toEqual({
      client_id: address,
      client_name: 'Davit: Notes',
      redirect_uris: [CALLBACK + id],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
    // Others have another client, and no document.
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (const other of ['idp', 'absent'])
      expect((await fetch(`${davit.apiUrl}/v2/auth/clients/${other}`)).status).toBe(404);
    await eventually(async () => expect((await authenticate({ provider: id })).body.status).toBe('pending'));
    const { body: link } = await authenticate({ provider: id });
    const using = newBrowser(modern);
    expect((await using.open(await consent(link.url, using))).status).toBe(200);
    expect((await authenticate({ provider: id })).body).toMatchObject({
      status: 'completed',
      token: expect.any(String),
    });
    expect(modern.grants).toEqual(['authorization_code']);
    expect((await davit.call(tenant, 'DELETE', `/v2/auth/providers/${id}`)).status).toBe(200);
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

/** The person who has given a token to a pod. */
let agentOfShop: string;

describe('a pod with nothing but its projected token', () => {
  const account = 'agent';
  const tokenOf = new Map<string, Tenant>();

  async function deploy(name: string): Promise<void> {
    const answer = await davit.call(tenant, 'POST', '/v2/deployments', {
      name,
      source: 'external_docker',
      source_config: {
        runtime: { api_token: true, database: 'none', redis: 'none' },
        resource_spec: { service_account_name: account },
      },
      source_revision_config: { image_uri: 'registry.example/agent:1' },
      secrets: [],
    });
    expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
    tokenOf.set(name, await eventually(() => ofPod(name)));
  }

  /** What the kubelet would put into the pod's file. */
  async function ofPod(deployment: string): Promise<Tenant> {
    const selector = ['-n', tenant.namespace, '-l', `davit.dev/deployment=${deployment}`, '-o', 'json'];
    const [pod] = (
      JSON.parse(await davit.cluster.kubectl(['get', 'pods', ...selector])) as {
        items: { metadata: { name: string; uid: string }; spec: { volumes: { name: string; projected?: object }[] } }[];
      }
    ).items;
    if (!pod) throw new Error(`${deployment} has no pod`);
    expect(pod.spec.volumes.find(({ name }) => name === 'davit-api-token')?.projected).toMatchObject({
      sources: [{ serviceAccountToken: { audience: 'davit', path: 'token' } }],
    });
    const { name, uid } = pod.metadata;
    return ofAccount(`--bound-object-kind=Pod --bound-object-name=${name} --bound-object-uid=${uid}`);
  }

  /** No tenant is named: it is that of the account. */
  async function ofAccount(bound = ''): Promise<Tenant> {
    const ask = `create token ${account} -n ${tenant.namespace} --audience=davit ${bound}`.trim().split(' ');
    const token = (await davit.cluster.kubectl(ask)).trim();
    secrets.add(token);
    return { namespace: tenant.namespace, id: '', token };
  }
  const as = (name: string): { as: Tenant } => ({ as: tokenOf.get(name) as Tenant });

  beforeAll(async () => {
    await davit.cluster.kubectl(['create', 'serviceaccount', account, '-n', tenant.namespace]);
    await Promise.all(['shop', 'bazaar'].map(deploy));
  }, 120_000);

  it('needs the right of its service account', async () => {
    const { status, body } = await authenticate({}, as('shop'));
    expect([status, body.detail]).toEqual([403, expect.stringContaining('role davit-agent')]);
    const binding = `create rolebinding agents -n ${tenant.namespace} --clusterrole=davit-agent --serviceaccount=${tenant.namespace}:${account}`;
    await davit.cluster.kubectl(binding.split(' '));
    await eventually(async () => expect((await authenticate({}, as('shop'))).status).toBe(200));
  });

  it('gets the token of its deployment, which no other one gets for the same agent_id', async () => {
    const agent = { agent_id: 'triage' };
    agentOfShop = user;
    const { body } = await authenticate(agent, as('shop'));
    expect((await browser.open(body.url)).body).toContain('<dt>Deployment that asks</dt><dd>shop</dd>');
    expect((await browser.open(await consent(body.url))).status).toBe(200);
    const { body: got } = await authenticate(agent, as('shop'));
    expect(got).toMatchObject({ status: 'completed', token: expect.any(String) });
    expect((await davit.call(tokenOf.get('shop') as Tenant, 'GET', `/v2/auth/wait/${body.auth_id}`)).body).toEqual({
      status: 'completed',
      token: got.token,
    });
    expect((await authenticate(agent, as('bazaar'))).body).toMatchObject({ status: 'pending', token: null });
    // Nor by the token's id, which it may list.
    const stolen = await authenticate({ ...agent, token_id: got.token_id }, as('bazaar'));
    expect(stolen.body).toMatchObject({ token: null });
    expect((await authenticate(agent)).body).toMatchObject({ status: 'pending', token: null });
  });

  it('reaches nothing else with it', async () => {
    const shop = tokenOf.get('shop') as Tenant;
    expect((await davit.call(shop, 'GET', '/v2/deployments')).status).toBe(403);
    // The API server asks itself whether it would take the token.
    const { token } = shop;
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const answer = await davit.cluster.kubectl(['create', '-o', 'json', '-f', '-'], { input: JSON.stringify(review) });
    expect(JSON.parse(answer)).toMatchObject({ status: { error: expect.stringContaining('audience') } });
  });

  it('is refused with the token of no pod, and when the pod is gone', async () => {
    const { status, body } = await authenticate({}, { as: await ofAccount() });
    expect([status, body.detail]).toEqual([403, expect.stringContaining('It is bound to no pod')]);
    const gone = `-n ${tenant.namespace} delete pod -l davit.dev/deployment=bazaar --grace-period=0 --force`;
    await davit.cluster.kubectl(gone.split(' '));
    await eventually(async () => expect((await authenticate({}, as('bazaar'))).status).toBe(401), 30_000);
    // The next pod is of the same deployment.
    tokenOf.set('bazaar', await eventually(() => ofPod('bazaar')));
    expect((await authenticate({}, as('bazaar'))).status).toBe(200);
  });
});

describe('an end', () => {
  it('of a provider revokes its tokens and deletes them', async () => {
    await provider('ending');
    await connected({ provider: 'ending', agent_id: 'triage' });
    server.seen.length = 0;
    expect((await davit.call(tenant, 'DELETE', '/v2/auth/providers/ending')).status).toBe(200);
    await eventually(async () => expect(await tokensOf(user)).toEqual([]), 60_000);
    expect(server.seen).toContain('/token/revocation');
  });

  it('of the provider of an MCP server deletes the client that was registered', async () => {
    const { body } = await davit.call(tenant, 'GET', '/v2/auth/providers/notes');
    expect((await entries('client')).length).toBe(1);
    expect((await davit.call(tenant, 'DELETE', '/v2/auth/providers/notes')).status).toBe(200);
    await eventually(async () => expect(await entries('client')).toEqual([]), 60_000);
    expect(server.seen).toContain(`/reg/${body.client_id}`);
  });

  it('of a deployment ends the tokens of its agents', async () => {
    await davit.cluster.kubectl(['delete', 'appd', 'shop', 'bazaar', '-n', tenant.namespace, '--timeout=60s']);
    await eventually(async () => expect(await tokensOf(agentOfShop)).toEqual([]), 60_000);
  });

  it('of a tenant ends its tokens', async () => {
    const { body } = await authenticate({}, { as: other });
    expect((await browser.open(await consent(body.url))).status).toBe(200);
    expect(await tokensOf(user)).toHaveLength(1);
    server.seen.length = 0;
    await davit.cluster.kubectl(['delete', 'namespace', other.namespace, '--timeout=120s']);
    await eventually(async () => expect(await tokensOf(user)).toEqual([]), 60_000);
    expect(server.seen).toContain('/token/revocation');
  });
});

describe('rights', () => {
  it('name single providers, and are needed in the tenant', async () => {
    const { namespace } = tenant;
    await davit.cluster.kubectl(['create', 'serviceaccount', 'narrow', '-n', namespace]);
    const narrow = { ...tenant, token: await davit.cluster.tokenFor(namespace, 'narrow') };
    const refused = await authenticate({}, { as: narrow });
    expect(refused.status).toBe(403);
    const nowhere = await authenticate({}, { as: { ...narrow, id: 'no-such-tenant' } });
    expect([nowhere.status, nowhere.body]).toEqual([403, refused.body]);
    const role = {
      apiGroups: ['davit.dev'],
      resources: ['oauthproviders'],
      resourceNames: ['idp'],
      verbs: ['authenticate'],
    };
    const subject = { kind: 'ServiceAccount', name: 'narrow', namespace };
    const rbac = 'rbac.authorization.k8s.io';
    const objects = [
      { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: 'narrow', namespace }, rules: [role] },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'narrow', namespace },
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'narrow' },
        subjects: [subject],
      },
    ];
    await davit.cluster.kubectl(['apply', '-f', '-'], { input: objects.map((one) => JSON.stringify(one)).join('\n') });
    // Ten seconds of a cached review.
    await eventually(async () => expect((await authenticate({}, { as: narrow })).body.status).toBe('pending'), 30_000);
    expect((await authenticate({ provider: 'absent' }, { as: narrow })).status).toBe(403);
    expect((await davit.call(narrow, 'GET', '/v2/auth/tokens')).status).toBe(403);
    expect((await davit.call(narrow, 'GET', '/v2/auth/tokens?provider_id=idp')).status).toBe(200);
  });

  it('of the API are for its own Secrets alone', async () => {
    const make = (name: string, namespace: string, type = 'Opaque'): Promise<string> =>
      davit.cluster
        .kubectl(['create', '--dry-run=server', '-f', '-', `--as=system:serviceaccount:${DAVIT_NAMESPACE}:davit-api`], {
          input: JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, type }),
        })
        .catch((error: Error) => error.message);
    expect(await make('token-00', VAULT)).toContain('created');
    expect(await make('anything', VAULT)).toContain('makes only client secrets');
    expect(await make('token-00', DAVIT_NAMESPACE)).toContain('makes only client secrets');
    expect(await make('token-00', VAULT, 'example.com/other')).toContain('makes only client secrets');
    expect(await make('token-00', tenant.namespace)).toContain('forbidden');
  });

  it('of the API are those that it uses, and no other', async () => {
    const { used, refused } = await asked(davit.cluster, 'davit-api');
    expect([...refused]).toEqual([]);
    const rights = await granted(
      davit.cluster,
      ['-n', VAULT, 'role', 'davit-api-oauth'],
      ['-n', DAVIT_NAMESPACE, 'role', 'davit-api-own'],
    );
    expect(idle(rights, used)).toEqual([]);
    const reviews = ['create authentication.k8s.io/tokenreviews', 'create authorization.k8s.io/subjectaccessreviews'];
    const ofPods = [...reviews, 'get /pods'];
    const everywhere = await granted(davit.cluster, ['clusterrole', 'davit-api']);
    expect(ofPods.filter((right) => !everywhere.has(right) || !used.has(right))).toEqual([]);
  });
});

it('codes, verifiers and tokens are in no object, event, log, metric, error and page', async () => {
  await sleep(1000);
  const kinds = await davit.cluster.kubectl(['api-resources', '--verbs=list', '-o', 'name']);
  const stored = await davit.cluster.kubectl([
    'get',
    kinds.trim().split('\n').join(),
    '-A',
    '-o',
    'yaml',
    '--show-managed-fields',
  ]);
  const { logsDir } = davit.cluster;
  const logs = (await readdir(logsDir)).filter((name) => name.startsWith('davit-'));
  const texts = await Promise.all(logs.map((name) => readFile(join(logsDir, name), 'utf8')));
  const ports = [...texts.join('\n').matchAll(/"msg":"Started".*?"health":(\d+)|"health":(\d+).*?"msg":"Started"/g)];
  const metrics = await Promise.all(
    ports.map(async ([, port, other]) =>
      (await fetch(`http://127.0.0.1:${port ?? other}/metrics`).catch(() => undefined))?.text(),
    ),
  );
  expect(metrics.filter((text) => text?.includes('davit_')).length).toBeGreaterThan(1);
  for (const secret of [...server.secrets, ...modern.secrets]) secrets.add(secret);
  expect([secrets.size > 50, told.length > 20, stored.includes('kind: Event')]).toEqual([true, true, true]);
  expect(texts.join('')).toContain('/v2/auth/callback/idp');
  const everywhere = Object.entries({ stored, logs: texts.join(''), told: told.join(''), metrics: metrics.join('') });
  const found = [...secrets].flatMap((secret) => {
    const forms = [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')];
    return everywhere.flatMap(([where, text]) =>
      forms.some((form) => text.includes(form)) ? [`${where}: ${secret}`] : [],
    );
  });
  expect(found).toEqual([]);
});
