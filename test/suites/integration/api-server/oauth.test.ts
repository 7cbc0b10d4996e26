// Tokens for agents before a real API server, with oidc-provider as the OAuth server: two replicas of the HTTP API, its rights, pods, and
// what ends with a provider, a tenant or a deployment. test/suites/http/oauth-flow.test.ts has the flow and its attacks.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiClient, type ApiObject, connectApi } from '../../../cluster/api-client.ts';
import { type Davit, startDavit } from '../../../kit/davit.ts';
import { asked, granted, idle } from '../../../support/audited-rights.ts';
import type { Browser } from '../../../support/cookie-browser.ts';
import { type OAuthTestServer, startOAuthServer } from '../../../support/oauth-server.ts';
import { callsOf, leaked, makePeople, type People } from '../../../support/people.ts';
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
let davit: Davit;
/** A process of kubectl takes a tenth of a second of a processor. */
let api: ApiClient;
let tenant: Tenant;
let other: Tenant;
let second: { url: string; supervised: Supervised };
let people: People;
let browser: Browser;
let user: string;
const { provider, authenticate, consent, connected } = callsOf(() => people);

beforeAll(async () => {
  server = await startOAuthServer(['idp', 'moved', 'google_workspace', 'notes'].map((id) => CALLBACK + id));
  davit = await startDavit('apiserver', {
    auditLog: true,
    values: {
      'settings.http.publicUrl': PUBLIC,
      'settings.oauth.hosts': [{ host: server.host, addresses: ['127.0.0.1'], ca: server.ca }, { host: 'localhost:1' }],
    },
  });
  [tenant, other] = (await Promise.all(['agents', 'others'].map((name) => davit.knownTenant(name)))) as [
    Tenant,
    Tenant,
  ];
  ({ api } = davit.cluster);
  await Promise.all([tenant, other].map(({ namespace }) => mayAuthenticate(namespace, 'team')));
  people = makePeople({ publicUrl: PUBLIC, apiUrl: davit.apiUrl, call: davit.call, tenant, server });
  await provider('idp');
  const { data } = await api.call<{ data: Record<string, string> }>(
    'GET',
    `${core(DAVIT_NAMESPACE)}/configmaps/davit-settings`,
  );
  await eventually(async () => expect((await authenticate({ user_id: 'first' })).status).toBe(200));
  await agePresentKey();
  second = await startApi(davit.cluster, data['settings.yaml'] ?? '');
}, 600_000);
afterAll(async () => {
  await second?.supervised.stop();
  await davit?.stop();
  await server?.close();
}, 60_000);
beforeEach(() => {
  server.lifetime = 3600;
  server.grants.length = 0;
  people.next();
  ({ user, browser } = people);
});

const core = (namespace: string): string => `/api/v1/namespaces/${namespace}`;
const RBAC = 'rbac.authorization.k8s.io';
const bindings = (namespace: string): string => `/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`;
const PROVIDERS = `/apis/davit.dev/v1alpha1/namespaces/${ORGANIZATION_NAMESPACE}/oauthproviders`;
const MERGE = 'application/merge-patch+json';

async function bind(account: string, namespace: string, kind: string, name: string): Promise<void> {
  await api.call('POST', bindings(namespace), {
    metadata: { name: account },
    roleRef: { apiGroup: RBAC, kind, name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
  });
}

const mayAuthenticate = (namespace: string, account: string): Promise<void> =>
  bind(account, namespace, 'ClusterRole', 'davit-agent');

/** The second replica then finds a key that is due, and rotates it. */
async function agePresentKey(): Promise<void> {
  const path = `${core(DAVIT_NAMESPACE)}/secrets/davit-oauth-keys`;
  const { data } = await api.call<{ data: Record<string, string> }>('GET', path);
  const ring = JSON.parse(Buffer.from(data['keys.json'] ?? '', 'base64').toString()) as {
    keys: { createdAt: string }[];
  };
  for (const key of ring.keys) key.createdAt = '2020-01-01T00:00:00.000Z';
  const aged = { 'keys.json': Buffer.from(JSON.stringify(ring)).toString('base64') };
  await api.call('PATCH', path, { data: aged }, MERGE);
}

async function entries(kind: string): Promise<ApiObject[]> {
  const path = `${core(VAULT)}/secrets?labelSelector=davit.dev/oauth=${kind}`;
  return (await api.call<{ items: ApiObject[] }>('GET', path)).items;
}

async function tokensOf(person: string): Promise<ApiObject[]> {
  const subjectOf = ({ metadata }: ApiObject): { user: string } =>
    (JSON.parse(metadata.annotations?.['davit.dev/oauth-entry'] ?? '') as { subject: { user: string } }).subject;
  return (await entries('token')).filter((object) => subjectOf(object).user === person);
}

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
    expect(cookie).toMatch(/^__Host-davit-oauth=[^;]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax;/);
    const end = await browser.open(await consent(first.body.url));
    expect(end.status).toBe(200);
    const waited = await waiting;
    expect(waited.body).toEqual({ status: 'completed', token: expect.any(String) });
    people.secrets.add(waited.body.token);
    expect((await authenticate({ agent_id: 'triage <b>' }, { at: elsewhere })).body).toMatchObject({
      token: waited.body.token,
    });
    // What was given to one agent is for that agent alone.
    expect((await authenticate()).body).toMatchObject({ status: 'pending', token: null });
    expect((await authenticate({ agent_id: 'another' })).body.status).toBe('pending');
    expect((await authenticate({}, { as: other })).body.status).toBe('pending');
  });
});

describe('a token that expires', () => {
  it('is refreshed once, by whichever replica is first', async () => {
    server.lifetime = 1;
    await people.give();
    await sleep(1000);
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
    expect([tokens.size, tokens.has(null)]).toEqual([1, false]);
    expect(server.grants).toEqual(['refresh_token']);
  });
});

describe('a token goes nowhere else', () => {
  const tokenPaths = (): number => server.seen.filter((path) => path.startsWith('/token')).length;

  it('if somebody gives its provider another token endpoint, past the HTTP API', async () => {
    await provider('moved');
    await connected({ provider: 'moved' });
    await api.call('PATCH', `${PROVIDERS}/moved`, { spec: { tokenUrl: 'https://localhost:1/token' } }, MERGE);
    const before = tokenPaths();
    // Neither a token nor a link: the client secret was given for the other endpoint.
    await eventually(async () => expect((await authenticate({ provider: 'moved' })).status).toBe(424));
    const query = `provider_id=moved&user_id=${user}`;
    expect((await davit.call(tenant, 'DELETE', `/v2/auth/tokens?${query}`)).status).toBe(200);
    expect(tokenPaths()).toBe(before);
    await davit.call(tenant, 'DELETE', '/v2/auth/providers/moved');
  });
});

it('an issuer is compared with the metadata of its server', async () => {
  const said = async (id: string, type = 'IssuerKnown'): Promise<string> => {
    const { status } = await api.call<{ status?: { conditions?: { type: string; status: string; reason: string }[] } }>(
      'GET',
      `${PROVIDERS}/${id}`,
    );
    const condition = status?.conditions?.find((one) => one.type === type);
    return type === 'Ready' ? (condition?.status ?? '') : (condition?.reason ?? '');
  };
  await eventually(async () => expect(await said('idp')).toBe('MetadataFound'), 60_000);
  await provider('plain', { token_url: 'https://localhost:1/token' });
  await eventually(async () => expect(await said('plain')).toBe('IssuerUnknown'), 60_000);
  // It informs, and nothing more.
  await eventually(async () => expect(await said('plain', 'Ready')).toBe('True'));
  await davit.call(tenant, 'DELETE', '/v2/auth/providers/plain');
});

it('an MCP server gives a provider with a client of its own, whose tokens are for that server', async () => {
  const { status, body } = await davit.call(tenant, 'POST', '/v2/auth/providers/mcp-discover', {
    provider_id: 'notes',
    name: 'Notes',
    mcp_server_url: `${server.issuer}/mcp`,
  });
  expect([status, body.is_dynamic_client]).toEqual([200, true]);
  server.audiences.length = 0;
  await eventually(async () => expect((await authenticate({ provider: 'notes' })).body.status).toBe('pending'));
  await connected({ provider: 'notes' });
  expect(server.audiences).toEqual([`${server.issuer}/mcp`]);
});

/** The person who has given a token to a pod, and that token. */
let agentOfShop: string;
let tokenOfShop: string;

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
    const path = `${core(tenant.namespace)}/pods?labelSelector=davit.dev/deployment=${deployment}`;
    const [pod] = (
      await api.call<{
        items: { metadata: { name: string; uid: string }; spec: { volumes: { name: string; projected?: object }[] } }[];
      }>('GET', path)
    ).items;
    if (!pod) throw new Error(`${deployment} has no pod`);
    expect(pod.spec.volumes.find(({ name }) => name === 'davit-api-token')?.projected).toMatchObject({
      sources: [{ serviceAccountToken: { audience: 'davit', path: 'token' } }],
    });
    const { name, uid } = pod.metadata;
    return ofAccount({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid } });
  }

  /** No tenant is named: it is that of the account. */
  async function ofAccount(bound: object = {}): Promise<Tenant> {
    const path = `${core(tenant.namespace)}/serviceaccounts/${account}/token`;
    const spec = { audiences: ['davit'], expirationSeconds: 3600, ...bound };
    const { token } = (await api.call<{ status: { token: string } }>('POST', path, { spec })).status;
    people.secrets.add(token);
    return { namespace: tenant.namespace, id: '', token };
  }
  const as = (name: string): { as: Tenant } => ({ as: tokenOf.get(name) as Tenant });

  beforeAll(async () => {
    await api.call('POST', `${core(tenant.namespace)}/serviceaccounts`, { metadata: { name: account } });
    await Promise.all(['shop', 'bazaar'].map(deploy));
  });

  it('needs the right of its service account', async () => {
    // An answer about a right is remembered for ten seconds: here for another provider than below.
    const { status, body } = await authenticate({ provider: 'absent' }, as('shop'));
    expect([status, body.detail]).toEqual([403, expect.stringContaining('role davit-agent')]);
    await mayAuthenticate(tenant.namespace, account);
    await eventually(async () => expect((await authenticate({}, as('shop'))).status).toBe(200));
  });

  it('gets the token of its deployment, which no other one gets for the same agent_id', async () => {
    const agent = { agent_id: 'triage' };
    agentOfShop = user;
    const { body } = await authenticate(agent, as('shop'));
    expect((await browser.open(body.url)).body).toContain('<dl><dt>Deployment</dt><dd>shop</dd>');
    expect((await browser.open(await consent(body.url))).status).toBe(200);
    const { body: got } = await authenticate(agent, as('shop'));
    expect(got).toMatchObject({ status: 'completed', token: expect.any(String) });
    tokenOfShop = got.token;
    expect((await davit.call(tokenOf.get('shop') as Tenant, 'GET', `/v2/auth/wait/${body.auth_id}`)).body).toEqual({
      status: 'completed',
      token: got.token,
    });
    expect((await authenticate(agent, as('bazaar'))).body).toMatchObject({ status: 'pending', token: null });
    // Nor by the link, which goes through chats.
    for (const one of [tokenOf.get('bazaar') as Tenant, tenant]) {
      const waited = await davit.call(one, 'GET', `/v2/auth/wait/${body.auth_id}?timeout=0`);
      expect(waited.body).toEqual({ status: 'not_found', token: null });
    }
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
    const answer = await api.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } });
    expect(answer).toMatchObject({ status: { error: expect.stringContaining('audience') } });
  });

  it('is refused with the token of no pod, and when the pod is gone', async () => {
    const { status, body } = await authenticate({}, { as: await ofAccount() });
    expect([status, body.detail]).toEqual([403, expect.stringContaining('It is not bound to a pod')]);
    const pods = `${core(tenant.namespace)}/pods?labelSelector=davit.dev/deployment=bazaar`;
    await api.call('DELETE', pods, { gracePeriodSeconds: 0 });
    await eventually(async () => expect((await authenticate({}, as('bazaar'))).status).toBe(401));
    // The next pod is of the same deployment.
    tokenOf.set('bazaar', await eventually(() => ofPod('bazaar')));
    expect((await authenticate({}, as('bazaar'))).status).toBe(200);
  });
});

describe('an end', () => {
  /** Access tokens that were given before all of this ended. */
  const given = { provider: '', tenant: '' };
  /** The client that was registered for an MCP server. */
  let clientId: string;
  let owner: string;

  // All at once: what ends together is collected together.
  beforeAll(async () => {
    people.next();
    owner = people.user;
    // An id that no object can be named.
    await provider('google_workspace');
    given.provider = await connected({ provider: 'google_workspace', agent_id: 'triage' });
    const { body: link } = await authenticate({}, { as: other });
    expect((await people.browser.open(await consent(link.url))).status).toBe(200);
    given.tenant = (await authenticate({}, { as: other })).body.token;
    ({ client_id: clientId } = (await davit.call(tenant, 'GET', '/v2/auth/providers/notes')).body);
    expect((await entries('client')).length).toBe(1);
    expect([await tokensOf(owner), await tokensOf(agentOfShop)].map(({ length }) => length)).toEqual([2, 1]);
    for (const id of ['google_workspace', 'notes'])
      expect((await davit.call(tenant, 'DELETE', `/v2/auth/providers/${id}`)).status).toBe(200);
    const records = ['delete', 'appd', 'shop', 'bazaar', '-n', tenant.namespace, '--timeout=180s'];
    await Promise.all([api.call('DELETE', core(other.namespace)), davit.cluster.kubectl(records)]);
  });

  it('of a provider and of a tenant revokes their tokens and deletes them', async () => {
    await eventually(async () => expect(await tokensOf(owner)).toEqual([]), 60_000);
    expect(Object.values(given).filter((token) => !server.revoked.has(token))).toEqual([]);
  });

  it('of the provider of an MCP server deletes the client that was registered', async () => {
    await eventually(async () => expect(await entries('client')).toEqual([]), 60_000);
    expect(server.seen).toContain(`/reg/${clientId}`);
  });

  it('of a deployment ends the tokens of its agents', async () => {
    await eventually(async () => expect(await tokensOf(agentOfShop)).toEqual([]), 60_000);
    expect(server.revoked).toContain(tokenOfShop);
  });
});

describe('rights', () => {
  it('name single providers, and are needed in the tenant', async () => {
    const { namespace } = tenant;
    await api.call('POST', `${core(namespace)}/serviceaccounts`, { metadata: { name: 'narrow' } });
    const narrow = { ...tenant, token: await davit.cluster.tokenFor(namespace, 'narrow') };
    // An answer is remembered for ten seconds: here for another provider than below.
    const absent = { provider: 'absent' };
    const refused = await authenticate(absent, { as: narrow });
    expect(refused.status).toBe(403);
    const nowhere = await authenticate(absent, { as: { ...narrow, id: 'no-such-tenant' } });
    expect([nowhere.status, nowhere.body]).toEqual([403, refused.body]);
    const role = {
      apiGroups: ['davit.dev'],
      resources: ['oauthproviders'],
      resourceNames: ['idp'],
      verbs: ['authenticate'],
    };
    const roles = `/apis/${RBAC}/v1/namespaces/${namespace}/roles`;
    await api.call('POST', roles, { metadata: { name: 'narrow' }, rules: [role] });
    await bind('narrow', namespace, 'Role', 'narrow');
    await eventually(async () => expect((await authenticate({}, { as: narrow })).body.status).toBe('pending'));
    expect((await authenticate(absent, { as: narrow })).status).toBe(403);
    expect((await davit.call(narrow, 'GET', '/v2/auth/tokens')).status).toBe(403);
    expect((await davit.call(narrow, 'GET', '/v2/auth/tokens?provider_id=idp')).status).toBe(200);
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

  // After that: what is refused here is in the audit log too.
  it('of the API are for its own Secrets alone', async () => {
    const { server: address, ca, tokenFor } = davit.cluster;
    const token = await tokenFor(DAVIT_NAMESPACE, 'davit-api');
    const own = connectApi({ server: address, ca, token });
    const make = (name: string, namespace: string, type = 'Opaque'): Promise<string> =>
      own.call('POST', `${core(namespace)}/secrets?dryRun=All`, { metadata: { name }, type }).then(
        () => 'created',
        (error: Error) => error.message,
      );
    expect(await make('token-00', VAULT)).toBe('created');
    expect(await make('anything', VAULT)).toContain('makes only client secrets');
    expect(await make('token-00', DAVIT_NAMESPACE)).toContain('makes only client secrets');
    expect(await make('token-00', VAULT, 'example.com/other')).toContain('makes only client secrets');
    expect(await make('token-00', tenant.namespace)).toContain('is forbidden');
    own.close();
  });
});

/** The objects of all kinds, as the API server has them. */
async function everything(): Promise<string> {
  interface Kinds {
    readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
  }
  const { groups } = await api.call<{ groups: { preferredVersion: { groupVersion: string } }[] }>('GET', '/apis');
  const roots = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const lists = await Promise.all(
    roots.map(async (root) => {
      const { resources } = await api.call<Kinds>('GET', root);
      const listed = resources.filter(({ name, verbs }) => verbs.includes('list') && !name.includes('/'));
      return Promise.all(listed.map(({ name }) => api.read(`${root}/${name}`)));
    }),
  );
  return lists.flat().join('\n');
}

it('codes, verifiers and tokens are in no object, event, log, metric, error and page', async () => {
  // Logs are written a moment later.
  await sleep(1000);
  const stored = await everything();
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
  for (const secret of server.secrets) people.secrets.add(secret);
  const { secrets, told } = people;
  expect([secrets.size > 30, told.length > 10, stored.includes('"kind":"EventList"')]).toEqual([true, true, true]);
  expect(texts.join('')).toContain('/v2/auth/callback/idp');
  const where = { stored, logs: texts.join(''), told: told.join(''), metrics: metrics.join('') };
  expect(leaked(secrets, where)).toEqual([]);
});
