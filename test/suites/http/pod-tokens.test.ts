// The credential of a pod over HTTP: who reviews it, whose tokens it gets, and what it is not good for.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { OAUTH_PROVIDERS } from '../../../src/kinds/oauth-provider.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { PODS } from '../../../src/runtime/kube/api-resources.ts';
import { makeKeys } from '../../../src/tokens/oauth/keys.ts';
import { agentSlot, idOf } from '../../../src/tokens/oauth/names.ts';
import { makeVault } from '../../../src/tokens/oauth/vault.ts';
import { anOAuthProvider } from '../../support/builders.ts';
import { type Answer, type Facade, listen, makeFacade, ORGANIZATION, OTHER_TENANT, TENANT } from './facade.ts';

const ACCOUNT = `system:serviceaccount:${TENANT.namespace}:agent`;
const POD_UID = '77777777-0000-4000-8000-000000000001';

/** A token as the API server makes it, as far as Davit reads it before it is reviewed. */
function tokenFor(audience: unknown, name = 'pod'): string {
  const claims = { aud: audience, 'kubernetes.io': { namespace: TENANT.namespace, pod: { name } } };
  return `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
}
const TOKEN = tokenFor(['davit']);

let facade: Facade;
/** Of the tokens that the API server knows. */
let known: Map<string, object>;
let rights: Set<string>;

function aPod(name: string, uid: string, labels: Record<string, string>): void {
  facade.kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: TENANT.namespace, uid, labels },
  });
}

/** What a TokenReview answers for the token of a pod. */
function podInfo(name: string, uid: string, username = ACCOUNT): object {
  const extra = { 'authentication.kubernetes.io/pod-name': [name], 'authentication.kubernetes.io/pod-uid': [uid] };
  return { user: { username, uid: 'account', groups: ['system:serviceaccounts'], extra }, audiences: ['davit'] };
}

function withDeployment(name: string, pod: string, uid: string): string {
  const { metadata } = facade.seed({ metadata: { name } });
  aPod(pod, uid, { 'davit.dev/deployment': name, 'davit.dev/deployment-uid': metadata.uid ?? '' });
  return metadata.uid ?? '';
}

beforeEach(async () => {
  const { oauth, http } = Settings.parse({
    oauth: { hosts: [{ host: 'idp.example' }] },
    http: { publicUrl: 'https://davit.example' },
  });
  facade = await makeFacade({ oauth, http });
  known = new Map([[TOKEN, podInfo('pod', POD_UID)]]);
  rights = new Set([`${ACCOUNT} authenticate oauthproviders ${TENANT.namespace}`]);
  facade.kube.reviewTokens((token) => known.get(token));
  // As the API server: the token is for another audience.
  facade.kube.know(() => undefined);
  facade.kube.allow(({ verb, resource, namespace }, user) => rights.has(`${user} ${verb} ${resource} ${namespace}`));
  withDeployment('shop', 'pod', POD_UID);
  const hosts = { authUrl: 'https://idp.example/auth', tokenUrl: 'https://idp.example/token' };
  const place = { name: 'idp', namespace: ORGANIZATION.namespace };
  const provider = anOAuthProvider({ name: 'IdP', ...hosts }, place);
  facade.providers.put(facade.kube.seed(OAUTH_PROVIDERS, provider));
});

const as = (token: string): Record<string, string> => ({ 'x-api-key': token, 'x-tenant-id': '' });
function authenticate(token = TOKEN, more: object = {}): Promise<Answer> {
  const body = { provider: 'idp', scopes: ['a'], user_id: 'ada', agent_id: 'triage', ...more };
  return facade.call('POST', '/v2/auth/authenticate', body, as(token));
}
const reviews = (kind: string): number => facade.kube.writes.filter((one) => one.kind === kind).length;

it('gets the link for its deployment, in its own tenant, by reviews of the own account', async () => {
  const { status, body } = await authenticate();
  expect([status, body.status, body.user_id]).toEqual([200, 'pending', 'ada']);
  expect([reviews('TokenReview'), reviews('SubjectAccessReview'), reviews('SelfSubjectAccessReview')]).toEqual([
    1, 1, 0,
  ]);
  const review = facade.kube.writes.find(({ kind }) => kind === 'TokenReview')?.body;
  expect(review).toMatchObject({ spec: { token: TOKEN, audiences: ['davit'] } });
  expect(facade.kube.writes.find(({ kind }) => kind === 'SubjectAccessReview')?.body).toMatchObject({
    spec: {
      user: ACCOUNT,
      uid: 'account',
      groups: ['system:serviceaccounts'],
      extra: { 'authentication.kubernetes.io/pod-name': ['pod'] },
      resourceAttributes: {
        verb: 'authenticate',
        resource: 'oauthproviders',
        namespace: TENANT.namespace,
        name: 'idp',
      },
    },
  });
  const page = await facade.app.inject({ url: new URL(body.url).pathname });
  expect(page.body).toContain('<dl><dt>Deployment</dt><dd>shop</dd>');
  expect(facade.log()).not.toContain(TOKEN);
  expect(facade.log()).toMatch(/"deployment":"shop"/);
});

it('is an agent of its deployment alone: another one with the same account and agent_id gets another link', async () => {
  const other = ofBazaar();
  const [one, again, two] = [await authenticate(), await authenticate(), await authenticate(other)];
  expect(again.body.auth_id).toBe(one.body.auth_id);
  expect(two.body.auth_id).not.toBe(one.body.auth_id);
  // Without agent_id it is the person's default token, which is for all who have the right.
  const shared = [await authenticate(TOKEN, { agent_id: null }), await authenticate(other, { agent_id: null })];
  expect(shared[0]?.body.auth_id).toBe(shared[1]?.body.auth_id);
});

/** The credential of a pod of another deployment with the same account. */
function ofBazaar(): string {
  const token = tokenFor(['davit'], 'other');
  const uid = '77777777-0000-4000-8000-000000000002';
  known.set(token, podInfo('other', uid));
  withDeployment('bazaar', 'other', uid);
  return token;
}

/** The token of another account with the same right, which is in no pod. */
function ofOtherAccount(): string {
  const username = `system:serviceaccount:${TENANT.namespace}:agent2`;
  rights.add(`agent2 authenticate oauthproviders ${TENANT.namespace}`);
  facade.kube.know((token) => (token === 'agent2' ? username : undefined));
  return 'agent2';
}

const inTenant = (token: string): Record<string, string> => ({ 'x-api-key': token, 'x-tenant-id': TENANT.id });

describe.each([
  ['another deployment', ofBazaar],
  ['another account', ofOtherAccount],
])('what was asked for an agent is nothing for %s:', (_name, other) => {
  it('its authorization does not exist', async () => {
    const { body } = await authenticate();
    const wait = async (token: string, authId: string): Promise<string> => {
      const answer = await facade.call('GET', `/v2/auth/wait/${authId}?timeout=0`, undefined, inTenant(token));
      return answer.body.status;
    };
    expect([await wait(TOKEN, body.auth_id), await wait(other(), body.auth_id)]).toEqual(['timeout', 'not_found']);
    // Without agent_id it is for all who have the right.
    const shared = await authenticate(TOKEN, { agent_id: null });
    expect(await wait(other(), shared.body.auth_id)).toBe('timeout');
  });

  it('the metadata of its token, which its agent gets with the token, is not changed', async () => {
    const uid = facade.records.list().find(({ metadata }) => metadata.name === 'shop')?.metadata.uid ?? '';
    const requester = { username: ACCOUNT, deployment: { name: 'shop', uid } };
    const ids = [await stored('triage', agentSlot(requester, 'triage')), await stored(undefined, '')];
    const describeBy = async (token: string): Promise<number[]> => {
      const statuses: number[] = [];
      for (const id of ids) {
        const answer = await facade.call(
          'PATCH',
          `/v2/auth/tokens/${id}/metadata?user_id=ada`,
          { metadata: { instance_url: 'https://elsewhere.example' } },
          inTenant(token),
        );
        statuses.push(answer.status);
      }
      return statuses;
    };
    expect(await describeBy(other())).toEqual([404, 200]);
    expect(await describeBy(TOKEN)).toEqual([200, 200]);
  });
});

/** A token of ada as it is kept; its value is not read here. */
async function stored(agentId: string | undefined, slot: string): Promise<string> {
  const { kube } = facade;
  const now = (): Date => new Date(facade.clock.ms);
  const keys = makeKeys({ kube, namespace: 'davit-system', now, log: pino({ level: 'silent' }) });
  const vault = makeVault({ kube, namespace: 'davit-oauth', keys });
  const subject = { tenant: TENANT.namespace, tenantId: TENANT.id, provider: 'idp', user: 'ada', slot };
  const time = now().toISOString();
  const about = {
    scopes: [],
    createdAt: time,
    updatedAt: time,
    isDefault: true,
    metadata: {},
    ...(agentId !== undefined && { agentId }),
  };
  const id = idOf(await keys(), 'token', subject);
  await vault.create({ kind: 'token', id, subject, about });
  return id;
}

it('keeps its identity over pods, and loses it with the record', async () => {
  const before = await authenticate();
  const next = tokenFor(['davit'], 'next');
  const record = facade.records.list()[0];
  aPod('next', 'uid-of-next', { 'davit.dev/deployment-uid': record?.metadata.uid ?? '' });
  known.set(next, podInfo('next', 'uid-of-next'));
  expect((await authenticate(next)).body.auth_id).toBe(before.body.auth_id);
  facade.records.drop(record?.metadata.uid ?? '');
  facade.clock.ms += 10_000;
  const { status, body } = await authenticate(next);
  expect([status, body.detail]).toEqual([
    403,
    expect.stringContaining('Pod next does not belong to an existing deployment'),
  ]);
});

it('is refused without the right, for another tenant, and for everything else', async () => {
  rights.clear();
  expect((await authenticate()).status).toBe(403);
  const body = { provider: 'idp', scopes: [] };
  const foreign = await facade.call('POST', '/v2/auth/authenticate', body, {
    'x-api-key': TOKEN,
    'x-tenant-id': OTHER_TENANT.id,
  });
  expect(foreign.status).toBe(403);
  // Even one who may do all.
  facade.kube.allow(() => true);
  for (const path of ['/v2/deployments', '/v2/auth/providers', '/v2/platform']) {
    const answer = await facade.call('GET', path, undefined, as(TOKEN));
    expect([path, answer.status, answer.body.detail]).toEqual([
      path,
      403,
      expect.stringContaining("only for people's tokens, /v2/auth"),
    ]);
  }
});

it.each<[name: string, token: string, info: object | undefined, status: number, detail: string]>([
  ['one that nobody knows', tokenFor(['davit'], 'x'), undefined, 401, 'does not accept this token'],
  [
    'one for another audience too',
    tokenFor(['davit', 'kubernetes']),
    podInfo('pod', POD_UID),
    401,
    'does not accept this token',
  ],
  ['of a person', tokenFor('davit'), podInfo('pod', POD_UID, 'ada'), 401, 'does not accept this token'],
  ['of another pod of the name', tokenFor('davit'), podInfo('pod', 'other'), 401, 'does not accept this token'],
  ['of a pod that is gone', tokenFor('davit'), podInfo('gone', POD_UID), 401, 'does not accept this token'],
  [
    'that is not reviewed for the audience',
    tokenFor('davit'),
    { ...podInfo('pod', POD_UID), audiences: ['kubernetes'] },
    401,
    'does not accept this token',
  ],
  [
    'of no pod',
    tokenFor('davit'),
    { user: { username: ACCOUNT }, audiences: ['davit'] },
    403,
    'It is not bound to a pod',
  ],
])('a token %s is refused', async (_name, token, info, status, detail) => {
  if (info) known.set(token, info);
  const answer = await authenticate(token);
  expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(detail)]);
});

it("a pod of no deployment is refused, and so is one of another tenant's", async () => {
  aPod('bare', 'uid-of-bare', {});
  known.set(TOKEN, podInfo('bare', 'uid-of-bare'));
  expect((await authenticate()).body.detail).toContain('Pod bare does not belong to an existing deployment');
  const { metadata } = facade.seed({ metadata: { name: 'theirs', namespace: OTHER_TENANT.namespace } });
  aPod('posing', 'uid-of-posing', { 'davit.dev/deployment-uid': metadata.uid ?? '' });
  known.set(TOKEN, podInfo('posing', 'uid-of-posing'));
  facade.clock.ms += 10_000;
  expect((await authenticate()).body.detail).toContain('Pod posing does not belong to an existing deployment');
});

it('is reviewed again after ten seconds, so that one that has ended is noticed', async () => {
  await authenticate();
  await authenticate();
  expect(reviews('TokenReview')).toBe(1);
  facade.clock.ms += 10_000;
  await authenticate();
  expect(reviews('TokenReview')).toBe(2);
  known.clear();
  facade.clock.ms += 10_000;
  expect((await authenticate()).status).toBe(401);
});

it.each([['davit'], [['davit']]])('is none that another issuer gives a person for its client %j', async (aud) => {
  const claims = { iss: 'https://id.example.com', aud, sub: '0b1c', email: 'ada@example.com' };
  const ofPerson = `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
  facade.kube.know((token) => (token === ofPerson ? 'oidc:ada@example.com' : undefined));
  rights.add(`${ofPerson} list appdeployments ${TENANT.namespace}`);
  const answer = await facade.call('GET', '/v2/deployments', undefined, inTenant(ofPerson));
  expect([answer.status, answer.body.detail, reviews('TokenReview')]).toEqual([200, undefined, 0]);
  expect((await authenticate()).status).toBe(200);
});

it('is no token of a caller where the platform gives no tokens', async () => {
  const plain = await makeFacade();
  plain.kube.know(() => undefined);
  plain.kube.reviewTokens(() => podInfo('pod', POD_UID));
  const answer = await plain.call('GET', '/v2/deployments', undefined, as(TOKEN));
  expect(answer.status).toBe(401);
  expect(plain.kube.writes.filter(({ kind }) => kind === 'TokenReview')).toEqual([]);
});

const python = (...args: readonly string[]): Promise<string> =>
  promisify(execFile)('python3', args).then(
    ({ stdout }) => stdout,
    ({ stderr = '' }: { readonly stderr?: string }) => stderr,
  );
const hasPython = (await python('--version')).startsWith('Python 3');

it.skipIf(!hasPython)("runs as docs/agents.md has it in Python (left out without the machine's python3)", async () => {
  const text = await readFile(join(import.meta.dirname, '../../../docs/agents.md'), 'utf8');
  const [agent = ''] = /(?<=```python\n)import[^`]*def authenticate[^`]*(?=```)/.exec(text) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'davit-agent-'));
  const file = join(folder, 'token');
  await writeFile(file, TOKEN);
  const given = { DAVIT_API_TOKEN_FILE: file, DAVIT_API_URL: await listen(facade) };
  const run = (call: string): Promise<string> =>
    python('-c', `import os\nos.environ.update(${JSON.stringify(given)})\n${agent}\n${call}`);
  try {
    expect(JSON.parse(await run('print(json.dumps(authenticate("idp", ["a"], "ada")))'))).toMatchObject({
      status: 'pending',
      user_id: 'ada',
      url: expect.stringContaining('/v2/auth/consent/'),
    });
    expect(await run('authenticate("nowhere", [], "ada")')).toContain('OAuth provider \\"nowhere\\" not found.');
  } finally {
    await facade.app.close();
    await rm(folder, { recursive: true });
  }
});
