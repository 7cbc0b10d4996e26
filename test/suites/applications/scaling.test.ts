// Autoscaling by real metrics: queue workers follow their queue by KEDA's operator, and a server follows its load by
// metrics-server and the cluster's own autoscaler.

import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import { ensureImages } from '../../cluster/images/build.ts';
import { realPods } from '../../cluster/machine.ts';
import { type Davit, startDavit } from '../../kit/davit.ts';
import type { Tenant } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { plotOf, type Sample } from './plot.ts';
import { ensureScalingImages, installKeda, installMetricsServer, type ScalingImages } from './scaling-systems.ts';

const PLOT = join(import.meta.dirname, '../../../docs/queue-depth.svg');
const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
const script = (text: string): readonly string[] => ['node', '--input-type=module', '-e', text];

/** Makes the table of jobs, and burns a processor for as many seconds as it is asked for. */
const SERVER = `
import { createServer } from 'node:http';
import pg from 'pg';
const pool = new pg.Pool({ connectionString: process.env.POSTGRES_URI });
await pool.query("CREATE TABLE IF NOT EXISTS job (id serial PRIMARY KEY, status text DEFAULT 'pending')");
process.on('SIGTERM', () => process.exit(0));
createServer(async ({ url }, response) => {
  try {
    const [, what, count] = url.split('/');
    if (what === 'jobs') await pool.query('INSERT INTO job SELECT FROM generate_series(1, $1)', [Number(count)]);
    if (what === 'burn') {
      const end = Date.now() + Number(count) * 1000;
      const burn = () => {
        const until = Date.now() + 20;
        while (Date.now() < until);
        if (Date.now() < end) setTimeout(burn, 5);
      };
      burn();
    }
    const { rows } = await pool.query('SELECT status, count(*)::int AS count FROM job GROUP BY status');
    response.end(JSON.stringify(Object.fromEntries(rows.map(({ status, count }) => [status, count]))));
  } catch (error) {
    response.statusCode = 503;
    response.end(String(error));
  }
}).listen(Number(process.env.PORT));
`;
/** Takes one job after the other, each of which lasts three seconds. */
const WORKER = `
import { createServer } from 'node:http';
import pg from 'pg';
createServer((_, response) => response.end()).listen(Number(process.env.PORT));
const pool = new pg.Pool({ connectionString: process.env.POSTGRES_URI });
let ending = false;
process.on('SIGTERM', () => (ending = true));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
while (!ending) {
  const { rows } = await pool.query(
    "UPDATE job SET status = 'running' WHERE id = (SELECT id FROM job WHERE status = 'pending' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
  );
  await sleep(rows.length > 0 ? 3000 : 500);
  if (rows.length > 0) await pool.query("UPDATE job SET status = 'done' WHERE id = $1", [rows[0].id]);
}
process.exit(0);
`;
const PENDING = "SELECT count(*) FROM job WHERE status IN ('pending', 'running')";
const SMALL = { cpu: 0.1, memory_mb: 128, db_cpu: 0.1, db_memory_mb: 128, db_storage_gi: 1, redis_memory_mb: 64 };
const QUEUE = { queue_cpu: 0.1, queue_memory_mb: 96, queue_min_scale: 0, queue_max_scale: 3 };

/** When the number of pods changed, such as `0 s: 1, 20 s: 3`. */
function changesOf(samples: readonly Omit<Sample, 'jobs'>[]): string {
  const changes = samples.filter(({ pods }, index) => pods !== samples[index - 1]?.pods);
  return changes.map(({ at, pods }) => `${at} s: ${pods}`).join(', ');
}

interface PodUsage {
  readonly part: string;
  readonly usage: { readonly cpu: number | null; readonly memory_mb: number | null } | null;
  readonly limits: { readonly cpu: number | null; readonly memory_mb: number | null };
}

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
  readonly body: any;
}

describe.skipIf(!machine.ok)('autoscaling by real metrics', () => {
  let cluster: Cluster;
  let platform: Davit | undefined;
  let images: ScalingImages;
  let tenant: Tenant;
  let sample = '';
  let id = '';
  let busy = '';
  const samples: Sample[] = [];

  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', tenant.namespace, ...args]);
  async function call(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${platform?.apiUrl}${path}`, {
      method,
      headers: { 'x-api-key': tenant.token, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }
  async function ask(name: string, path: string): Promise<Record<string, number>> {
    const ip = await kubectl('get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}');
    const response = await fetch(`http://${ip.trim()}${path}`, { signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Record<string, number>;
  }
  async function podsOf(name: string, component: string): Promise<number> {
    const selector = `davit.dev/deployment=${name},davit.dev/component=${component}`;
    const names = await kubectl('get', 'pods', '-l', selector, '-o', 'name');
    return names.split('\n').filter((line) => line !== '').length;
  }
  /** What the page shows of a deployment's pods. */
  async function usagesOf(deployment: string): Promise<readonly PodUsage[]> {
    const { body } = await call('GET', `/v2/deployments/${deployment}/events`);
    return body.pods.map(({ part, usage, limits }: PodUsage) => ({ part, usage, limits }));
  }
  async function autoscaling(): Promise<{ readonly reason: string; readonly message: string }> {
    const { body } = await call('GET', `/v2/deployments/${id}`);
    return body.conditions.find(({ type }: { type: string }) => type === 'AutoscalingReady');
  }
  async function create(name: string, resourceSpec: object, runtime: object): Promise<string> {
    const { status, body } = await call('POST', '/v2/deployments?fieldValidation=Strict', {
      name,
      source: 'external_docker',
      source_config: { resource_spec: { ...SMALL, ...resourceSpec }, runtime },
      source_revision_config: { image_uri: sample },
      secrets: [],
    });
    expect([status, body.detail]).toEqual([201, undefined]);
    await kubectl('wait', '--for=condition=Available', `appd/${name}`, '--timeout=180s');
    return body.id;
  }

  beforeAll(async () => {
    images = await ensureScalingImages(say);
    const { postgres, redis, sample: own } = await ensureImages(say);
    sample = own.name;
    platform = await startDavit('pods', {
      images: [images.keda, images.metricsServer, postgres, redis, own],
      progress: say,
      values: {
        'settings.images.postgres': postgres.name,
        'settings.images.redis': redis.name,
        'settings.keda.enabled': true,
        'settings.autoscaling.scaleDownWindowSeconds': 20,
        'settings.autoscaling.cpuPercent': 60,
      },
    });
    ({ cluster } = platform);
    tenant = await platform.knownTenant('scaled');
  });
  afterAll(async () => {
    await platform?.stop();
  });

  it("without KEDA's kinds one worker runs, and the condition says what is missing", async () => {
    const runtime = {
      server: { command: script(SERVER) },
      queue: { command: script(WORKER) },
      queue_depth: { query: PENDING, per_pod: 2 },
    };
    id = await create('jobs', QUEUE, runtime);
    await eventually(async () => expect((await autoscaling()).reason).toBe('KedaMissing'), 60_000);
    expect(await podsOf('jobs', 'queue')).toBe(1);
  });

  it('with KEDA the last worker ends where nothing is pending', async () => {
    await installKeda(cluster, images);
    await eventually(async () => expect((await autoscaling()).reason).toBe('FollowsQueue'), 240_000);
    await eventually(async () => expect(await podsOf('jobs', 'queue')).toBe(0), 180_000);
    expect((await call('GET', `/v2/deployments/${id}`)).body.status).toBe('READY');
  });

  it('pending jobs start workers from zero, as many as are allowed, which end again, and no job is lost', async () => {
    await ask('jobs', '/jobs/40');
    const from = performance.now();
    const look = async (): Promise<Sample> => {
      const [pods, jobs] = [await podsOf('jobs', 'queue'), await ask('jobs', '/ok')];
      const at = Math.round((performance.now() - from) / 1000);
      const sample = { at, pods, jobs: (jobs['pending'] ?? 0) + (jobs['running'] ?? 0) };
      samples.push(sample);
      return sample;
    };
    await eventually(async () => expect((await look()).jobs).toBe(0), 240_000);
    await eventually(async () => expect((await look()).pods).toBe(0), 240_000);
    say(
      `queue workers: ${changesOf(samples)}; the last of 40 jobs was done after ${samples.find(({ jobs }) => jobs === 0)?.at} s`,
    );
    if (process.env['WRITE_PLOT'] !== undefined) await writeFile(PLOT, plotOf(samples));
    const most = Math.max(...samples.map(({ pods }) => pods));
    expect(most).toBe(3);
    expect(await ask('jobs', '/ok')).toEqual({ done: 40 });
  });

  it('a query that fails is told, and its mend too', async () => {
    const wrong = await call('PATCH', `/v2/deployments/${id}`, {
      source_config: { runtime: { queue_depth: { query: 'SELECT count(*) FROM nothing' } } },
    });
    expect([wrong.status, wrong.body.detail]).toEqual([200, undefined]);
    await eventually(async () => expect((await autoscaling()).reason).toBe('QueueDepthUnknown'), 120_000);
    say((await autoscaling()).message);
    await call('PATCH', `/v2/deployments/${id}`, {
      source_config: { runtime: { queue_depth: { query: PENDING } } },
    });
    await eventually(async () => expect((await autoscaling()).reason).toBe('FollowsQueue'), 120_000);
  });

  it("from CPU to KEDA again while KEDA's webhook answers, which rejects a second autoscaler", async () => {
    const patch = async (queueDepth: object | null): Promise<void> => {
      const spec = { sourceConfig: { runtime: { queueDepth } } };
      await kubectl('patch', 'appd', 'jobs', '--type=merge', '-p', JSON.stringify({ spec }));
    };
    await patch(null);
    await eventually(() => kubectl('get', 'hpa', 'jobs--queue'), 120_000);
    await eventually(async () => expect(await kubectl('get', 'scaledobject', '-o', 'name')).toBe(''), 120_000);
    const another = {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: { name: 'another' },
      spec: {
        scaleTargetRef: { name: 'jobs--queue' },
        triggers: [
          { type: 'cron', metadata: { timezone: 'UTC', start: '0 1 * * *', end: '0 2 * * *', desiredReplicas: '1' } },
        ],
      },
    };
    const file = join(await mkdtemp(join(tmpdir(), 'davit-scaled-')), 'another.json');
    await writeFile(file, JSON.stringify(another));
    await eventually(async () => {
      const refused = kubectl('create', '--dry-run=server', '-f', file);
      await expect(refused).rejects.toThrow(/already managed by the hpa/);
    }, 60_000);
    await patch({ query: PENDING, perPod: 2 });
    await eventually(async () => expect((await autoscaling()).reason).toBe('FollowsQueue'), 120_000);
    expect(await kubectl('get', 'hpa', '-o', 'name')).not.toContain('/jobs--queue');
  });

  it("a ScaledObject that somebody deletes comes back, and Davit writes nothing over KEDA's own writes", async () => {
    const uid = (): Promise<string> => kubectl('get', 'scaledobject', 'jobs--queue', '-o', 'jsonpath={.metadata.uid}');
    const before = await uid();
    await kubectl('delete', 'scaledobject', 'jobs--queue');
    await eventually(async () => expect(await uid()).not.toBe(before), 60_000);
    await eventually(async () => expect((await autoscaling()).reason).toBe('FollowsQueue'), 120_000);
    const generations = async (): Promise<string> =>
      kubectl('get', 'scaledobject,deployment', '-o', 'jsonpath={.items[*].metadata.generation}');
    const settled = await generations();
    await new Promise((resolve) => setTimeout(resolve, 40_000));
    expect(await generations()).toBe(settled);
  });

  it('CPU load scales a server up and down again, and the API shows what its pods use', async () => {
    await installMetricsServer(cluster, images);
    busy = await create('busy', { min_scale: 1, max_scale: 3 }, { server: { command: script(SERVER) } });
    await eventually(async () => expect(await kubectl('top', 'pods')).toContain('busy-'), 180_000);
    const from = performance.now();
    const seen: { at: number; pods: number }[] = [];
    const look = async (wanted: number): Promise<void> => {
      const pods = await podsOf('busy', 'server');
      seen.push({ at: Math.round((performance.now() - from) / 1000), pods });
      expect(pods).toBe(wanted);
    };
    await ask('busy', '/burn/90');
    await eventually(async () => {
      const usages = (await usagesOf(busy)).filter(({ part }) => part === 'server');
      expect(usages.map(({ limits }) => limits)).toContainEqual({ cpu: 1, memory_mb: 1024 });
      const burning = usages.find(({ usage }) => (usage?.cpu ?? 0) > 0.05);
      expect(burning?.usage?.memory_mb).toBeGreaterThan(10);
      expect(burning?.usage?.memory_mb).toBeLessThan(1024);
      say(`what the pods use: ${JSON.stringify(usages)}`);
    }, 180_000);
    await eventually(() => look(3), 180_000);
    await eventually(() => look(1), 240_000);
    say(`servers with a load of 90 s: ${changesOf(seen)}`);
  });

  it('a deletion leaves nothing', async () => {
    for (const name of ['jobs', 'busy']) await kubectl('delete', 'appd', name, '--timeout=120s');
    await eventually(async () => {
      const left = await kubectl(
        'get',
        'scaledobject,triggerauthentication,hpa,deployment,statefulset,pod,pvc',
        '-o',
        'name',
      );
      expect(left.trim()).toBe('');
    }, 120_000);
  });
});
