// A PostgreSQL that really runs, asked for sizes that no node has or has room for, and robbed of its volume.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
// Without a kubelet no pod starts or fails; `node` says so in the run's first lines.
const withPods = describe.skipIf(davit.node !== 'real');

let tenant: Tenant;
beforeAll(async () => {
  if (davit.node === 'real') tenant = await davit.tenant('stores');
});

function inTenant(...args: readonly string[]): Promise<string> {
  return davit.kubectl(['-n', tenant.namespace, ...args]);
}

/** With other connections, PostgreSQL needs another pod; other sizes alone are given to the one that runs. */
async function apply(dbCpu: number, dbMaxConnections = 100): Promise<void> {
  await davit.kubectl(['apply', '-f', '-'], {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'sized', namespace: tenant.namespace },
    spec: {
      source: 'external_docker',
      sourceRevisionConfig: { imageUri: davit.images.sample },
      sourceConfig: {
        resourceSpec: {
          cpu: 0.1,
          memoryMb: 128,
          dbCpu,
          dbCpuLimit: 64,
          dbMaxConnections,
          dbMemoryMb: 256,
          dbStorageGi: 1,
          redisCpu: 0.1,
          redisMemoryMb: 64,
        },
      },
    },
  });
}

async function says(type: string, wanted: object): Promise<void> {
  await eventually(async () => {
    const { metadata, status } = await davit.kubectlJson<{
      metadata: { generation: number };
      status?: { observedGeneration: number; conditions: { type: string; status: string; reason: string }[] };
    }>(['get', 'appd', 'sized', '-n', tenant.namespace]);
    expect(status?.observedGeneration).toBe(metadata.generation);
    expect(status?.conditions.find((condition) => condition.type === type)).toMatchObject(wanted);
  }, 120_000);
}

const READY = { status: 'True', reason: 'Serving' };

function podUid(): Promise<string> {
  return inTenant('get', 'pod', 'sized--postgres-0', '-o', 'jsonpath={.metadata.uid}');
}

function sql(statement: string): Promise<string> {
  return inTenant('exec', 'sized--postgres-0', '--', 'psql', '-h', '127.0.0.1', '-U', 'postgres', '-Atc', statement);
}

withPods('a PostgreSQL that runs', () => {
  it('outlives sizes that no node has, and comes back from one that no node has room for', async () => {
    await apply(0.1);
    await says('Ready', READY);
    await sql('create table kept (word text)');
    const before = await podUid();

    // More than any node has: it is not even stopped.
    await apply(60);
    await says('Stalled', { status: 'True', reason: 'NoNodeFits' });
    expect([await podUid(), (await sql('select 1')).trim()]).toEqual([before, '1']);

    // As much as the node has, of which others have a part: that cannot be known before.
    const cores = Number(await davit.kubectl(['get', 'nodes', '-o', 'jsonpath={.items[0].status.allocatable.cpu}']));
    expect(cores).toBeGreaterThanOrEqual(1);
    await apply(cores, 101);
    await says('DatabaseReady', { status: 'False', reason: 'Unschedulable' });
    await apply(0.1);
    await says('Ready', READY);
    expect((await sql('select count(*) from kept')).trim()).toBe('0');
  }, 400_000);

  it('says that its volume is going and gone, and starts with an empty one on an explicit word alone', async () => {
    await inTenant('delete', 'pvc', 'sized--postgres', '--wait=false');
    await says('Stalled', { status: 'True', reason: 'VolumeTerminating' });
    // It answers still, so that there is something to back up.
    expect((await sql('select count(*) from kept')).trim()).toBe('0');
    await inTenant('delete', 'pod', 'sized--postgres-0', '--timeout=150s');
    await says('Stalled', { status: 'True', reason: 'VolumeMissing' });
    expect(await inTenant('get', 'pvc', '-o', 'name')).toBe('');

    const lost = await inTenant('get', 'appd', 'sized', '-o', 'jsonpath={.status.databaseVolumeUid}');
    await inTenant('annotate', 'appd', 'sized', `davit.dev/empty-database=${lost}`);
    await says('Ready', READY);
    expect((await sql("select count(*) from pg_tables where tablename = 'kept'")).trim()).toBe('0');
    await inTenant('delete', 'appd', 'sized', '--timeout=120s');
  }, 400_000);
});
