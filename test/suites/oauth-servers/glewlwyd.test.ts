// The flow of a person's token against a second OAuth server, in C, which has nothing in common with oidc-provider: glewlwyd, as Debian
// packages it. Davit's HTTP API is over an in-memory API server.

import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { discoverMcp } from '../../../src/tokens/oauth/discovery.ts';
import { guardedFetch } from '../../../src/tokens/oauth/guarded.ts';
import { makeAskIssuer } from '../../../src/tokens/oauth/issuer.ts';
import { makeServer, requestsOver } from '../../../src/tokens/oauth/server.ts';
import { makeAuthority } from '../../cluster/certificates.ts';
import { anOAuthProvider } from '../../support/builders.ts';
import { type Browser, makeBrowser } from '../../support/cookie-browser.ts';
import { type Glewlwyd, glewlwydHere, startGlewlwyd } from '../../support/glewlwyd.ts';
import { close } from '../../support/http-servers.ts';
import { leaked } from '../../support/people.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Answer, callsTo } from '../../support/running-davit.ts';
import { type Facade, listen, makeFacade, TENANT, TOKEN } from '../http/facade.ts';

const here = await glewlwydHere();
const why = 'missing' in here ? ` (left out: ${here.missing})` : '';
const PUBLIC = 'https://davit.example';
const PROVIDERS = ['gl', 'unnamed', 'wrong', 'notes'];
const tenant: Tenant = { ...TENANT, token: TOKEN };

describe.skipIf('missing' in here)(`glewlwyd${why}`, () => {
  let server: Glewlwyd;
  let mcp: { readonly url: string; readonly host: string; readonly ca: string; readonly server: Server };
  let facade: Facade;
  let apiUrl: string;
  let call: ReturnType<typeof callsTo>;
  let browser: Browser;
  let user: string;
  let people = 0;
  const secrets = new Set<string>();
  const told: string[] = [];

  beforeAll(async () => {
    if ('missing' in here) return;
    server = await startGlewlwyd(
      here.root,
      PROVIDERS.map((id) => `${PUBLIC}/v2/auth/callback/${id}`),
    );
    mcp = await startMcpServer(server.issuer);
    const settings = defaultSettings();
    const hosts = [server, mcp].map(({ host, ca }) => ({ host, addresses: ['127.0.0.1'], ca }));
    facade = await makeFacade({
      oauth: { ...settings.oauth, hosts },
      http: { ...settings.http, publicUrl: PUBLIC },
    });
    apiUrl = await listen(facade);
    call = callsTo(apiUrl);
    await provider('gl');
  });
  afterAll(async () => {
    await facade?.app.close();
    await server?.stop();
    if (mcp) await close(mcp.server);
  });
  beforeEach(() => {
    user = `person-${(people += 1)}`;
    browser = makeBrowser({ [PUBLIC]: apiUrl }, server.ca);
  });

  async function provider(id: string, more: object = {}): Promise<void> {
    const { issuer, client } = server;
    const answer = await call(tenant, 'POST', '/v2/auth/providers', {
      provider_id: id,
      name: `Glewlwyd ${id}`,
      client_id: client.id,
      client_secret: client.secret,
      auth_url: `${issuer}/auth`,
      token_url: `${issuer}/token`,
      revocation_url: `${issuer}/revoke`,
      token_endpoint_auth_method: 'client_secret_basic',
      issuer,
      uses_pkce: true,
      ...more,
    });
    expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
  }

  async function authenticate(more: object = {}): Promise<Answer> {
    const body = { provider: 'gl', scopes: [server.scope], user_id: user, ...more };
    const answer = await call(tenant, 'POST', '/v2/auth/authenticate', body);
    if (answer.body.token) secrets.add(answer.body.token);
    return answer;
  }

  /** From an agent's link to the answer of the server, which is not delivered. */
  async function consent(url: string): Promise<string> {
    await browser.open(url);
    const { url: asked } = await browser.submit(url, (next) => next.startsWith(server.issuer));
    expect(new URL(asked).searchParams.get('code_challenge_method')).toBe('S256');
    const back = await server.consent(browser, asked);
    for (const name of ['code', 'state']) {
      const secret = new URL(back).searchParams.get(name);
      if (secret !== null) secrets.add(secret);
    }
    return back;
  }

  async function deliver(back: string): Promise<[number, string]> {
    const { status, body } = await browser.open(back);
    told.push(body);
    return [status, body];
  }

  async function connected(more: object = {}): Promise<string> {
    const { body } = await authenticate(more);
    expect(await deliver(await consent(body.url))).toEqual([200, expect.stringContaining('<h1>Connected</h1>')]);
    const { body: got } = await authenticate(more);
    expect(got).toMatchObject({ status: 'completed', token: expect.any(String) });
    return got.token;
  }

  it('gives a token by a code with PKCE, which it requires', async () => {
    const token = await connected({ agent_id: 'triage' });
    expect(await server.isActive(token)).toBe(true);
    expect((await authenticate({ agent_id: 'another' })).body).toMatchObject({ status: 'pending', token: null });
  });

  it('refuses a code of another authorization: it has another verifier', async () => {
    const [mine, theirs] = [await authenticate(), await authenticate({ agent_id: 'of-an-attacker' })];
    const own = new URL(await consent(mine.body.url));
    const stolen = new URL(await consent(theirs.body.url));
    own.searchParams.set('code', stolen.searchParams.get('code') ?? '');
    expect(await deliver(own.href)).toEqual([502, expect.stringContaining('Nothing was stored')]);
    expect((await authenticate()).body.token).toBe(null);
  });

  it('names itself in its answers, which only a provider with its issuer accepts', async () => {
    await provider('unnamed', { issuer: undefined });
    const { body } = await authenticate({ provider: 'unnamed' });
    const back = await consent(body.url);
    expect(new URL(back).searchParams.get('iss')).toBe(server.issuer);
    expect((await deliver(back))[0]).toBe(502);
    const again = new URL(await consent((await authenticate()).body.url));
    again.searchParams.delete('iss');
    expect((await deliver(again.href))[0]).toBe(502);
  });

  it('refuses a scope that there is not, and the person is told', async () => {
    const { body } = await authenticate({ scopes: ['no:such'] });
    const [status, page] = await deliver(await consent(body.url));
    expect([status, page]).toEqual([502, expect.stringMatching(/did not grant access.*answered [a-z_]+\./s)]);
    expect((await authenticate({ scopes: ['no:such'] })).body.status).toBe('pending');
  });

  it('refuses another client secret', async () => {
    await provider('wrong', { client_secret: 'of-an-editor' });
    const { body } = await authenticate({ provider: 'wrong' });
    expect((await deliver(await consent(body.url)))[0]).toBe(502);
  });

  it('gets each refresh token once, however many ask', async () => {
    const first = await connected();
    // Refresh tokens are used once: a second refresh shows that the next one was kept.
    for (const last of [first, undefined]) {
      facade.clock.ms += 3_600_000;
      const answers = await Promise.all(Array.from({ length: 20 }, () => authenticate()));
      const tokens = new Set(answers.map(({ body }) => body.token));
      expect([tokens.size, tokens.has(null), last !== undefined && tokens.has(last)]).toEqual([1, false, false]);
      for (const token of tokens) expect(await server.isActive(token)).toBe(true);
    }
  });

  it('revokes what is deleted', async () => {
    const token = await connected();
    const query = `provider_id=gl&user_id=${user}`;
    const [{ id }] = (await call(tenant, 'GET', `/v2/auth/tokens?${query}`)).body;
    expect((await call(tenant, 'DELETE', `/v2/auth/tokens/${id}?${query}`)).status).toBe(204);
    expect(await server.isActive(token)).toBe(false);
    expect((await authenticate()).body.status).toBe('pending');
  });

  it('is found by its metadata, and what is not its own is told', async () => {
    const guarded = guardedFetch({ ...facade.settings });
    const ask = makeAskIssuer(requestsOver(guarded));
    const { issuer } = server;
    const own = { issuer, authUrl: `${issuer}/auth`, tokenUrl: `${issuer}/token` };
    expect(await ask(anOAuthProvider(own))).toMatchObject({ status: 'True', reason: 'MetadataFound' });
    const other = { ...own, tokenUrl: `${issuer}/other` };
    expect(await ask(anOAuthProvider(other))).toMatchObject({
      status: 'False',
      message: expect.stringContaining(`tokenUrl is not its token_endpoint ${issuer}/token`),
    });
    await guarded.close();
  });

  it('registers a client for an MCP server that names it', async () => {
    const discovery = { provider_id: 'notes', name: 'Notes', mcp_server_url: mcp.url };
    const { status, body } = await call(tenant, 'POST', '/v2/auth/providers/mcp-discover', discovery);
    const { issuer } = server;
    expect([status, body]).toMatchObject([
      200,
      {
        auth_url: `${issuer}/auth`,
        token_url: `${issuer}/token`,
        revocation_url: `${issuer}/revoke`,
        is_dynamic_client: true,
        uses_pkce: true,
      },
    ]);
    // Its metadata does not say that its answers have iss, though they do: an administrator has to say it.
    expect([body.issuer ?? undefined, body.client_id === server.client.id]).toEqual([undefined, false]);
    const before = await authenticate({ provider: 'notes' });
    expect((await deliver(await consent(before.body.url)))[0]).toBe(502);
    const patched = await call(tenant, 'PATCH', '/v2/auth/providers/notes', { issuer });
    expect([patched.status, patched.body.detail]).toEqual([200, undefined]);
    expect(await connected({ provider: 'notes' })).toEqual(expect.any(String));
  });

  it('takes back a client that was registered', async () => {
    const guarded = guardedFetch({ ...facade.settings });
    const options = requestsOver(guarded);
    const redirectUri = `${PUBLIC}/v2/auth/callback/notes`;
    const { registration } = await discoverMcp({ mcpServerUrl: mcp.url, redirectUri, clientName: 'Notes' }, options);
    const { uri, token } = registration ?? { uri: '', token: '' };
    const send = async (): Promise<number> =>
      (await guarded.fetch(uri, { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(4000) }))
        .status;
    expect(await send()).toBe(200);
    await makeServer(options).unregister(uri, token);
    expect(await send()).not.toBe(200);
    // A second time is as good.
    await makeServer(options).unregister(uri, token);
    await guarded.close();
  });

  it('and Davit keep secrets: none is in an object, a log or a page', () => {
    secrets.add(server.client.secret).add(server.person.password);
    const kept = facade.kube.objects(SECRETS).filter(({ metadata }) => metadata.namespace === 'davit-oauth');
    expect([secrets.size > 10, told.length > 5, kept.length > 3]).toEqual([true, true, true]);
    expect(leaked(secrets, { kept: JSON.stringify(kept), log: facade.log(), told: told.join('') })).toEqual([]);
  });
});

/** Has no tools, only the metadata by which clients find its OAuth server (RFC 9728). */
async function startMcpServer(issuer: string): Promise<{ url: string; host: string; ca: string; server: Server }> {
  const authority = makeAuthority('mcp server');
  const { certificate, key } = authority.serving('127.0.0.1', ['127.0.0.1']);
  let url = '';
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const isMetadata = request.url === '/.well-known/oauth-protected-resource/mcp';
    response.writeHead(isMetadata ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isMetadata ? { resource: url, authorization_servers: [issuer] } : {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  url = `https://${host}/mcp`;
  return { url, host, ca: authority.certificate, server };
}
