// `--oauth`: an OAuth server of the demo's own, a provider for it, and an agent that may get people's tokens. One person consents here;
// the commands that are printed do the same for another.

import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeBrowser } from '../support/cookie-browser.ts';
import { close } from '../support/http-servers.ts';
import { type OAuthTestServer, providerPayload, startOAuthServer } from '../support/oauth-server.ts';
import type { Values } from '../support/platform.ts';
import { call, type Stage } from './api-calls.ts';
import { DemoError } from './demo-cluster.ts';

/** An id as people write it. */
const PROVIDER = 'demo_idp';
const SCOPES = ['api:read'];
const GIVEN_BY = 'grace';
const LEFT = 'ada';

export interface DemoTokens {
  /** Of the chart, so that Davit knows where it is reached and where the OAuth server is. */
  readonly values: Values;
  /** Lets pods reach the HTTP API, which listens on loopback alone, at the machine's address. Returns values of the chart. */
  openToPods(hostAddress: string): Promise<Values>;
  /** Of Davit's processes. */
  readonly env: Readonly<Record<string, string>>;
  /** Makes the provider and the agent's right, and has one person consent. */
  setUp(stage: Stage, say: (line: string) => void): Promise<TokenFacts>;
  stop(): Promise<void>;
}

/** For scripts. */
export interface TokenFacts {
  readonly provider: string;
  readonly scopes: readonly string[];
  /** A person who has not consented yet. */
  readonly user: string;
  /** File with the authority of the OAuth server's certificate. */
  readonly ca: string;
}

export async function startDemoTokens(): Promise<DemoTokens> {
  // Known before Davit starts: redirect URIs begin with it. Browsers keep the cookie of the flow for this name without TLS.
  const port = await freePort();
  const publicUrl = `http://localhost:${port}`;
  const doors: Server[] = [];
  const server = await startOAuthServer([`${publicUrl}/v2/auth/callback/${PROVIDER}`]);
  return {
    values: {
      'settings.http.publicUrl': publicUrl,
      'settings.oauth.hosts': [{ host: server.host, addresses: ['127.0.0.1'], ca: server.ca }],
    },
    env: { DAVIT_HTTP_PORT: String(port) },
    async openToPods(hostAddress) {
      const door = createTcpServer((socket) => {
        const api = connect(port, '127.0.0.1');
        pipeline(socket, api, socket, () => undefined);
      });
      doors.push(door);
      await new Promise<void>((resolve) => door.listen(0, hostAddress, resolve));
      return { 'settings.http.podUrl': `http://${hostAddress}:${(door.address() as AddressInfo).port}` };
    },
    async setUp(stage, say) {
      const facts = await makeProvider(stage, server);
      say(`OAuth provider ${PROVIDER} is made, and agents of tenant ${stage.tenant.namespace} may get people's tokens`);
      await consent(stage, { server, publicUrl });
      say(`${GIVEN_BY} has consented on Davit's page, and an agent has got her token`);
      return facts;
    },
    async stop() {
      for (const door of doors) door.close();
      await server.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await close(server);
  return port;
}

async function makeProvider(stage: Stage, server: OAuthTestServer): Promise<TokenFacts> {
  const { cluster, tenant } = stage;
  const { namespace } = tenant;
  const binding = `create rolebinding agent -n ${namespace} --clusterrole=davit-agent --serviceaccount=${namespace}:team`;
  await cluster.target.kubectl(binding.split(' '));
  await call(stage, 'POST', '/v2/auth/providers', providerPayload(server, PROVIDER, 'Demo'));
  const ca = `${cluster.directory}/oauth-ca.pem`;
  await writeFile(ca, server.ca);
  return { provider: PROVIDER, scopes: SCOPES, user: LEFT, ca };
}

interface Authenticated {
  readonly status: string;
  readonly url: string | null;
}

/** The authorizer knows the new binding a moment later. */
async function authenticate(stage: Stage): Promise<Authenticated> {
  const body = { provider: PROVIDER, scopes: SCOPES, user_id: GIVEN_BY };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call<Authenticated>(stage, 'POST', '/v2/auth/authenticate', body);
    } catch (error) {
      if (attempt === 60 || !(error instanceof DemoError) || !error.message.includes(' 403 ')) throw error;
      await sleep(500);
    }
  }
}

async function consent(
  stage: Stage,
  { server, publicUrl }: { readonly server: OAuthTestServer; readonly publicUrl: string },
): Promise<void> {
  const { url } = await authenticate(stage);
  const browser = makeBrowser({ [publicUrl]: stage.platform.apiUrl }, server.ca);
  await browser.open(url ?? '');
  const end = await browser.submit(url ?? '');
  await browser.close();
  const { status } = await authenticate(stage);
  if (status !== 'completed') throw new DemoError(`An agent got no token: ${status}. Davit's page said: ${end.body}`);
}

/** What to type, to see the flow by hand. */
export function tokenCommands({ provider, scopes, user, ca }: TokenFacts): string[] {
  const body = JSON.stringify({ provider, scopes, user_id: user });
  return [
    `  curl -s -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' "$API/v2/auth/authenticate" -d '${body}' | tee asked.json   # pending, with a url`,
    `  URL=$(sed 's/.*"url":"\\([^"]*\\)".*/\\1/' asked.json)   # for a browser, which will not know the certificate of the OAuth server; or:`,
    `  curl -s -c jar "$URL"                                      # the page on which the person consents`,
    `  curl -sL -b jar -c jar --cacert ${ca} -d '' "$URL"   # Continue: to the OAuth server and back, to the page at the end`,
    '  The first command again then gives the token.',
  ];
}
