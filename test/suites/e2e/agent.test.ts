// An agent in a real pod that has nothing but its projected token: a person consents, and it gets the token, over TLS.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../cluster/certificates.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { freePort } from '../../cluster/control-plane.ts';
import { realPods } from '../../cluster/machine.ts';

import { type Browser, makeBrowser } from '../../support/cookie-browser.ts';
import { type OAuthTestServer, startOAuthServer } from '../../support/oauth-server.ts';
import { ORGANIZATION_NAMESPACE, type Platform, startPlatform, type Tenant } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { startSampleCluster } from '../../support/sample-cluster.ts';

const machine = await realPods((line) => void process.stderr.write(`  ${line}\n`));

const PUBLIC = 'https://davit.example';

/** As docs/agents.md has it in Python: the address, the token and the authority are what the pod has been given. */
const AGENT = `
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
const { DAVIT_API_URL, DAVIT_API_TOKEN_FILE, DAVIT_API_CA_FILE, PORT } = process.env;
const authenticate = (body) => new Promise((resolve, reject) => {
  const headers = { authorization: 'Bearer ' + readFileSync(DAVIT_API_TOKEN_FILE, 'utf8'), 'content-type': 'application/json' };
  const sent = request(DAVIT_API_URL + '/v2/auth/authenticate', { method: 'POST', headers, ca: readFileSync(DAVIT_API_CA_FILE) }, async (answer) => {
    let text = '';
    for await (const piece of answer) text += piece;
    resolve({ code: answer.statusCode, ...JSON.parse(text) });
  });
  sent.on('error', reject).end(JSON.stringify(body));
});
process.on('SIGTERM', () => process.exit(0));
createServer(async ({ url }, response) => {
  if (url === '/ok') return response.end();
  const body = { provider: 'idp', scopes: ['api:read'], user_id: 'ada', agent_id: 'assistant' };
  const answer = await authenticate(body).catch((error) => ({ error: String(error) }));
  response.end(JSON.stringify({ ...answer, hasOther: existsSync('/var/run/secrets/kubernetes.io') }));
}).listen(Number(PORT));
`;

// Without a kubelet nothing projects a token.
describe.skipIf(!machine.ok)('an agent in a pod', () => {
  let cluster: Cluster;
  let platform: Platform;
  let server: OAuthTestServer;
  let tenant: Tenant;
  let browser: Browser;
  let folder: string;
  let image: string;

  beforeAll(async () => {
    const started = await startSampleCluster({ pods: 'auto', progress: () => undefined });
    ({ cluster } = started);
    image = started.images.sample;
    server = await startOAuthServer([`${PUBLIC}/v2/auth/callback/idp`]);
    const { hostAddress } = cluster;
    const authority = makeAuthority('davit api');
    const { certificate, key } = authority.serving('davit-api', [hostAddress]);
    folder = await mkdtemp(join(tmpdir(), 'davit-agent-'));
    const [certificateFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    await Promise.all([writeFile(certificateFile, certificate), writeFile(keyFile, key)]);
    const port = await freePort(hostAddress);
    platform = await startPlatform(cluster, {
      env: {
        DAVIT_HTTP_HOST: hostAddress,
        DAVIT_HTTP_PORT: String(port),
        DAVIT_TLS_CERT: certificateFile,
        DAVIT_TLS_KEY: keyFile,
      },
      values: {
        'settings.http.publicUrl': PUBLIC,
        'settings.http.podUrl': `https://${hostAddress}:${port}`,
        'settings.http.podCaConfigMap': 'authorities',
        'settings.oauth.hosts': [{ host: server.host, addresses: ['127.0.0.1'], ca: server.ca }],
      },
    });
    browser = makeBrowser({ [PUBLIC]: platform.apiUrl }, `${server.ca}\n${authority.certificate}`);
    tenant = await platform.makeTenant('agents');
    const trusted = ['create', 'configmap', 'authorities', '-n', tenant.namespace];
    await cluster.kubectl([...trusted, `--from-literal=ca.crt=${authority.certificate}`]);
    const provider = {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'OAuthProvider',
      metadata: { name: 'idp', namespace: ORGANIZATION_NAMESPACE },
      spec: {
        name: 'IdP',
        clientId: server.client.id,
        clientSecretRef: { name: 'client', key: 'secret' },
        authUrl: `${server.issuer}/auth`,
        tokenUrl: `${server.issuer}/token`,
        issuer: server.issuer,
        usesPkce: true,
      },
    };
    const secret = ['create', 'secret', 'generic', 'client', '-n', ORGANIZATION_NAMESPACE];
    await cluster.kubectl([...secret, `--from-literal=secret=${server.client.secret}`]);
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(provider) });
  }, 400_000);
  afterAll(async () => {
    await browser?.close();
    await platform?.stop();
    await server?.close();
    await cluster?.stop();
    if (folder) await rm(folder, { recursive: true });
  }, 60_000);

  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
  async function ask(deployment: string): Promise<any> {
    const address = ['get', 'service', deployment, '-n', tenant.namespace, '-o', 'jsonpath={.spec.clusterIP}'];
    return (await fetch(`http://${(await cluster.kubectl(address)).trim()}/ask`)).json();
  }

  async function deploy(name: string): Promise<void> {
    const record = {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name, namespace: tenant.namespace },
      spec: {
        source: 'external_docker',
        sourceConfig: {
          resourceSpec: { cpu: 0.1, memoryMb: 128 },
          runtime: {
            apiToken: true,
            database: 'none',
            redis: 'none',
            server: { command: ['node', '--input-type=module', '-e', AGENT] },
          },
        },
        sourceRevisionConfig: { imageUri: image },
      },
    };
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(record) });
    await cluster.kubectl(`wait --for=condition=Ready appd/${name} -n ${tenant.namespace} --timeout=120s`.split(' '));
  }

  it('gets the token of a person who has consented, and has no other credential', async () => {
    await Promise.all([deploy('triage'), deploy('other')]);
    expect(await ask('triage')).toMatchObject({ code: 403, hasOther: false });
    const binding = `create rolebinding agents -n ${tenant.namespace} --clusterrole=davit-agent --serviceaccount=${tenant.namespace}:default`;
    await cluster.kubectl(binding.split(' '));
    const first = await eventually(async () => {
      const answer = await ask('triage');
      expect(answer).toMatchObject({ code: 200, status: 'pending', token: null });
      return answer;
    });
    const { url: back } = await browser.submit((await browser.open(first.url)).url, (next) => next.startsWith(PUBLIC));
    expect((await browser.open(back)).body).toContain('<h1>Connected</h1>');
    expect(await ask('triage')).toMatchObject({ code: 200, status: 'completed', token: expect.any(String) });
    expect(await ask('other')).toMatchObject({ code: 200, status: 'pending', token: null });
  }, 240_000);
});
