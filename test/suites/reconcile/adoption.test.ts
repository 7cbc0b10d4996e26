// A database that an earlier deployment of the same name has left, over the in-memory API server: it is mounted by
// nobody who was not told to, and taken up whole by who was.

import { expect, it } from 'vitest';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import {
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, putRecord, putSecret, record } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge, crashed } from './harness.ts';

const EARLIER = '99999999-9999-4999-8999-999999999999';

/** A server with what an earlier deployment `shop` has left, and a new record of that name. */
function aServerWithData(adopts?: string): FakeKube {
  const kube = aServer();
  const labels = {
    'davit.dev/deployment': 'shop',
    'davit.dev/component': 'postgres',
    'davit.dev/deployment-uid': EARLIER,
  };
  const metadata = { name: 'shop--postgres', namespace: 'team', labels };
  kube.seed(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'b2xk' } } as KubeObject);
  kube.seed(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...metadata, annotations: { 'davit.dev/postgres-image': 'docker.io/library/postgres:16' } },
    spec: { resources: { requests: { storage: '20Gi' } } },
  } as KubeObject);
  putRecord(kube, {}, adopts === undefined ? {} : { annotations: { 'davit.dev/adopt-database': adopts } });
  return kube;
}

/** Uid and owner of the data, and what the Secret holds. */
function dataIn(kube: FakeKube): unknown[] {
  return [SECRETS, PERSISTENT_VOLUME_CLAIMS].flatMap((resource) =>
    kube
      .objects<KubeObject & { data?: object }>(resource)
      .filter(({ metadata }) => metadata.name === 'shop--postgres')
      .map(({ metadata, data }) => [metadata.uid, metadata.labels?.['davit.dev/deployment-uid'], data]),
  );
}

it('is not taken up unasked: nothing that would use it is made, and the record says how', async () => {
  const kube = aServerWithData();
  const before = dataIn(kube);
  const controller = await aController(kube);
  await converge(controller);
  expect([kube.objects(STATEFUL_SETS), kube.objects(DEPLOYMENTS), dataIn(kube)]).toEqual([[], [], before]);
  expect(conditionIn(kube, 'Stalled')).toMatchObject({
    status: 'True',
    reason: 'DatabaseKept',
    message: expect.stringContaining('To adopt it: kubectl davit database adopt shop -n team, or POST') as string,
  });
  await edit(kube, { metadata: { annotations: { 'davit.dev/adopt-database': EARLIER } } });
  await converge(controller);
  expect(record(kube).status?.state).toBe('READY');
});

it('is taken up as it is, and run by the PostgreSQL that it was run by', async () => {
  const kube = aServerWithData(EARLIER);
  const before = dataIn(kube) as [string, string, unknown][];
  await converge(await aController(kube));
  expect(dataIn(kube)).toEqual(before.map(([uid, , data]) => [uid, record(kube).metadata.uid, data]));
  const [revision] = kube.objects<AppRevision>(APP_REVISIONS);
  expect(revision?.spec.resolved.postgres).toMatchObject({ image: 'docker.io/library/postgres:16', storageGi: 20 });
  expect([record(kube).status?.state, record(kube).status?.resourceSpec?.['dbStorageGi']]).toEqual(['READY', 20]);
});

it('a crash at any write on the way: the same end', async () => {
  for (let crash = 1; crash <= 8; crash += 1) {
    const kube = aServerWithData(EARLIER);
    const before = dataIn(kube) as [string, string, unknown][];
    await crashed(await aController(kube), { when: 'failAfter', at: crash });
    await converge(await aController(kube));
    expect(dataIn(kube), `crash at write ${crash}`).toEqual(
      before.map(([uid, , data]) => [uid, record(kube).metadata.uid, data]),
    );
  }
});

it('given up for good, the record begins with an empty database of its own', async () => {
  const kube = aServerWithData();
  const controller = await aController(kube);
  await converge(controller);
  kube.erase(SECRETS, { namespace: 'team', name: 'shop--postgres' });
  kube.erase(PERSISTENT_VOLUME_CLAIMS, { namespace: 'team', name: 'shop--postgres' });
  await converge(controller);
  expect(record(kube).status?.state).toBe('READY');
});

it("a volume of somebody else's is mounted by no pod", async () => {
  const kube = aServer();
  kube.seed(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'shop--postgres', namespace: 'team' },
  });
  putRecord(kube);
  const controller = await aController(kube);
  await converge(controller).catch(() => undefined);
  expect([kube.objects(STATEFUL_SETS), kube.objects(DEPLOYMENTS)]).toEqual([[], []]);
  expect(conditionIn(kube, 'Stalled')?.reason).toBe('NameConflict');
});

it('from its own database to an external one and back: the volume and the password are what they were', async () => {
  const kube = aServer();
  putRecord(kube);
  putSecret(kube, 'outside', { uri: 'eA==' });
  const controller = await aController(kube);
  await converge(controller);
  const before = dataIn(kube);
  const external = [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' }];
  await edit(kube, { spec: { secretReferences: external } });
  await converge(controller);
  expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toEqual(['shop--redis']);
  expect(dataIn(kube)).toEqual(before);
  await edit(kube, { spec: { secretReferences: null } });
  await converge(controller);
  expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toEqual(['shop--postgres', 'shop--redis']);
  expect([dataIn(kube), record(kube).status?.state]).toEqual([before, 'READY']);
});
