// /v2/deployments/{id}/operations over an in-memory API server.

import { beforeEach, describe, expect, it } from 'vitest';
import { OperationList, OperationResponse } from '../../../src/databases/http/payloads.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { aBody, type Facade, makeFacade, TENANT } from './facade.ts';

let facade: Facade;
let path: string;

const operations = (): DatastoreOperation[] => facade.kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS);

async function deployed(source_config: object): Promise<string> {
  const { body } = await facade.call('POST', '/v2/deployments', { ...aBody(), source_config });
  return `/v2/deployments/${body.id}/operations`;
}

beforeEach(async () => {
  facade = await makeFacade();
  path = await deployed({ database: { backup: {} } });
});

it('a backup is asked for, listed, read and cancelled, under the name of who asks', async () => {
  const made = await facade.call('POST', path, { action: 'Backup' });
  expect([made.status, OperationResponse.parse(made.body)]).toEqual([201, made.body]);
  expect(made.body).toMatchObject({
    action: 'Backup',
    phase: 'Pending',
    reason: null,
    requested_by: expect.any(String) as string,
  });
  const { name } = made.body as OperationResponse;
  expect(operations()).toMatchObject([{ metadata: { name }, spec: { deployment: 'shop', action: 'Backup' } }]);
  const list = await facade.call('GET', path);
  expect(OperationList.parse(list.body)).toEqual(list.body);
  expect(list.body.resources).toEqual([made.body]);
  expect((await facade.call('GET', `${path}/${name}`)).body).toEqual(made.body);
  expect((await facade.call('DELETE', `${path}/${name}`)).status).toBe(200);
  expect(operations()).toEqual([]);
  expect((await facade.call('GET', `${path}/${name}`)).status).toBe(404);
});

it('a request that is sent twice with one key makes one operation, and the key fits no other', async () => {
  const headers = { 'idempotency-key': 'a-key' };
  const first = await facade.call('POST', path, { action: 'Backup' }, headers);
  const second = await facade.call('POST', path, { action: 'Backup' }, headers);
  expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
  expect(operations()).toHaveLength(1);
  await facade.call('POST', path, { action: 'Backup' });
  expect(operations()).toHaveLength(2);
});

it.each([
  ['an unknown action', { action: 'Destroy' }, /action/],
  ['no action', {}, /action/],
])('%s is refused with 422, by its name', async (_what, body, words) => {
  const { status, body: answer } = await facade.call('POST', path, body);
  expect([status, JSON.stringify(answer)]).toEqual([422, expect.stringMatching(words)]);
  expect(operations()).toEqual([]);
});

it.each([
  ['no backups are asked for', {}, /shop2 has no database yet/],
  ['the database is external', { runtime: { database: 'none' } }, /shop2 has no database/],
])('where %s, it is refused with 409', async (_what, config, words) => {
  const { body } = await facade.call('POST', '/v2/deployments', { ...aBody(), name: 'shop2', source_config: config });
  const refused = await facade.call('POST', `/v2/deployments/${body.id}/operations`, { action: 'Backup' });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([409, expect.stringMatching(words)]);
});

it('the list says what can be asked for, and why not the rest', async () => {
  const backup = '20260201T020000Z-0000000a';
  facade.snapshot();
  await list('shop', backup);
  const [record] = facade.records.list();
  const image = 'docker.io/library/postgres:17.6-trixie';
  facade.records.put({
    ...record,
    status: {
      ...record?.status,
      databasesKept: [{ driver: 'pod', number: 7 }],
      datastores: { postgres: { image }, redis: { image: 'valkey:8.1', available: 'valkey:8.2' } },
    },
  } as AppDeployment);
  const { body, headers } = await facade.call('GET', path);
  expect(OperationList.parse(body)).toEqual(body);
  const { acts, database } = body as OperationList;
  expect(database).toEqual({ driver: 'pod', number: 0 });
  const offered = acts.filter(({ refused }) => refused === null);
  expect(offered).toEqual([
    { request: { action: 'Backup' }, refused: null, loses: null },
    { request: { action: 'Restore', restore: { backup } }, refused: null, loses: null },
    { request: { action: 'Return' }, refused: null, loses: null },
    {
      request: { action: 'Patch', patch: { datastore: 'redis' }, accept: ['QueueLost'] },
      refused: null,
      loses: 'Redis of shop has no volume, so a restart loses its queue.',
    },
  ]);
  // Each request is taken as it stands, and each refusal is that of the request.
  for (const { request, refused } of acts) {
    const { status, body: answer } = await facade.call('POST', path, request);
    expect([request.action, status, answer.detail ?? null]).toEqual([
      request.action,
      refused === null ? 201 : 409,
      refused,
    ]);
  }
  expect(acts.map(({ request }) => request.action)).toEqual([
    'Backup',
    'Restore',
    'Move',
    'Upgrade',
    'Return',
    'DeletePrevious',
    'Patch',
    'Patch',
  ]);
  const tag = String(headers['etag']);
  expect((await facade.call('GET', path, undefined, { 'if-none-match': tag })).status).toBe(200);
  const { headers: now } = await facade.call('GET', path);
  expect((await facade.call('GET', path, undefined, { 'if-none-match': String(now['etag']) })).status).toBe(304);
});

it("another deployment's operation is not found", async () => {
  const { name } = (await facade.call('POST', path, { action: 'Backup' })).body as OperationResponse;
  const { body } = await facade.call('POST', '/v2/deployments', { ...aBody(), name: 'shop2' });
  const missing = await facade.call('GET', `/v2/deployments/${body.id}/operations/${name}`);
  expect([missing.status, missing.body.detail]).toEqual([404, `Deployment "shop2" has no operation "${name}".`]);
});

/** As the controller reports what the store has of a deployment. */
async function list(deployment: string, ...backups: string[]): Promise<void> {
  const newest = backups.map((name) => ({ name, takenAt: '2026-02-01T02:00:00Z', sizeBytes: 1 }));
  const status = { databaseBackups: { listedAt: '2026-02-01T02:00:09Z', count: newest.length, newest } };
  const place = { namespace: TENANT.namespace, name: deployment };
  await facade.kube.mergePatch(
    APP_DEPLOYMENTS,
    place,
    { status },
    { fieldManager: 'controller', subresource: 'status' },
  );
  facade.records.fill();
}

it('a restore of a backup that the store does not have is refused with 409, also of another deployment', async () => {
  const [there, gone] = ['20260201T020000Z-0000000a', '20260131T020000Z-0000000a'];
  facade.snapshot();
  await facade.call('POST', '/v2/deployments', { ...aBody(), name: 'old' });
  await list('shop', there);
  await list('old', gone);
  const restored = async (restore: object): Promise<unknown[]> => {
    const { status, body } = await facade.call('POST', path, { action: 'Restore', restore });
    return [status, body.detail];
  };
  expect(await restored({ backup: gone })).toEqual([
    409,
    `The store has no backup ${gone} of shop. The earliest is from 2026-02-01T02:00:00Z, the latest from 2026-02-01T02:00:00Z. To list them: kubectl davit backups shop`,
  ]);
  expect(await restored({ backup: there, from: 'old' })).toMatchObject([
    409,
    expect.stringContaining(`The store has no backup ${there} of old.`) as string,
  ]);
  expect(operations()).toEqual([]);
  expect((await restored({ backup: there }))[0]).toBe(201);
  expect((await restored({ backup: gone, from: 'old' }))[0]).toBe(201);
  // Nobody knows what the store has of one that is gone: the restore finds out.
  expect((await restored({ backup: gone, from: 'older' }))[0]).toBe(201);
  // Of another namespace nobody here knows anything, its consent included: the controller decides.
  expect((await restored({ backup: gone, from: 'shop', namespace: 'other' }))[0]).toBe(201);
});

it.each([
  ['a restore of no backup', { action: 'Restore' }, ['body', 'restore'], 'action Restore needs it'],
  [
    'a move with a backup',
    { action: 'Move', restore: { backup: '20260201T020000Z-0000000a' } },
    ['body', 'restore'],
    'only action Restore has it',
  ],
  [
    'a deletion of no database',
    { action: 'DeletePrevious' },
    ['body', 'delete_previous'],
    'action DeletePrevious needs it',
  ],
  [
    'a return with an archive',
    { action: 'Return', backup: { archive: true } },
    ['body', 'backup'],
    'only action Backup has it',
  ],
  ['a patch of nothing', { action: 'Patch' }, ['body', 'patch'], 'action Patch needs it'],
  [
    'an upgrade with an accepted loss',
    { action: 'Upgrade', accept: ['NoBackup'] },
    ['body', 'accept'],
    'only action Patch has it',
  ],
])('%s is refused with 422, at its place', async (_what, body, loc, words) => {
  const { status, body: answer } = await facade.call('POST', path, body);
  expect([status, answer]).toMatchObject([422, { detail: [{ loc, msg: expect.stringContaining(words) as string }] }]);
  expect(operations()).toEqual([]);
});

it.each([
  ['accept', 'NoBackup'],
  ['restore', []],
])('%s of a wrong type is one error', async (member, value) => {
  const { status, body } = await facade.call('POST', path, { action: 'Backup', [member]: value });
  expect([status, body.detail]).toMatchObject([422, [{ loc: ['body', member] }]]);
  expect(body.detail).toHaveLength(1);
});

it.each([
  [{ action: 'Restore', restore: { backup: '20260201T020000Z-0000000a' } }],
  [{ action: 'Move' }],
  [{ action: 'Upgrade' }],
  [{ action: 'Return' }],
  [{ action: 'Patch', patch: { datastore: 'postgres' } }],
])('%j of a deployment without a database of its own is refused with 409', async (body) => {
  const { status, body: answer } = await facade.call('POST', path, body);
  expect([status, JSON.stringify(answer)]).toEqual([409, expect.stringContaining('has no PostgreSQL of Davit')]);
  expect(operations()).toEqual([]);
});

const LISTENER = { listenerId: '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10' };
describe.each([
  ['is being deleted', { metadata: { deletionTimestamp: '2026-02-01T00:00:00Z' } }, /is being deleted/],
  ['runs in the cluster of a listener', { spec: { sourceConfig: LISTENER } }, /the kubeconfig of that cluster/],
])('of a deployment that %s', (_what, more, words) => {
  it.each([
    { action: 'Backup' },
    { action: 'Restore', restore: { backup: '20260201T020000Z-0000000a' } },
    { action: 'Move' },
    { action: 'Upgrade' },
    { action: 'Return' },
    { action: 'DeletePrevious', delete_previous: { number: 1 } },
    { action: 'Patch', patch: { datastore: 'postgres' } },
  ])('$action is refused with 409', async (body) => {
    const [record] = facade.records.list();
    if (!record) throw new Error('There is no record.');
    const [metadata, spec] = [
      { ...record.metadata, ...('metadata' in more && more.metadata) },
      { ...record.spec, ...('spec' in more && more.spec) },
    ];
    facade.records.put({ ...record, metadata, spec });
    const { status, body: answer } = await facade.call('POST', path, body);
    expect([status, answer.detail]).toEqual([409, expect.stringMatching(words)]);
    expect(operations()).toEqual([]);
  });
});

it('a patch is asked for with the losses that are accepted, and refused without them', async () => {
  const image = 'valkey:8.1.9-trixie';
  const [record] = facade.records.list();
  if (!record) throw new Error('There is no record.');
  const datastores = { redis: { image, version: '8.1.9', available: 'valkey:8.1.10-trixie' } };
  facade.records.put({ ...record, status: { ...record.status, datastores } });
  const patch = { datastore: 'redis' };
  const refused = await facade.call('POST', path, { action: 'Patch', patch });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([409, expect.stringContaining('--accept QueueLost')]);
  const made = await facade.call('POST', path, { action: 'Patch', patch, accept: ['QueueLost'] });
  expect(made.status).toBe(201);
  expect(operations().map(({ spec }) => spec)).toMatchObject([{ action: 'Patch', patch, accept: ['QueueLost'] }]);
  const { body } = await facade.call('GET', path.replace('/operations', ''));
  expect(body).toMatchObject({
    datastores: { postgres: null, redis: { image, version: '8.1.9', since: null, available: 'valkey:8.1.10-trixie' } },
  });
});
