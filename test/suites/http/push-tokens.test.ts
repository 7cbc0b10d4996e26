// Push tokens, what the registry's token server makes of them, and which images of the registry a deployment may then have.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registryPassword } from '../../../src/build/registry/registry-grant.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { type FacadeWithRegistry, makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import type { FakeRegistry } from '../../support/fake-registry.ts';
import { type Answer, aBody, type Facade, makeFacade, TENANT, TOKEN } from './facade.ts';

const repository = `${TENANT.namespace}-aaaaaaaa/shop`;

let setup: FacadeWithRegistry;
let facade: Facade;
let registry: FakeRegistry;
let id: string;
beforeEach(async () => {
  setup = await makeFacadeWithRegistry();
  ({ facade, registry } = setup);
  id = await made('shop');
});
afterEach(() => setup.close());

async function made(name: string): Promise<string> {
  const body = aBody({ name, source: 'internal_docker', source_revision_config: {} });
  return (await facade.call('POST', '/v2/deployments', body)).body.id;
}

const ask = (of = id): Promise<Answer> =>
  facade.call('POST', `/v2/deployments/${of}/push-token`, { supports_registry_username: true });

interface TokenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
  readonly body: any;
}

async function login(password: string | undefined, query = '', user = 'davit'): Promise<TokenAnswer> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const answer = await facade.app.inject({
    url: `/v1/registry/token?service=davit-registry${query}`,
    ...(password !== undefined && { headers: { authorization } }),
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}

const accessOf = ({ body }: TokenAnswer): unknown =>
  (JSON.parse(Buffer.from(String(body.token).split('.')[1] ?? '', 'base64url').toString()) as { access: unknown })
    .access;

describe('a push token', () => {
  it('is for one hour and the deployment’s own repository', async () => {
    expect(await ask()).toMatchObject({
      status: 200,
      body: {
        token: expect.stringMatching(/^[\w.-]+$/),
        username: 'davit',
        registry_url: `${registry.host}/${TENANT.namespace}-aaaaaaaa`,
        repository_url: `${registry.host}/${repository}`,
        expires_at: '2026-01-01T01:00:00.000Z',
      },
    });
  });

  it('is exchanged for a registry token with the rights that a client requests', async () => {
    const { token } = (await ask()).body;
    const answer = await login(token, `&scope=repository:${repository}:pull,push&account=davit&client_id=docker`);
    expect([answer.status, answer.body.expires_in]).toEqual([200, 60]);
    expect(accessOf(answer)).toEqual([{ type: 'repository', name: repository, actions: ['pull', 'push'] }]);
  });

  it('is accepted by this registry only', async () => {
    const { token: password } = (await ask()).body;
    const { body } = await login(password, `&scope=repository:${repository}:pull,push`);
    const headers = { authorization: `Bearer ${body.token}` };
    const begin = (of: string): Promise<Response> =>
      fetch(`${registry.origin}/v2/${of}/blobs/uploads/`, { method: 'POST', headers });
    expect((await begin(repository)).status).toBe(202);
    expect((await begin(`${TENANT.namespace}-aaaaaaaa/other`)).status).toBe(401);
  });

  it('logs in without naming a repository', async () => {
    const answer = await login((await ask()).body.token);
    expect([answer.status, accessOf(answer)]).toEqual([200, []]);
  });

  it.each([
    ["another tenant's repository", 'team-b-bbbbbbbb/shop'],
    ['another deployment of the tenant', `${TENANT.namespace}-aaaaaaaa/other`],
    ['the repository that it begins with', `${TENANT.namespace}-aaaaaaaa`],
  ])('grants nothing in %s', async (_name, name) => {
    const answer = await login((await ask()).body.token, `&scope=repository:${name}:pull,push`);
    expect([answer.status, accessOf(answer)]).toEqual([200, []]);
  });

  it('pulls base images, which a build begins with', async () => {
    const scopes = `&scope=repository:base/python:pull&scope=repository:${repository}:push`;
    expect(accessOf(await login((await ask()).body.token, scopes))).toEqual([
      { type: 'repository', name: 'base/python', actions: ['pull'] },
      { type: 'repository', name: repository, actions: ['push'] },
    ]);
  });

  it('expires after an hour', async () => {
    const { token } = (await ask()).body;
    facade.clock.ms += 3_600_000;
    expect(await login(token)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Basic realm="davit-registry"' },
      body: {
        detail: 'The password is not valid or has expired. Get a new push token.',
        errors: [{ code: 'UNAUTHORIZED' }],
      },
    });
  });

  it.each([
    ['none', undefined],
    ['an empty one', ''],
    ["a caller's own token", TOKEN],
    [
      'one of another key',
      registryPassword(Buffer.alloc(32), { repository, actions: ['pull'], expires: 9_999_999_999 }),
    ],
    ['one of endless length', 'x'.repeat(10_000)],
  ])('%s is refused', async (_name, password) => {
    expect((await login(password)).status).toBe(401);
  });

  it("is issued for the platform's registry only", async () => {
    const answer = await facade.app.inject({
      url: '/v1/registry/token?service=another',
      headers: { authorization: `Basic ${Buffer.from(`davit:${(await ask()).body.token}`).toString('base64')}` },
    });
    expect(answer.statusCode).toBe(400);
  });

  it('is signed with keys that are created once', async () => {
    await ask();
    await login((await ask()).body.token);
    await login((await ask()).body.token);
    const secrets = facade.writes().filter(({ kind, ref }) => kind === 'Secret' && ref.namespace === 'davit-system');
    expect(secrets.map(({ verb, ref }) => `${verb} ${ref.name}`)).toEqual([
      'create davit-registry-key',
      'create davit-registry-tokens',
    ]);
    // The keys are the facade's own; the caller's token makes none.
    expect(secrets.map(({ token }) => token)).toEqual([undefined, undefined]);
  });

  it('is not in the log', async () => {
    const { token } = (await ask()).body;
    await login(token, `&scope=repository:${repository}:pull`);
    expect(facade.log()).not.toContain(token);
  });
});

describe('a repository that is full of tags', () => {
  const upkeep = { enabled: true, everyDays: 7, hour: 3, limitMinutes: 30, cacheDays: 30, maxTags: 50 };
  const full = `The repository ${repository} has 100 tags or more`;
  async function start(more: Partial<typeof upkeep> = {}): Promise<void> {
    await setup.close();
    setup = await makeFacadeWithRegistry({}, { upkeep: { ...upkeep, ...more } });
    ({ facade, registry } = setup);
    id = await made('shop');
  }
  const fill = (count: number): void => {
    for (let index = 0; index < count; index += 1) registry.put(repository, `v${index}`);
  };
  const scope = `&scope=repository:${repository}:pull,push`;

  it('has no push token for it, and the answer says what happens next', async () => {
    await start();
    fill(99);
    expect((await ask()).status).toBe(200);
    facade.clock.ms += 11_000;
    registry.put(repository, 'one-more');
    expect(await ask()).toMatchObject({ status: 409, body: { detail: expect.stringContaining(full) } });
    expect((await ask()).body.detail).toContain('registry.garbageCollection.maxTags');
    // Where nothing is deleted, it could never be pushed to again.
    await start({ enabled: false });
    fill(100);
    expect((await ask()).status).toBe(200);
  });

  it('is not pushed to with a push token of before, and pulled from', async () => {
    await start();
    const { token } = (await ask()).body;
    expect((await login(token, scope)).status).toBe(200);
    fill(100);
    // A count is good for some seconds.
    expect((await login(token, scope)).status).toBe(200);
    facade.clock.ms += 11_000;
    expect(await login(token, scope)).toMatchObject({
      status: 403,
      body: {
        detail: expect.stringContaining(full),
        errors: [{ code: 'DENIED', message: expect.stringContaining(full) }],
      },
    });
    expect((await login(token, `&scope=repository:${repository}:pull`)).status).toBe(200);
    registry.manifests.clear();
    facade.clock.ms += 11_000;
    expect((await login(token, scope)).status).toBe(200);
  });

  it('is pushed to by builds, whose tags are few and go', async () => {
    await start();
    fill(100);
    const key = (await facade.registry?.passwordKey()) ?? Buffer.alloc(0);
    const grant = { repository, actions: ['pull', 'push'], expires: 9_999_999_999 } as const;
    expect((await login(registryPassword(key, grant), scope)).status).toBe(200);
    expect((await login(registryPassword(key, { ...grant, isLimited: true }), scope)).status).toBe(403);
  });

  it('is asked about once in some seconds, however many ask', async () => {
    await start();
    const { token } = (await ask()).body;
    registry.seen.length = 0;
    await Promise.all(Array.from({ length: 20 }, () => login(token, scope)));
    facade.clock.ms += 11_000;
    await Promise.all(Array.from({ length: 20 }, () => login(token, scope)));
    expect(registry.seen.filter((path) => path.includes('/tags/list'))).toHaveLength(1);
  });

  it('is no reason to refuse anything while the registry does not answer', async () => {
    await start();
    const { token } = (await ask()).body;
    facade.clock.ms += 11_000;
    await registry.close();
    expect((await login(token, scope)).status).toBe(200);
  });
});

describe('who gets a push token', () => {
  it('not a caller who may only read', async () => {
    const forbidden = new Forbidden('patch shop', { serverMessage: 'no right' });
    facade.kube.failOn(({ verb }) => (verb === 'patch' ? forbidden : undefined));
    expect(await ask()).toMatchObject({ status: 403, body: { detail: 'no right' } });
  });

  it('not for another source, with the message that clients expect', async () => {
    const { uid } = facade.seed({ metadata: { name: 'image' } }).metadata;
    expect(await ask(uid)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("only available for 'internal_docker' source deployments") },
    });
  });

  it('nobody if the registry uses other credentials', async () => {
    const other = await makeFacadeWithRegistry({}, { tokens: false, pushSecret: 'push' });
    const body = aBody({ source: 'internal_docker', source_revision_config: {} });
    const of = (await other.facade.call('POST', '/v2/deployments', body)).body.id;
    expect(await other.facade.call('POST', `/v2/deployments/${of}/push-token`, {})).toMatchObject({ status: 409 });
    const token = await other.facade.app.inject({ url: '/v1/registry/token' });
    expect(token.statusCode).toBe(404);
    await other.close();
  });

  it('nobody without a registry', async () => {
    const without = await makeFacade({ hosting: 'cloud' });
    const body = aBody({ source: 'internal_docker', source_revision_config: {} });
    const of = (await without.call('POST', '/v2/deployments', body)).body.id;
    expect(await without.call('POST', `/v2/deployments/${of}/push-token`, {})).toMatchObject({ status: 409 });
  });
});

describe('an image', () => {
  const patch = (image_uri: string, of = id): Promise<Answer> =>
    facade.call('PATCH', `/v2/deployments/${of}`, {
      revision_source: 'internal_docker',
      source_revision_config: { image_uri },
    });
  const refused = (msg: string): object => ({
    status: 422,
    body: {
      detail: [
        {
          loc: ['body', 'source_revision_config', 'image_uri'],
          msg: expect.stringContaining(msg),
          type: 'value_error',
        },
      ],
    },
  });
  const ABSENT = `sha256:${'0'.repeat(64)}`;

  it('that was pushed becomes the revision', async () => {
    const digest = registry.put(repository, 'latest');
    const image = `${registry.host}/${repository}@${digest}`;
    const { status, body } = await patch(image);
    expect([status, body.source_revision_config.image_uri]).toEqual([200, image]);
    expect(body.latest_revision_id).not.toBeNull();
  });

  it('gets a tag of its own before the record names it, where the registry collects garbage', async () => {
    await setup.close();
    setup = await makeFacadeWithRegistry(
      {},
      { upkeep: { enabled: true, everyDays: 7, hour: 3, limitMinutes: 30, cacheDays: 30, maxTags: 500 } },
    );
    ({ facade, registry } = setup);
    id = await made('shop');
    const digest = registry.put(repository, 'latest');
    expect(await patch(`${registry.host}/${repository}@${digest}`)).toMatchObject({ status: 200 });
    expect([...registry.manifests.keys()]).toContain(`${repository}:keep-${digest.slice(7)}`);
    expect(await patch(`${registry.host}/${repository}@${ABSENT}`)).toMatchObject(refused('Push it'));
  });

  it('by its tag is rejected, because tags can change', async () => {
    registry.put(repository, 'latest');
    expect(await patch(`${registry.host}/${repository}:latest`)).toMatchObject(refused('by digest'));
  });

  it('of another repository is rejected, whether it exists or not', async () => {
    const digest = registry.put('team-b-bbbbbbbb/shop', 'latest');
    for (const image of [
      `${registry.host}/team-b-bbbbbbbb/shop@${digest}`,
      `${registry.host}/${repository}-2@${digest}`,
      `docker.io/library/shop@${digest}`,
      `shop@${digest}`,
    ])
      expect(await patch(image)).toMatchObject(refused(`${registry.host}/${repository}@sha256:`));
    expect(registry.seen).toEqual([]);
  });

  it('that was not pushed is rejected', async () => {
    expect(await patch(`${registry.host}/${repository}@${ABSENT}`)).toMatchObject(refused('Push it'));
  });

  it('is checked when the deployment is created, too', async () => {
    const body = { name: 'new', source: 'internal_docker', source_revision_config: { image_uri: 'docker.io/other:1' } };
    expect(await facade.call('POST', '/v2/deployments', aBody(body))).toMatchObject(refused('by digest'));
  });

  it('is not checked again if it does not change', async () => {
    const image = `${registry.host}/${repository}@${registry.put(repository, 'latest')}`;
    await patch(image);
    registry.manifests.clear();
    expect(await patch(image)).toMatchObject({ status: 200 });
  });

  it('is rejected while the registry is down', async () => {
    await registry.close();
    expect(await patch(`${registry.host}/${repository}@${ABSENT}`)).toMatchObject({
      status: 502,
      body: { detail: 'The registry cannot be reached. Try again later.' },
    });
  });
});

describe('an image of another tenant in the registry', () => {
  const others = 'other-22222222/shop:1';
  const withSidecar = (image: string): object => ({
    source_config: { resource_spec: { sidecars: [{ name: 'a', image }] } },
  });

  it.each([
    [
      'a sidecar',
      () => withSidecar(`${registry.host}/${others}`),
      ['body', 'source_config', 'resource_spec', 'sidecars', 0, 'image'],
    ],
    [
      'an init container',
      () => ({
        source_config: { resource_spec: { init_containers: [{ name: 'a', image: `${registry.host}/${others}` }] } },
      }),
      ['body', 'source_config', 'resource_spec', 'init_containers', 0, 'image'],
    ],
  ])('is refused as %s, of a new deployment and of an existing one', async (_what, spec, loc) => {
    const refused = {
      status: 422,
      body: { detail: [{ loc, msg: expect.stringContaining(`${registry.host}/base/, or of another registry`) }] },
    };
    const body = aBody({ name: 'new', source: 'internal_docker', source_revision_config: {} }) as {
      source_config: object;
    };
    const { source_config: config } = spec() as { source_config: object };
    expect(
      await facade.call('POST', '/v2/deployments', { ...body, source_config: { ...body.source_config, ...config } }),
    ).toMatchObject(refused);
    expect(await facade.call('PATCH', `/v2/deployments/${id}`, spec())).toMatchObject(refused);
  });

  it('is accepted of its own repositories and of base', async () => {
    for (const path of [`${TENANT.namespace}-aaaaaaaa/other:1`, 'base/python:3.12']) {
      expect(
        (await facade.call('PATCH', `/v2/deployments/${id}`, withSidecar(`${registry.host}/${path}`))).status,
      ).toBe(200);
    }
  });
});
