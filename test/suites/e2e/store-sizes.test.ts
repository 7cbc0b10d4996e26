// Sizes of a PostgreSQL and a Redis that really run: in force in their cgroups without a restart, and what is said while the node has
// no room for them.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Attached, attach } from '../../support/running-davit.ts';
import { sizedRecord } from './sized.ts';

const davit: Attached = attach(inject('davit'));
const withPods = describe.skipIf(davit.node !== 'real');

const LIMITS = { dbCpuLimit: 1, dbMemoryLimitMb: 1024, redisCpuLimit: 0.5 };
const { inTenant, says, sql, apply: applySizes } = sizedRecord(davit, 'store-sizes');
const apply = (more: object = {}): Promise<void> => applySizes({ ...LIMITS, ...more });

beforeAll(async () => {
  if (davit.node === 'real') await davit.tenant('store-sizes');
});

async function newestState(): Promise<string | undefined> {
  const inOrder = ['--sort-by=.spec.deploymentGeneration', '-o', 'jsonpath={.items[*].status.state}'];
  return (await inTenant('get', 'appr', ...inOrder)).split(' ').at(-1);
}

/** Every part of it serves, and its revision is DEPLOYED. */
async function ready(): Promise<void> {
  await says('Ready', { status: 'True', reason: 'Serving' });
  expect(await newestState()).toBe('DEPLOYED');
}

interface StorePod {
  readonly uid: string;
  readonly restarts: number;
  readonly resources: unknown;
  /** Whether its StatefulSet sees a pod of its template, and replaces pods again. */
  readonly settled: boolean;
}

async function podOf(part: 'postgres' | 'redis'): Promise<StorePod> {
  const of = ['-n', 'store-sizes'];
  const { metadata, status } = await davit.kubectlJson<{
    metadata: { uid: string; labels: Record<string, string> };
    status: { containerStatuses: { restartCount: number; resources: unknown }[] };
  }>(['get', 'pod', `sized--${part}-0`, ...of]);
  const set = await davit.kubectlJson<{
    spec: { updateStrategy: { type: string } };
    status: { currentRevision: string; updateRevision: string };
  }>(['get', 'statefulset', `sized--${part}`, ...of]);
  const revision = metadata.labels['controller-revision-hash'];
  return {
    uid: metadata.uid,
    restarts: status.containerStatuses[0]?.restartCount ?? 0,
    resources: status.containerStatuses[0]?.resources,
    settled:
      set.spec.updateStrategy.type === 'RollingUpdate' &&
      set.status.updateRevision === revision &&
      set.status.currentRevision === revision,
  };
}

/** Memory limit in bytes and CPU limit in cores, as the kernel has them: cgroup v2, or v1. */
async function inForce(part: 'postgres' | 'redis'): Promise<{ memory: number; cpu: number }> {
  const words = await inTenant(
    'exec',
    `sized--${part}-0`,
    '--',
    'sh',
    '-c',
    'cd /sys/fs/cgroup; cat memory.max cpu.max 2>/dev/null || cat memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us',
  );
  const [memory = 0, quota = 0, period = 1] = words.trim().split(/\s+/).map(Number);
  return { memory, cpu: quota / period };
}

const MI = 2 ** 20;

/** What is given to the pods that run. */
const MORE = {
  dbCpu: 0.2,
  dbCpuLimit: 1.5,
  dbMemoryMb: 384,
  dbMemoryLimitMb: 1280,
  redisCpu: 0.05,
  redisCpuLimit: 0.4,
};

withPods('sizes of a PostgreSQL and a Redis that run', () => {
  it('are in force without a restart, and a connection is kept', async () => {
    await apply();
    await ready();
    await sql('create table kept (word text)');
    const [postgres, redis] = await Promise.all([podOf('postgres'), podOf('redis')]);
    expect(await inForce('postgres')).toEqual({ memory: 1024 * MI, cpu: 1 });

    // A session that lasts longer than the change: it would be cut off with its server.
    let isOver = false;
    const session = sql('select pg_sleep(30)').finally(() => {
      isOver = true;
    });
    await apply(MORE);
    await says('DatabaseReady', { status: 'True', reason: 'Answering' });
    await says('RedisReady', { status: 'True', reason: 'Answering' });
    expect(isOver).toBe(false);
    await session;
    await ready();

    expect(await podOf('postgres')).toEqual({
      uid: postgres.uid,
      restarts: 0,
      resources: { requests: { cpu: '200m', memory: '384Mi' }, limits: { cpu: '1500m', memory: '1280Mi' } },
      settled: true,
    });
    expect(await podOf('redis')).toMatchObject({ uid: redis.uid, restarts: 0, settled: true });
    expect(await inForce('postgres')).toEqual({ memory: 1280 * MI, cpu: 1.5 });
    expect(await inForce('redis')).toEqual({ memory: 64 * MI, cpu: 0.4 });
  }, 300_000);

  it('wait for room on the node, which is said, and answer meanwhile', async () => {
    const before = await podOf('postgres');
    const cores = Number(await davit.kubectl(['get', 'nodes', '-o', 'jsonpath={.items[0].status.allocatable.cpu}']));
    await apply({ ...MORE, dbCpu: cores, dbCpuLimit: cores });
    await says('DatabaseReady', { status: 'True', reason: 'ResizeDeferred' });
    await says('Available', { status: 'True', reason: 'Serving' });
    await says('Ready', { status: 'False', reason: 'ResizeDeferred' });
    expect((await sql('select count(*) from kept')).trim()).toBe('0');
    expect(await newestState()).not.toBe('DEPLOYED');
    await apply(MORE);
    await ready();
    expect(await podOf('postgres')).toEqual(before);
  }, 300_000);

  it('come with another pod where memory is taken away, or Redis starts with what changes', async () => {
    const [postgres, redis] = await Promise.all([podOf('postgres'), podOf('redis')]);
    await apply({ redisMemoryMb: 96 });
    await ready();
    const [later, laterRedis] = await Promise.all([podOf('postgres'), podOf('redis')]);
    expect([later.uid === postgres.uid, laterRedis.uid === redis.uid]).toEqual([false, false]);
    expect([later.settled, laterRedis.settled]).toEqual([true, true]);
    expect(await inForce('postgres')).toEqual({ memory: 1024 * MI, cpu: 1 });
    expect((await sql('select count(*) from kept')).trim()).toBe('0');
    await inTenant('delete', 'appd', 'sized', '--timeout=120s');
  }, 300_000);
});
