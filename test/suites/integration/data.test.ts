// PostgreSQL volumes on a real API server: they grow, are never made smaller, outlive their deployment where that is
// asked for, and are taken up by another of the same name on an explicit word alone.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('data');
});

function inTenant(...args: readonly string[]): Promise<string> {
  return davit.kubectl([...args, '-n', tenant.namespace]);
}

function apply(
  name: string,
  spec: object = {},
  annotations: { readonly [name: string]: string } = {},
): Promise<string> {
  return davit.kubectl(['apply', '-f', '-'], aManifest({ name, namespace: tenant.namespace, annotations }, spec));
}

function sized(resourceSpec: object): object {
  return { sourceConfig: { resourceSpec } };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface Record {
  readonly metadata: { readonly uid: string; readonly generation: number };
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

async function condition(name: string, type: string): Promise<Condition | undefined> {
  const { status, metadata } = await davit.kubectlJson<Record>(['get', 'appd', name, '-n', tenant.namespace]);
  if (status?.observedGeneration !== metadata.generation) return undefined;
  return status.conditions?.find((one) => one.type === type);
}

async function untilReady(name: string): Promise<void> {
  await eventually(async () => expect(await condition(name, 'Ready')).toMatchObject({ status: 'True' }));
}

interface Data {
  readonly metadata: { readonly uid: string; readonly labels: Readonly<{ [label: string]: string }> };
  readonly spec?: { readonly resources: { readonly requests: { readonly storage: string } } };
  readonly data?: Readonly<{ [key: string]: string }>;
}

async function dataOf(name: string): Promise<{ secret: Data; claim: Data }> {
  const get = (kind: string): Promise<Data> =>
    davit.kubectlJson<Data>(['get', kind, `${name}--postgres`, '-n', tenant.namespace]);
  return { secret: await get('secret'), claim: await get('pvc') };
}

/** What must survive: the objects themselves, and the password. */
async function identityOf(name: string): Promise<unknown> {
  const { secret, claim } = await dataOf(name);
  return [secret.metadata.uid, secret.data?.['password'], claim.metadata.uid];
}

async function podOf(name: string): Promise<string> {
  return inTenant('get', 'pod', `${name}--postgres-0`, '-o', 'jsonpath={.metadata.uid}');
}

describe('the volume of a PostgreSQL', () => {
  it('grows while the pod runs, and never shrinks', async () => {
    await apply('grows', sized({ dbStorageGi: 1 }));
    await untilReady('grows');
    const [before, pod] = [await identityOf('grows'), await podOf('grows')];
    await apply('grows', sized({ dbStorageGi: 3 }));
    await eventually(async () =>
      expect(await inTenant('get', 'pvc', 'grows--postgres', '-o', 'jsonpath={.status.capacity.storage}')).toBe('3Gi'),
    );
    await untilReady('grows');
    await apply('grows', sized({ dbStorageGi: 2 }));
    await eventually(async () =>
      expect(await condition('grows', 'Stalled')).toMatchObject({
        status: 'True',
        reason: 'StorageCannotShrink',
        message: 'The PostgreSQL volume has 3 Gi and cannot shrink to 2 Gi. Set db_storage_gi to at least its size.',
      }),
    );
    expect((await dataOf('grows')).claim.spec?.resources.requests.storage).toBe('3Gi');
    // Without a requested size the default counts. The status has the size of the volume, which grows while the record is ready.
    await apply('grows', sized({ dbStorageGi: null }));
    await untilReady('grows');
    await eventually(async () =>
      expect(await inTenant('get', 'appd', 'grows', '-o', 'jsonpath={.status.resourceSpec.dbStorageGi}')).toBe('10'),
    );
    expect([await identityOf('grows'), await podOf('grows')]).toEqual([before, pod]);
  });

  it("of a class that cannot grow: a condition has the API server's message, and the pods keep running", async () => {
    await davit.kubectl(['apply', '-f', '-'], {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'rigid' },
      provisioner: 'example.com/none',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await davit.kubectl(['apply', '-f', '-'], {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'rigid--postgres', namespace: tenant.namespace },
      spec: { storageClassName: 'rigid', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await apply('rigid', sized({ dbStorageGi: 1 }));
    // Somebody else's until its labels say otherwise: nothing mounts it.
    await eventually(async () => expect(await condition('rigid', 'Stalled')).toMatchObject({ reason: 'NameConflict' }));
    expect(await inTenant('get', 'statefulset,deployment', '-o', 'name', '-l', 'davit.dev/deployment=rigid')).toBe('');
    const { metadata } = await davit.kubectlJson<Record>(['get', 'appd', 'rigid', '-n', tenant.namespace]);
    await inTenant(
      'label',
      'pvc',
      'rigid--postgres',
      'davit.dev/deployment=rigid',
      'davit.dev/component=postgres',
      `davit.dev/deployment-uid=${metadata.uid}`,
    );
    await eventually(async () => expect(await condition('rigid', 'Stalled')).toMatchObject({ status: 'False' }));
    await apply('rigid', sized({ dbStorageGi: 2 }));
    await eventually(async () =>
      expect(await condition('rigid', 'Stalled')).toMatchObject({
        status: 'True',
        reason: 'ApplyRefused',
        message: expect.stringMatching(
          /PersistentVolumeClaim rigid--postgres.*(resize|expan|immutable|bound)/,
        ) as string,
      }),
    );
    await inTenant('delete', 'appd', 'rigid', '--timeout=180s');
  });

  it('outlives its deployment, and is adopted by the next only with the annotation', async () => {
    await apply('phoenix', { databaseDeletionPolicy: 'Retain', ...sized({ dbStorageGi: 12 }) });
    await untilReady('phoenix');
    const before = await identityOf('phoenix');
    const { claim } = await dataOf('phoenix');
    const earlier = claim.metadata.labels['davit.dev/deployment-uid'];
    await inTenant('delete', 'appd', 'phoenix', '--timeout=180s');
    expect(await identityOf('phoenix')).toEqual(before);

    await apply('phoenix', { databaseDeletionPolicy: 'Retain' });
    await eventually(async () =>
      expect(await condition('phoenix', 'Stalled')).toMatchObject({
        status: 'True',
        reason: 'DatabaseKept',
        message: expect.stringContaining(
          `To adopt it: kubectl davit database adopt phoenix -n ${tenant.namespace}, or POST /v2/retained-databases/${claim.metadata.uid}/adopt.`,
        ) as string,
      }),
    );
    expect(await inTenant('get', 'pods', '-o', 'name', '-l', 'davit.dev/deployment=phoenix')).toBe('');
    await inTenant('annotate', 'appd', 'phoenix', `davit.dev/adopt-database=${earlier}`);
    await untilReady('phoenix');
    expect(await identityOf('phoenix')).toEqual(before);
    expect(await inTenant('get', 'appd', 'phoenix', '-o', 'jsonpath={.status.resourceSpec.dbStorageGi}')).toBe('12');
    const { metadata } = await davit.kubectlJson<Record>(['get', 'appd', 'phoenix', '-n', tenant.namespace]);
    expect((await dataOf('phoenix')).secret.metadata.labels['davit.dev/deployment-uid']).toBe(metadata.uid);
    // Now they are this record's, and go with it.
    await inTenant('patch', 'appd', 'phoenix', '--type=merge', '-p', '{"spec":{"databaseDeletionPolicy":"Delete"}}');
    await inTenant('delete', 'appd', 'phoenix', '--timeout=180s');
    expect(await inTenant('get', 'pvc,secret', '-o', 'name', '-l', 'davit.dev/deployment=phoenix')).toBe('');
  });
});

it('a record without a policy keeps the one that it began with, whatever a tool writes back', async () => {
  const inForce = (): Promise<string> =>
    inTenant(
      'get',
      'appd',
      'written-back',
      '-o',
      'jsonpath={.spec.databaseDeletionPolicy} {.status.databaseDeletionPolicy} {.status.databaseDeletionDefault}',
    );
  await apply('written-back');
  await eventually(async () => expect(await inForce()).toBe(' Delete Delete'));
  await apply('written-back', { databaseDeletionPolicy: 'Retain' });
  await eventually(async () => expect(await inForce()).toBe('Retain Retain Delete'));
  await apply('written-back');
  await eventually(async () => expect(await inForce()).toBe(' Delete Delete'));
  expect(await inTenant('get', 'appd', 'written-back', '-o', 'wide')).toMatch(/ON-DELETE.*\n.* Delete /);
});

it('a retained database is listed, adopted and deleted over HTTP', async () => {
  const retained = async (): Promise<{ readonly id: string; readonly size_bytes: number }[]> =>
    (await davit.call(tenant, 'GET', '/v2/retained-databases')).body.resources.filter(
      (one: { readonly deployment_name: string }) => one.deployment_name === 'ashes',
    );
  const again = { databaseDeletionPolicy: 'Retain', ...sized({ dbStorageGi: 1 }) };
  await apply('ashes', again);
  await untilReady('ashes');
  const before = await identityOf('ashes');
  expect(await retained()).toEqual([]);
  await inTenant('delete', 'appd', 'ashes', '--timeout=180s');
  const [left] = await retained();
  expect(left).toMatchObject({ driver: 'pod', number: 0, size_bytes: 2 ** 30, wanted_by: null });
  const path = `/v2/retained-databases/${left?.id}`;
  expect(await davit.call(tenant, 'POST', `${path}/adopt`)).toMatchObject({ status: 409 });

  await apply('ashes', again);
  await eventually(async () => expect(await condition('ashes', 'Stalled')).toMatchObject({ reason: 'DatabaseKept' }));
  await eventually(async () =>
    expect(await davit.call(tenant, 'POST', `${path}/adopt`)).toMatchObject({ status: 200 }),
  );
  await untilReady('ashes');
  expect([await identityOf('ashes'), await retained()]).toEqual([before, []]);
  expect((await davit.call(tenant, 'DELETE', path)).status).toBe(404);

  await inTenant('delete', 'appd', 'ashes', '--timeout=180s');
  expect((await davit.call(tenant, 'DELETE', path)).status).toBe(204);
  await eventually(async () =>
    expect(await inTenant('get', 'pvc,secret', '-o', 'name', '-l', 'davit.dev/deployment=ashes')).toBe(''),
  );
  await apply('ashes', sized({ dbStorageGi: 1 }));
  await untilReady('ashes');
});

it('a change to an external database and back keeps its data', async () => {
  await inTenant('create', 'secret', 'generic', 'outside', '--from-literal=uri=postgresql://u:p@db.example/x');
  await apply('moves');
  await untilReady('moves');
  const before = await identityOf('moves');
  await apply('moves', {
    secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' }],
    ...sized({ dbCpu: 2 }),
  });
  await untilReady('moves');
  await eventually(async () =>
    expect(
      await inTenant(
        'get',
        'statefulset,service,networkpolicy',
        '-o',
        'name',
        '-l',
        'davit.dev/deployment=moves,davit.dev/component=postgres',
      ),
    ).toBe(''),
  );
  expect(await condition('moves', 'ResourceSpecHonored')).toMatchObject({ status: 'False', reason: 'StoreIsExternal' });
  expect(await condition('moves', 'DatabaseReady')).toMatchObject({
    message: expect.stringContaining("The record's own volume, moves--postgres, is kept") as string,
  });
  await apply('moves', { secretReferences: [] });
  await untilReady('moves');
  await eventually(async () => expect(await podOf('moves')).not.toBe(''));
  expect(await identityOf('moves')).toEqual(before);
});
