// A PostgreSQL that really runs, asked for sizes that no node has or has room for, and robbed of its volume.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Attached, attach } from '../../support/running-davit.ts';
import { sizedRecord } from './sized.ts';

const davit: Attached = attach(inject('davit'));
// Without a kubelet no pod starts or fails; `node` says so in the run's first lines.
const withPods = describe.skipIf(davit.node !== 'real');

const { inTenant, says, sql, apply: applySizes } = sizedRecord(davit, 'stores');
/** With other connections, PostgreSQL needs another pod; other sizes alone are given to the one that runs. */
const apply = (dbCpu: number, dbMaxConnections = 100): Promise<void> =>
  applySizes({ dbCpu, dbCpuLimit: 64, dbMaxConnections });

beforeAll(async () => {
  if (davit.node === 'real') await davit.tenant('stores');
});

const READY = { status: 'True', reason: 'Serving' };

function podUid(): Promise<string> {
  return inTenant('get', 'pod', 'sized--postgres-0', '-o', 'jsonpath={.metadata.uid}');
}

withPods('a PostgreSQL that has never run', () => {
  it('starts once its sizes were corrected, which no node has', async () => {
    await apply(60);
    await says('DatabaseReady', { status: 'False', reason: 'Unschedulable' });
    await apply(0.1);
    await says('Ready', READY);
  }, 300_000);
});

withPods('a PostgreSQL that runs', () => {
  it('outlives sizes that no node has, and comes back from one that no node has room for', async () => {
    await apply(0.1);
    await says('Ready', READY);
    await sql('create table kept (word text)');
    const before = await podUid();

    // More than its node has: it is not even stopped.
    await apply(60);
    await says('Stalled', { status: 'True', reason: 'PodsRefused' });
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
