// The YAML of docs/sign-in.md, taken from the document, on a real kube-apiserver: who signs in so, and that the tokens of pods, whose audience has
// the same name as the page's client, are read beside.

import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeAuthority } from '../../../cluster/certificates.ts';
import { type Davit, startDavit } from '../../../kit/davit.ts';
import { fences, textOf } from '../../../support/documents/documented.ts';
import { close } from '../../../support/http-servers.ts';
import { ORGANIZATION_NAMESPACE, type Tenant } from '../../../support/platform.ts';
import { type Answer, eventually } from '../../../support/running-davit.ts';

interface Authentication {
  readonly jwt: { readonly issuer: { url: string; audiences: string[]; certificateAuthority?: string } }[];
}

const [AUTHENTICATION = '', BINDING = '', SETTINGS = ''] = fences(textOf('docs/sign-in.md'), 'yaml');
const { settings } = parse(SETTINGS) as {
  settings: { http: { publicUrl: string; oidc: { issuer: string; clientId: string } } };
};
const ADA = { sub: '0b1c', email: 'ada@example.com', email_verified: true, groups: ['team'] };
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

let server: Server;
let issuer: string;
let folder: string;
let davit: Davit;
let team: Tenant;

beforeAll(async () => {
  const authority = makeAuthority('issuer');
  const { certificate: cert, key } = authority.serving('127.0.0.1', ['127.0.0.1']);
  server = createServer({ cert, key }, ({ url }, response) => {
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
    const metadata = { issuer, jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: ['RS256'] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(url === '/keys' ? { keys: [jwk] } : metadata));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  folder = await mkdtemp(join(tmpdir(), 'davit-sign-in-'));
  const authentication = parse(AUTHENTICATION) as Authentication;
  expect([authentication.jwt[0]?.issuer.url, authentication.jwt[0]?.issuer.audiences]).toEqual([
    settings.http.oidc.issuer,
    [settings.http.oidc.clientId],
  ]);
  for (const one of authentication.jwt)
    Object.assign(one.issuer, { url: issuer, certificateAuthority: authority.certificate });
  const file = join(folder, 'authentication.json');
  await writeFile(file, JSON.stringify(authentication));
  davit = await startDavit('apiserver', {
    apiServerArgs: [`--authentication-config=${file}`],
    values: {
      'settings.http.publicUrl': settings.http.publicUrl,
      'settings.http.oidc': { ...settings.http.oidc, issuer },
      'settings.oauth.hosts': [{ host: 'idp.example' }],
    },
  });
  team = await davit.knownTenant('team');
  await davit.cluster.kubectl(['apply', '-f', '-'], { input: BINDING });
}, 600_000);
afterAll(async () => {
  await davit?.stop();
  if (server) await close(server);
  if (folder !== undefined) await rm(folder, { recursive: true });
}, 60_000);

/** The ID token that the page gets. */
function idToken(claims: object): string {
  const now = Math.floor(Date.now() / 1000);
  const parts = [
    { alg: 'RS256', kid: 'one' },
    { iss: issuer, aud: settings.http.oidc.clientId, iat: now, exp: now + 3600, ...claims },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const text = parts.join('.');
  return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
}

const list = (claims: object): Promise<Answer> =>
  davit.call({ ...team, token: idToken(claims) }, 'GET', '/v2/deployments');

it('a person whom the issuer names has the rights of her group', async () => {
  await eventually(async () => {
    const { status, body } = await list(ADA);
    expect([status, body.detail]).toEqual([200, undefined]);
  });
  const written = await davit.call({ ...team, token: idToken(ADA) }, 'POST', '/v2/deployments', deployment('hers'));
  expect(written.status).toBe(201);
  const record = JSON.parse(await davit.cluster.kubectl(['get', 'appd', 'hers', '-n', 'team', '-o', 'json'])) as {
    metadata: { annotations: Record<string, string> };
  };
  expect(record.metadata.annotations['davit.dev/requested-by']).toContain('oidc:ada@example.com');
});

it.each([
  ['whose address is not verified', { email_verified: false }, 401],
  ['of whose address nothing is verified', { email_verified: undefined }, 401],
  ['with a token for another client', { aud: 'other' }, 401],
  ['of no group that is bound', { groups: ['others'] }, 403],
])('somebody %s does not get in', async (_who, claims, status) => {
  expect((await list({ ...ADA, ...claims })).status).toBe(status);
});

const deployment = (name: string, more: object = {}): object => ({
  name,
  source: 'external_docker',
  source_config: { runtime: { database: 'none', redis: 'none', ...more } },
  source_revision_config: { image_uri: 'registry.example/agent:1' },
  secrets: [],
});

it("a pod gets people's tokens on the same platform", async () => {
  const { api, kubectl } = davit.cluster;
  const answer = await davit.call(team, 'POST', '/v2/deployments', deployment('agent', { api_token: true }));
  expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
  const rolebinding = ['create', 'rolebinding', 'agents', '--clusterrole=davit-agent', '--serviceaccount=team:default'];
  await kubectl([...rolebinding, '-n', 'team']);
  await api.call('POST', `/apis/davit.dev/v1alpha1/namespaces/${ORGANIZATION_NAMESPACE}/oauthproviders`, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { name: 'idp' },
    spec: {
      name: 'IdP',
      clientId: 'davit',
      authUrl: 'https://idp.example/auth',
      tokenUrl: 'https://idp.example/token',
      usesPkce: true,
      tokenEndpointAuthMethod: 'none',
    },
  });
  const { name, uid } = await eventually(async () => {
    const path = '/api/v1/namespaces/team/pods?labelSelector=davit.dev/deployment=agent';
    const [pod] = (await api.call<{ items: { metadata: { name: string; uid: string } }[] }>('GET', path)).items;
    if (pod === undefined) throw new Error('agent has no pod');
    return pod.metadata;
  });
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name, uid };
  const { token } = (
    await api.call<{ status: { token: string } }>('POST', '/api/v1/namespaces/team/serviceaccounts/default/token', {
      spec: { audiences: ['davit'], boundObjectRef },
    })
  ).status;
  await eventually(async () => {
    const body = { provider: 'idp', scopes: [], user_id: 'ada' };
    const asked = await davit.call({ namespace: 'team', id: '', token }, 'POST', '/v2/auth/authenticate', body);
    expect([asked.status, asked.body.status]).toEqual([200, 'pending']);
  });
  // With both on.
  expect((await list({ ...ADA, iat: 1 })).status).toBe(200);
});
