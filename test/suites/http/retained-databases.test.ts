// /v2/retained-databases over an in-memory API server.

import { beforeEach, describe, expect, it } from 'vitest';
import { Conflict, Forbidden, NotFound } from '../../../src/runtime/errors.ts';
import { PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { type Facade, makeFacade, TENANT } from './facade.ts';

const GONE = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';
const PATH = '/v2/retained-databases';
let facade: Facade;

function put(
  resource: Resource,
  name: string,
  { uid = GONE, spec = {} }: { uid?: string; spec?: object } = {},
): string {
  const made = facade.kube.seed(resource, {
    apiVersion: 'v1',
    kind: resource.kind,
    metadata: {
      name,
      namespace: TENANT.namespace,
      creationTimestamp: '2026-01-02T00:00:00Z',
      labels: { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'postgres', 'davit.dev/deployment-uid': uid },
    },
    spec,
  } as KubeObject);
  return made.metadata.uid ?? '';
}

function claim(name: string, uid = GONE): string {
  return put(PERSISTENT_VOLUME_CLAIMS, name, { uid, spec: { resources: { requests: { storage: '2Gi' } } } });
}

/** A deployment of the name that Davit has looked at. */
function waiting(reason = 'DatabaseKept', databaseNumber?: number): string {
  const condition = { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '2026-01-03T00:00:00Z' };
  const record = facade.seed({
    metadata: { name: 'shop' },
    status: {
      state: 'AWAITING_DATABASE',
      conditions: [condition as never],
      ...(databaseNumber !== undefined && { databaseNumber }),
    },
  });
  return record.metadata.uid ?? '';
}

const left = (): string[] =>
  [PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS, SECRETS].flatMap((resource) =>
    facade.kube.objects(resource).map(({ kind, metadata }) => `${kind} ${metadata.name}`),
  );

beforeEach(async () => {
  facade = await makeFacade();
});

it('lists what deleted deployments have left, and nothing of those that are there', async () => {
  const wanted = waiting('DatabaseKept', 1);
  const id = claim('shop--postgres');
  const cluster = put(POSTGRES_CLUSTERS, 'shop---pg1', { spec: { instances: 3, storage: { size: '1Gi' } } });
  claim('shop---pg2', wanted);
  const { status, body } = await facade.call('GET', PATH);
  expect(status).toBe(200);
  const common = {
    deployment_name: 'shop',
    deployment_id: GONE,
    created_at: '2026-01-02T00:00:00Z',
  };
  // The one that is adopted: it was used last.
  const of = (number: number): object => ({ number, wanted_by: number === 1 ? wanted : null });
  expect(body).toEqual({
    resources: [
      { ...common, ...of(1), id: cluster, driver: 'cloudnative-pg', claim: 'shop---pg1', size_bytes: 3 * 2 ** 30 },
      { ...common, ...of(0), id, driver: 'pod', claim: 'shop--postgres', size_bytes: 2 ** 31 },
    ],
    hidden: [],
  });
});

it.each([
  ['refused', Forbidden, ['clusters'], ['Cluster']],
  ['refused, because it is not installed', Forbidden, [], []],
  ['not installed', NotFound, [], []],
] as const)(
  'says which kinds the caller may not list, where that of Clusters is %s',
  async (_what, Refusal, served, hidden) => {
    const resources = served.map((name) => ({ name }));
    if (served.length > 0) facade.kube.texts.set('/apis/postgresql.cnpg.io/v1', JSON.stringify({ resources }));
    facade.kube.failOn(({ kind, verb }) =>
      kind === 'Cluster' && verb === 'list' ? new Refusal('no', { serverMessage: 'no' }) : undefined,
    );
    expect((await facade.call('GET', PATH)).body).toEqual({ resources: [], hidden });
  },
);

describe('adopt', () => {
  it('lets the deployment of the name use it', async () => {
    const uid = waiting();
    const id = claim('shop--postgres');
    expect(await facade.call('POST', `${PATH}/${id}/adopt`)).toMatchObject({
      status: 200,
      body: { id, wanted_by: uid },
    });
    expect(facade.records.byUid(uid)?.metadata.annotations?.['davit.dev/adopt-database']).toBe(GONE);
    // Until Davit has adopted it, it is listed as before.
    expect((await facade.call('GET', PATH)).body.resources).toMatchObject([{ id, wanted_by: uid }]);
  });

  it.each([
    ['there is no deployment of the name', undefined, 'Create it first.'],
    ['the deployment has a database', 'Serving', 'does not wait for a retained database'],
  ])('is refused where %s', async (_what, reason, words) => {
    if (reason !== undefined) waiting(reason);
    const { status, body } = await facade.call('POST', `${PATH}/${claim('shop--postgres')}/adopt`);
    expect([status, body.detail]).toEqual([409, expect.stringContaining(words)]);
    expect(facade.kept()).toEqual([]);
  });
});

it('of several, the deployment adopts the one for which it waits, and the answer says how to choose another', async () => {
  const uid = waiting('DatabaseKept', 1);
  const [first, second] = [claim('shop--postgres'), claim('shop---pg1')];
  const { status, body } = await facade.call('POST', `${PATH}/${first}/adopt`);
  const kubectl = `kubectl annotate secret`;
  expect([status, body.detail]).toEqual([
    409,
    `"shop" waits for database 1, which was used last, and adopts no other. To use database 0 instead: delete "shop", run ${kubectl} shop---pg1 -n ${TENANT.namespace} --overwrite davit.dev/used-last- and ${kubectl} shop--postgres -n ${TENANT.namespace} --overwrite "davit.dev/used-last=${GONE} pod", and create "shop" again.`,
  ]);
  expect(facade.kept()).toEqual([]);
  expect(await facade.call('POST', `${PATH}/${second}/adopt`)).toMatchObject({ status: 200, body: { wanted_by: uid } });
});

it('of several, none is adopted before it is known for which one the deployment waits', async () => {
  facade.seed({ metadata: { name: 'shop' } });
  claim('shop---pg1');
  const { status, body } = await facade.call('POST', `${PATH}/${claim('shop--postgres')}/adopt`);
  expect([status, body.detail]).toEqual([409, expect.stringContaining('has not observed "shop" yet')]);
});

describe('delete', () => {
  it('deletes the password, then the volume, as they were seen', async () => {
    const id = claim('shop--postgres');
    put(SECRETS, 'shop--postgres');
    expect((await facade.call('DELETE', `${PATH}/${id}`)).status).toBe(204);
    expect(left()).toEqual([]);
    expect(facade.kept().map(({ verb, kind, body }) => [verb, kind, body])).toEqual([
      ['delete', 'Secret', expect.objectContaining({ resourceVersion: expect.stringMatching(/^\d+$/) as string })],
      [
        'delete',
        'PersistentVolumeClaim',
        expect.objectContaining({ uid: id, resourceVersion: expect.stringMatching(/^\d+$/) as string }),
      ],
    ]);
  });

  it('deletes a Cluster', async () => {
    const id = put(POSTGRES_CLUSTERS, 'shop--postgres');
    expect((await facade.call('DELETE', `${PATH}/${id}`)).status).toBe(204);
    expect(left()).toEqual([]);
  });

  it.each([
    ['of a deployment that is there', (): string => claim('shop--postgres', waiting())],
    ['that is not there', (): string => GONE],
  ])('finds none %s', async (_what, made) => {
    const id = made();
    const before = left();
    expect((await facade.call('DELETE', `${PATH}/${id}`)).status).toBe(404);
    expect(left()).toEqual(before);
  });

  it('leaves the password of another deployment', async () => {
    const id = claim('shop--postgres');
    put(SECRETS, 'shop--postgres', { uid: 'another' });
    expect((await facade.call('DELETE', `${PATH}/${id}`)).status).toBe(204);
    expect(left()).toEqual(['Secret shop--postgres']);
  });

  it.each([
    ['a right is missing', new Forbidden('no', { serverMessage: 'no' }), 403],
    ['it is being adopted', new Conflict('the object has been modified'), 409],
  ])('leaves volume and password where %s', async (_what, error, status) => {
    const id = claim('shop--postgres');
    put(SECRETS, 'shop--postgres');
    const before = left();
    facade.kube.failOn(({ verb, kind }) => (verb === 'delete' && kind === 'PersistentVolumeClaim' ? error : undefined));
    expect((await facade.call('DELETE', `${PATH}/${id}`)).status).toBe(status);
    expect(left()).toEqual(before);
  });
});
