// An agent calls an MCP server of the protocol's SDK with the token of a person: Davit finds the server's own authorization, registers a
// client there, and keeps the token. docs/agents.md, "MCP servers".

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { type Browser, makeBrowser } from '../../support/cookie-browser.ts';
import { type McpTestServer, startMcpServer } from '../../support/mcp-server.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Answer, callsTo } from '../../support/running-davit.ts';
import { type Facade, listen, makeFacade, TENANT, TOKEN } from './facade.ts';

const PUBLIC = 'https://davit.example';
const tenant: Tenant = { ...TENANT, token: TOKEN };

let mcp: McpTestServer;
let facade: Facade;
let apiUrl: string;
let call: ReturnType<typeof callsTo>;
let browser: Browser;
let people = 0;
let user: string;

beforeAll(async () => {
  mcp = await startMcpServer();
  const settings = defaultSettings();
  facade = await makeFacade({
    oauth: { ...settings.oauth, hosts: [{ host: mcp.host, addresses: ['127.0.0.1'], ca: mcp.ca }] },
    http: { ...settings.http, publicUrl: PUBLIC },
  });
  apiUrl = await listen(facade);
  call = callsTo(apiUrl);
  const { status, body } = await discover('notes');
  expect([status, body.detail]).toEqual([200, undefined]);
});
afterAll(async () => {
  await facade?.app.close();
  await mcp?.close();
});
beforeEach(() => {
  user = `person-${(people += 1)}`;
  mcp.person = user;
  browser = makeBrowser({ [PUBLIC]: apiUrl }, mcp.ca);
});

function discover(id: string, url = mcp.url): Promise<Answer> {
  const discovery = { provider_id: id, name: 'Notes', mcp_server_url: url };
  return call(tenant, 'POST', '/v2/auth/providers/mcp-discover', discovery);
}

function authenticate(more: object = {}): Promise<Answer> {
  const body = { provider: 'notes', scopes: ['notes:read'], user_id: user, agent_id: 'secretary', ...more };
  return call(tenant, 'POST', '/v2/auth/authenticate', body);
}

async function connected(): Promise<string> {
  const { body } = await authenticate();
  await browser.open(body.url);
  const { url } = await browser.submit(body.url, (next) => next.startsWith(PUBLIC));
  expect((await browser.open(url)).body).toContain('<h1>Connected</h1>');
  const { body: got } = await authenticate();
  expect(got).toMatchObject({ status: 'completed', token: expect.any(String) });
  return got.token;
}

it("is found with its own authorization, and has a client of Davit's", async () => {
  const { body } = await call(tenant, 'GET', '/v2/auth/providers/notes');
  const origin = `https://${mcp.host}`;
  expect(body).toMatchObject({
    auth_url: `${origin}/authorize`,
    token_url: `${origin}/token`,
    revocation_url: `${origin}/revoke`,
    mcp_server_url: mcp.url,
    is_dynamic_client: true,
    uses_pkce: true,
  });
  expect(mcp.clients.get(body.client_id)?.redirect_uris).toEqual([`${PUBLIC}/v2/auth/callback/notes`]);
});

it('hears from an agent whose token it is', async () => {
  expect(await mcp.whoAmI(await connected())).toBe(user);
});

it('does not hear from who has no token, or a token that has expired', async () => {
  await expect(mcp.whoAmI('none')).rejects.toThrow('no such token');
  const token = await connected();
  mcp.expire();
  await expect(mcp.whoAmI(token)).rejects.toThrow('Token has expired');
});

it('gets a token that was refreshed once, however many ask', async () => {
  const before = await connected();
  facade.clock.ms += 3_600_000;
  const answers = await Promise.all(Array.from({ length: 10 }, () => authenticate()));
  const tokens = new Set(answers.map(({ body }) => body.token));
  expect([tokens.size, tokens.has(before), tokens.has(null)]).toEqual([1, false, false]);
  expect(await mcp.whoAmI([...tokens].join(''))).toBe(user);
});

it('does not hear from an agent whose token was deleted, which was revoked there', async () => {
  const token = await connected();
  const query = `provider_id=notes&user_id=${user}`;
  expect((await call(tenant, 'DELETE', `/v2/auth/tokens?${query}`)).status).toBe(200);
  expect(mcp.live.has(token)).toBe(false);
  await expect(mcp.whoAmI(token)).rejects.toThrow('no such token');
});

it('that does not exist gives no provider', async () => {
  const clients = mcp.clients.size;
  const { status, body } = await discover('none', mcp.url.replace('/mcp', '/none'));
  expect([status, body.detail]).toEqual([424, expect.stringContaining('/.well-known/oauth-protected-resource')]);
  expect(mcp.clients.size).toBe(clients);
});
