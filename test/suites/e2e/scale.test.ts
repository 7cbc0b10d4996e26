// Another scale, and other sizes of one part, with pods that really run, under load: no other pod is replaced, nothing migrates, and no
// request fails.

import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
const withPods = describe.skipIf(davit.node !== 'real');

const SIZES = {
  cpu: 0.1,
  memory_mb: 128,
  queue_cpu: 0.1,
  queue_memory_mb: 128,
  db_cpu: 0.1,
  db_memory_mb: 128,
  db_storage_gi: 1,
  redis_cpu: 0.05,
  redis_memory_mb: 64,
};

let tenant: Tenant;
let folder = '';
let id = '';
let url = '';

beforeAll(async () => {
  if (davit.node !== 'real') return;
  tenant = await davit.tenant('scale');
  folder = await mkdtemp(join(tmpdir(), 'davit-plugin-'));
  await writePlugin(folder);
  const created = await davit.call(tenant, 'POST', '/v2/deployments', {
    name: 'load',
    source: 'external_docker',
    source_config: {
      resource_spec: { ...SIZES, queue_min_scale: 1, queue_max_scale: 1 },
      runtime: { migrate: { command: ['node', '-e', '0'] } },
    },
    source_revision_config: { image_uri: davit.images.sample },
    secrets: [],
  });
  expect([created.status, created.body.detail]).toEqual([201, undefined]);
  id = created.body.id;
  await inTenant('wait', '--for=condition=Ready', 'appd/load', '--timeout=180s');
  url = `http://${(await inTenant('get', 'service', 'load', '-o', 'jsonpath={.spec.clusterIP}')).trim()}/ok`;
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

function inTenant(...args: readonly string[]): Promise<string> {
  return davit.kubectl([...args, '-n', tenant.namespace]);
}

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly ready: boolean }[];
  };
}

async function podsOf(component: string): Promise<readonly Pod[]> {
  const selector = `davit.dev/deployment=load,davit.dev/component=${component}`;
  const { items } = await davit.kubectlJson<{ items: readonly Pod[] }>([
    'get',
    'pods',
    '-n',
    tenant.namespace,
    '-l',
    selector,
  ]);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** How many pods of the part are ready, once that many are there and no more. */
async function untilPods(component: string, count: number): Promise<readonly Pod[]> {
  let pods: readonly Pod[] = [];
  await eventually(
    async () => {
      pods = await podsOf(component);
      const ready = pods.filter(({ status }) => status.containerStatuses?.every((one) => one.ready));
      expect([pods.length, ready.length]).toEqual([count, count]);
    },
    120_000,
    1000,
  );
  return pods;
}

/** What may not change: the templates that pods were made of, the Jobs, the revisions, and restarts. */
async function made(): Promise<{ templates: string[]; jobs: string[]; restarts: number }> {
  const names = async (kind: string): Promise<string[]> =>
    (await inTenant('get', kind, '-o', 'jsonpath={.items[*].metadata.uid}')).split(' ').toSorted();
  const pods = (await Promise.all(['server', 'queue', 'postgres', 'redis'].map(podsOf))).flat();
  return {
    templates: await names('replicasets'),
    jobs: (await names('jobs')).filter((uid) => uid !== ''),
    restarts: pods
      .flatMap(({ status }) => status.containerStatuses ?? [])
      .reduce((sum, one) => sum + one.restartCount, 0),
  };
}

/** The Job of an earlier revision may have been tidied up. */
async function expectUnchanged(before: Awaited<ReturnType<typeof made>>): Promise<void> {
  const after = await made();
  expect(after.jobs.filter((uid) => !before.jobs.includes(uid))).toEqual([]);
  expect({ ...after, jobs: [] }).toEqual({ ...before, jobs: [] });
}

interface Load {
  readonly asked: () => number;
  readonly failures: string[];
  stop(): Promise<void>;
}

/** Asks again and again: with a fresh connection each time, or over one that is kept. */
function load(keepAlive: boolean): Load {
  const agent = new Agent({ keepAlive, maxSockets: 4 });
  const failures: string[] = [];
  let count = 0;
  let goesOn = true;
  const once = (): Promise<string> =>
    new Promise((resolve) => {
      const sent = request(url, { agent, timeout: 5000 }, (answer) => {
        answer.resume().on('end', () => resolve(String(answer.statusCode)));
      });
      sent.on('timeout', () => sent.destroy(new Error('no answer in 5 s')));
      sent.on('error', (error) => resolve(String(error)));
      sent.end();
    });
  async function askAgain(): Promise<void> {
    while (goesOn) {
      const answer = await once();
      count += 1;
      if (answer !== '200') failures.push(answer);
      await sleep(40);
    }
  }
  const asking = Promise.all([askAgain(), askAgain()]);
  return {
    asked: () => count,
    failures,
    async stop() {
      goesOn = false;
      await asking;
      agent.destroy();
    },
  };
}

async function patch(resource_spec: object): Promise<void> {
  const { status } = await davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, { source_config: { resource_spec } });
  expect(status).toBe(200);
}

withPods('under load', () => {
  it('1 to 3 to 1 and a queue worker more, by API, kubectl and plugin; then back to the active revision', async () => {
    const before = await made();
    const [server] = await untilPods('server', 1);
    const [worker] = await untilPods('queue', 1);
    const { body: first } = await davit.call(tenant, 'GET', `/v2/deployments/${id}`);
    const [fresh, kept] = [load(false), load(true)];

    await patch({ min_scale: 3, max_scale: 3 });
    const waited = await davit.call(tenant, 'GET', `/v2/deployments/${id}?wait=DEPLOYED&timeout=120`);
    expect([waited.body.latest_revision_id, waited.body.active_revision_id]).toEqual([
      first.latest_revision_id,
      first.active_revision_id,
    ]);
    expect((await untilPods('server', 3)).map(({ metadata }) => metadata.uid)).toContain(server?.metadata.uid);

    const queue = { spec: { sourceConfig: { resourceSpec: { queueMinScale: 2, queueMaxScale: 2 } } } };
    await inTenant('patch', 'appd', 'load', '--type=merge', '-p', JSON.stringify(queue));
    expect((await untilPods('queue', 2)).map(({ metadata }) => metadata.uid)).toContain(worker?.metadata.uid);

    vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
    const said = await inTenant('davit', 'scale', 'load', '--replicas', '1');
    vi.unstubAllEnvs();
    expect(said).toContain('no running pod is replaced');
    const [left] = await untilPods('server', 1);
    await inTenant('wait', '--for=condition=Ready', 'appd/load', '--timeout=120s');

    const path = `/v2/deployments/${id}/revisions/${first.active_revision_id}/redeploy`;
    expect((await davit.call(tenant, 'POST', path)).status).toBe(200);
    await davit.call(tenant, 'GET', `/v2/deployments/${id}?wait=DEPLOYED&timeout=120`);
    const { body: second } = await davit.call(tenant, 'GET', `/v2/deployments/${id}`);
    expect(second).toMatchObject({ status: 'READY', phase: 'DEPLOYED' });
    expect(second.active_revision_id).toBe(second.latest_revision_id);
    expect(second.latest_revision_id).not.toBe(first.latest_revision_id);
    expect((await untilPods('server', 1)).map(({ metadata }) => metadata.uid)).toEqual([left?.metadata.uid]);
    const logs = await davit.call(
      tenant,
      'POST',
      `/v1/projects/${id}/revisions/${second.latest_revision_id}/deploy_logs`,
      { limit: 10 },
    );
    expect(logs.body.logs.length).toBeGreaterThan(0);

    await sleep(8000);
    await Promise.all([fresh.stop(), kept.stop()]);
    process.stderr.write(
      `  scale under load: ${fresh.asked()} fresh connections, ${fresh.failures.length} failed; ${kept.asked()} requests over kept ones, ${kept.failures.length} failed ${[...new Set(kept.failures)].join(', ')}\n`,
    );
    expect(fresh.asked()).toBeGreaterThan(100);
    expect(fresh.failures).toEqual([]);
    await expectUnchanged(before);
  }, 400_000);

  it('more CPU of the queue, then more memory of Redis: no other pod is replaced, and nothing migrates', async () => {
    const jobs = async (): Promise<string[]> => (await made()).jobs;
    const before = await jobs();
    const uidsOf = async (component: string): Promise<string[]> =>
      (await podsOf(component)).map(({ metadata }) => metadata.uid).toSorted();
    const parts = ['server', 'queue', 'postgres', 'redis'];
    const uids = async (): Promise<Record<string, string[]>> =>
      Object.fromEntries(await Promise.all(parts.map(async (part) => [part, await uidsOf(part)] as const)));
    const change = async (resource_spec: object): Promise<string> => {
      await patch(resource_spec);
      await davit.call(tenant, 'GET', `/v2/deployments/${id}?wait=DEPLOYED&timeout=180`);
      const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${id}`);
      expect(body).toMatchObject({ status: 'READY', phase: 'DEPLOYED', active_revision_id: body.latest_revision_id });
      await untilPods('queue', 2);
      await untilPods('redis', 1);
      return body.latest_revision_id;
    };
    const first = await uids();
    const [fresh, kept] = [load(false), load(true)];

    const second = await change({ queue_cpu: 0.15 });
    const afterQueue = await uids();
    expect({ ...afterQueue, queue: [] }).toEqual({ ...first, queue: [] });
    expect(first['queue']?.filter((uid) => afterQueue['queue']?.includes(uid))).toEqual([]);
    const logs = await davit.call(tenant, 'POST', `/v1/projects/${id}/revisions/${second}/deploy_logs`, { limit: 500 });
    const parted = new Set(logs.body.logs.map(({ container }: { container: string }) => container));
    expect([parted.has('server'), parted.has('queue')]).toEqual([true, true]);

    await change({ redis_memory_mb: 80 });
    const afterRedis = await uids();
    expect({ ...afterRedis, redis: [] }).toEqual({ ...afterQueue, redis: [] });
    expect(afterRedis['redis']).not.toEqual(afterQueue['redis']);

    await Promise.all([fresh.stop(), kept.stop()]);
    process.stderr.write(
      `  parts under load: ${fresh.asked()} fresh connections, ${fresh.failures.length} failed; ${kept.asked()} requests over kept ones, ${kept.failures.length} failed ${[...new Set(kept.failures)].join(', ')}\n`,
    );
    expect(fresh.asked()).toBeGreaterThan(100);
    expect([fresh.failures, kept.failures]).toEqual([[], []]);
    const after = await made();
    expect(after.restarts).toBe(0);
    expect(after.jobs.filter((uid) => !before.includes(uid))).toEqual([]);
  }, 400_000);

  it('zero and back: the same revision, which migrates no second time', async () => {
    const before = await made();
    await patch({ min_scale: 0, max_scale: 0 });
    await untilPods('server', 0);
    await untilPods('queue', 0);
    // Kubernetes may end the pods before the pass that scaled them has written its report.
    await eventually(
      async () => expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body.status).toBe('UNUSED'),
      10_000,
    );
    await patch({ min_scale: null, max_scale: null });
    await untilPods('server', 1);
    await untilPods('queue', 2);
    await inTenant('wait', '--for=condition=Ready', 'appd/load', '--timeout=120s');
    await expectUnchanged(before);
  }, 300_000);
});
