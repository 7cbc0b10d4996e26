// Listeners over HTTP, and deployments that another cluster runs: the Listener that they name must be one of their tenant.

import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

const MINE = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const THEIRS = '5f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
  for (const [uid, namespace] of [
    [MINE, TENANT.namespace],
    [THEIRS, OTHER_TENANT.namespace],
  ] as const) {
    facade.kube.seed<Listener>(LISTENERS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'Listener',
      metadata: { name: 'edge', namespace, uid },
      spec: { namespaces: ['shops', 'tools'] },
    });
  }
  facade.listeners.fill();
});
const post = (listener_id: string, k8s_namespace: string): Promise<Answer> =>
  facade.call('POST', '/v2/deployments', aBody({ source_config: { listener_id, listener_config: { k8s_namespace } } }));

it.each([MINE, MINE.toUpperCase()])(
  'accepts a Listener of the tenant, with a namespace that it lists: %s',
  async (id) => {
    const { status, body } = await post(id, 'tools');
    expect([status, body.status, body.source_config]).toMatchObject([
      201,
      'UNKNOWN',
      { listener_id: id, listener_config: { k8s_namespace: 'tools' } },
    ]);
    // Nobody here would take a finalizer off it.
    expect(facade.kube.objects(APP_DEPLOYMENTS).map(({ metadata }) => metadata.finalizers ?? [])).toEqual([[]]);
    const listed = async (flag: boolean): Promise<number> =>
      (await facade.call('GET', `/v2/deployments?remote_reconciled=${flag}`)).body.resources.length;
    expect([await listed(true), await listed(false)]).toEqual([1, 0]);
  },
);

it.each([
  [
    'one that is not there',
    '6f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11',
    'tools',
    'listener_id',
    'is not a Listener of this tenant',
  ],
  ["another tenant's", THEIRS, 'tools', 'listener_id', 'is not a Listener of this tenant'],
  [
    'a namespace that it does not list',
    MINE,
    'kube-system',
    'listener_config.k8s_namespace',
    'is not a namespace of this listener. Its namespaces: shops, tools',
  ],
])('%s is 422, and nothing is written', async (_name, id, namespace, field, msg) => {
  const { status, body } = await post(id, namespace);
  expect([status, body.detail]).toEqual([
    422,
    [{ loc: ['body', 'source_config', ...field.split('.')], msg, type: 'value_error' }],
  ]);
  expect(facade.kept()).toEqual([]);
});

it('503 while the cache of Listeners is not filled', async () => {
  facade.listeners.synced = false;
  expect((await post(MINE, 'tools')).status).toBe(503);
});

const LISTENERS_PATH = '/v2/listeners';
const ABSENT = '6f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';

describe('a container image where hosting is cloud', () => {
  it('needs a listener: 400, after everything else that is wrong', async () => {
    const cloud = await makeFacade({ hosting: 'cloud' });
    const { status, body } = await cloud.call('POST', '/v2/deployments', aBody());
    expect([status, body.detail]).toEqual([
      400,
      "'listener_id' is required for source external_docker where hosting is cloud: name a Listener, GET /v2/listeners lists them.",
    ]);
    expect((await cloud.call('POST', '/v2/deployments', aBody({ name: 'Shop' }))).status).toBe(422);
    expect(cloud.writes()).toEqual([]);
  });
});

describe('/v2/listeners', () => {
  const aListener = (more: object = {}): object => ({
    compute_type: 'k8s',
    compute_id: 'far',
    compute_config: { k8s_namespaces: ['shops'] },
    ...more,
  });
  const stored = (): Listener | undefined =>
    facade.kube.objects<Listener>(LISTENERS).find(({ metadata }) => metadata.name === 'far');
  const create = (more?: object): Promise<Answer> => facade.call('POST', LISTENERS_PATH, aListener(more));

  it("POST creates the object with the caller's token, and GET finds it", async () => {
    const { status, body } = await create();
    expect([status, body]).toEqual([
      201,
      {
        id: stored()?.metadata.uid,
        compute_type: 'k8s',
        compute_id: 'far',
        compute_config: { k8s_namespaces: ['shops'] },
        created_at: '2026-01-01T00:00:00Z',
        updated_at: '2026-01-01T00:00:00Z',
        version: null,
        connected: false,
        last_seen_at: null,
      },
    ]);
    expect(stored()).toMatchObject({ metadata: { namespace: TENANT.namespace }, spec: { namespaces: ['shops'] } });
    expect(facade.writes().map(({ verb, kind, token }) => [verb, kind, token])).toEqual([
      ['create', 'Listener', TOKEN],
    ]);
    expect((await facade.call('GET', `${LISTENERS_PATH}/${body.id.toUpperCase()}`)).body).toEqual(body);
  });

  it('a tenant has only so many', async () => {
    const there = facade.kube
      .objects(LISTENERS)
      .filter(({ metadata }) => metadata.namespace === TENANT.namespace).length;
    for (let number = there + 1; number <= 10; number += 1)
      expect(await create({ compute_id: `far-${number}` })).toMatchObject({ status: 201 });
    expect(await create({ compute_id: 'one-more' })).toMatchObject({
      status: 409,
      body: { detail: 'This tenant has 10 Listeners, and the limit of the platform is 10. Delete an unneeded one.' },
    });
    expect(await create({ compute_id: 'far-10' })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('already exists') },
    });
  });

  it('shows what the cluster reported', async () => {
    facade.kube.seed<Listener>(LISTENERS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'Listener',
      metadata: { name: 'far', namespace: TENANT.namespace, uid: ABSENT },
      spec: {},
      status: {
        version: '1.2.3',
        lastSeenAt: '2026-01-01T00:00:00Z',
        conditions: [
          {
            type: 'Connected',
            status: 'True',
            reason: 'Reporting',
            message: '',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
    });
    facade.listeners.fill();
    expect((await facade.call('GET', `${LISTENERS_PATH}/${ABSENT}`)).body).toMatchObject({
      compute_config: { k8s_namespaces: null },
      version: '1.2.3',
      connected: true,
      last_seen_at: '2026-01-01T00:00:00Z',
    });
  });

  it('GET lists those of the tenant by page', async () => {
    facade.clock.ms += 60_000;
    await create();
    const page = async (query: string): Promise<unknown> => {
      const { resources, offset } = (await facade.call('GET', `${LISTENERS_PATH}${query}`)).body;
      return [resources.map((one: { compute_id: string }) => one.compute_id), offset];
    };
    expect([await page(''), await page('?limit=1'), await page('?limit=1&offset=1'), await page('?offset=2')]).toEqual([
      [['far', 'edge'], 2],
      [['far'], 1],
      [['edge'], 2],
      [[], 2],
    ]);
    expect((await facade.call('GET', `${LISTENERS_PATH}?limit=101`)).status).toBe(422);
    expect((await facade.call('GET', `${LISTENERS_PATH}?name=far`)).status).toBe(422);
  });

  it('a taken name is 409 with the workspace and the name', async () => {
    await create();
    expect(await create()).toMatchObject({
      status: 409,
      body: {
        detail: `Listener for LangSmith workspace ID '${TENANT.id}' and compute ID 'far' already exists.`,
      },
    });
  });

  it.each([
    ['no compute_type', { compute_type: undefined }, 'compute_type'],
    ['another compute_type', { compute_type: 'vm' }, 'compute_type'],
    ['a name that is no DNS label', { compute_id: 'Far.away' }, 'compute_id'],
    ['no compute_config', { compute_config: null }, 'compute_config'],
    ['a namespace that is no DNS label', { compute_config: { k8s_namespaces: ['Shops'] } }, 'compute_config'],
    ['a namespace twice', { compute_config: { k8s_namespaces: ['a', 'a'] } }, 'compute_config'],
  ])('POST with %s is 422', async (_name, more, field) => {
    const { status, body } = await create(more);
    expect([status, body.detail[0].loc.slice(0, 2)]).toEqual([422, ['body', field]]);
    expect(facade.writes()).toEqual([]);
  });

  it.each([
    [{}, ['shops']],
    [{ compute_config: null }, ['shops']],
    [{ compute_config: { k8s_namespaces: null } }, ['shops']],
    [{ compute_type: 'k8s', compute_id: 'far' }, ['shops']],
    [{ compute_config: { k8s_namespaces: ['shops', 'tools'] } }, ['shops', 'tools']],
    [{ compute_config: { k8s_namespaces: [] } }, null],
  ])('PATCH %j leaves %j', async (change, namespaces) => {
    const { id } = (await create()).body;
    const writes = facade.writes().length;
    const { status, body } = await facade.call('PATCH', `${LISTENERS_PATH}/${id}`, change);
    expect([status, body.compute_config.k8s_namespaces]).toEqual([200, namespaces]);
    expect(facade.writes().length - writes).toBe(JSON.stringify(namespaces) === '["shops"]' ? 0 : 1);
  });

  it('two PATCHes at once both succeed, one after the other', async () => {
    const { id } = (await create()).body;
    const patch = (names: string[]): Promise<Answer> =>
      facade.call('PATCH', `${LISTENERS_PATH}/${id}`, { compute_config: { k8s_namespaces: names } });
    const answers = await Promise.all([patch(['a']), patch(['b'])]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(['a', 'b']).toContain(stored()?.spec.namespaces?.[0]);
  });

  it('PATCH of compute_id is 422', async () => {
    const { id } = (await create()).body;
    expect((await facade.call('PATCH', `${LISTENERS_PATH}/${id}`, { compute_id: 'near' })).body.detail).toEqual([
      { loc: ['body', 'compute_id'], msg: 'cannot be changed', type: 'value_error' },
    ]);
  });

  it.each(['GET', 'PATCH', 'DELETE'] as const)("%s of a missing one and of another tenant's is 404", async (method) => {
    for (const id of [ABSENT, THEIRS]) {
      expect(await facade.call(method, `${LISTENERS_PATH}/${id}`, method === 'PATCH' ? {} : undefined)).toMatchObject({
        status: 404,
        body: { detail: `Listener ID ${id} not found.` },
      });
    }
    expect(facade.writes()).toEqual([]);
  });

  it('DELETE is 409 while a deployment names it, also in upper case, then 204', async () => {
    const made = await post(MINE.toUpperCase(), 'tools');
    expect(await facade.call('DELETE', `${LISTENERS_PATH}/${MINE}`)).toMatchObject({
      status: 409,
      body: { detail: 'Listener "edge" is used by deployment "shop". Delete them first.' },
    });
    facade.records.drop(made.body.id);
    expect((await facade.call('DELETE', `${LISTENERS_PATH}/${MINE}`)).status).toBe(204);
    expect((await facade.call('GET', `${LISTENERS_PATH}/${MINE}`)).status).toBe(404);
  });

  it('asks for rights to listeners, not to deployments', async () => {
    facade.kube.allow((attributes) => attributes['resource'] === 'appdeployments');
    expect((await facade.call('GET', LISTENERS_PATH)).status).toBe(403);
    expect((await create()).status).toBe(403);
  });
});
