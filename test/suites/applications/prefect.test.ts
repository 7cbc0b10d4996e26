// Prefect by the example of docs/examples/prefect: a server, one scheduler, two kinds of workers, PostgreSQL by a URI with a scheme,
// Redis between the processes, a migration, and tasks.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { eventually } from '../../support/running-davit.ts';
import { type Application, startApplication } from './application.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; Prefect is left out`);

const NAMESPACE = 'team';
const LONG_MS = 300_000;

/** Runs the flow with a pool's worker: how many steps, and for how many seconds it waits for the end. Prints how it ended. */
const RUN = `
import sys
from prefect.deployments import run_deployment
pool, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
run = run_deployment(name=f"steps/{pool}", parameters={"count": count}, timeout=seconds, poll_interval=1)
print("RUN", run.id, run.state_name)
`;
/** Prints the runs, and whether a schedule made them. */
const RUNS = `
import asyncio
from prefect.client.orchestration import get_client
async def main():
    async with get_client() as client:
        for run in await client.read_flow_runs(limit=200):
            print("RUN", run.id, "scheduled" if run.auto_scheduled else "asked", run.state_name)
asyncio.run(main())
`;

/** Begins so many runs of 200 steps, of half a minute or more, on a pool. */
const BEGIN = `
import sys
from prefect.deployments import run_deployment
pool, runs = sys.argv[1], int(sys.argv[2])
for _ in range(runs):
    print("RUN", run_deployment(name=f"steps/{pool}", parameters={"count": 200}, timeout=0).id)
`;

interface TaskRun {
  readonly job: string;
  readonly state: string;
}
interface TaskShown {
  readonly name: string;
  readonly next_run_at: string | null;
  readonly runs: readonly TaskRun[];
}
interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly { readonly readinessProbe?: { readonly httpGet?: { readonly path: string } } }[];
  };
  readonly status: { readonly phase: string; readonly conditions: readonly object[] };
}

describe.skipIf(!machine.ok)('Prefect', { timeout: 900_000 }, () => {
  let app: Application;
  let path = '';
  beforeAll(async () => {
    app = await startApplication('prefect', say);
    const [{ id }] = (await app.call(app.tenant, 'GET', '/v2/deployments')).body.resources;
    path = `/v2/deployments/${id}`;
  }, 1_200_000);
  afterAll(() => app?.stop());

  const kubectl = (...args: readonly string[]): Promise<string> => app.cluster.kubectl(['-n', NAMESPACE, ...args]);
  const podOf = async (part: string): Promise<string> => (await app.pods(part))[0] ?? '';
  /** Lines that a script, which runs beside the server, begins with RUN. */
  async function python(script: string, ...args: readonly string[]): Promise<readonly string[]> {
    const out = await kubectl('exec', await podOf('server'), '-c', 'server', '--', 'python', '-c', script, ...args);
    return out.split('\n').filter((line) => line.startsWith('RUN '));
  }
  const tasks = async (): Promise<readonly TaskShown[]> =>
    (await app.call(app.tenant, 'GET', `${path}/tasks`)).body.resources;
  /** Runs a task now, and waits for its end. */
  async function runTask(name: string): Promise<string> {
    const { status, body } = await app.call(app.tenant, 'POST', `${path}/tasks/${name}/runs`);
    expect([status, body.detail]).toEqual([201, undefined]);
    await eventually(
      async () => {
        const run = (await tasks()).find((task) => task.name === name)?.runs.find(({ job }) => job === body.job);
        expect(run).toMatchObject({ state: 'Succeeded' });
      },
      LONG_MS,
      1000,
    );
    return kubectl('logs', `job/${body.job}`);
  }
  async function podsOfScheduler(): Promise<readonly Pod[]> {
    const listed = await kubectl('get', 'pods', '-l', 'davit.dev/component=scheduler', '-o', 'json');
    return (JSON.parse(listed) as { readonly items: readonly Pod[] }).items;
  }

  it('is migrated once before its pods, which reach PostgreSQL with a driver of their own', async () => {
    const jobs = JSON.parse(await kubectl('get', 'jobs', '-l', 'davit.dev/component=migrate', '-o', 'json')) as {
      readonly items: readonly { readonly status: { readonly succeeded?: number } }[];
    };
    expect(jobs.items.map(({ status }) => status.succeeded)).toEqual([1]);
    const names = 'PREFECT_API_DATABASE_CONNECTION_URL PREFECT_REDIS_MESSAGING_URL PREFECT_API_URL'.split(' ');
    const values = await kubectl('exec', await podOf('server'), '-c', 'server', '--', 'printenv', ...names);
    expect(values.split('\n')).toEqual([
      expect.stringMatching(/^postgresql\+asyncpg:\/\/app:.*@prefect--postgres/),
      expect.stringMatching(/^redis:\/\/.*@?prefect--redis/),
      'http://prefect/api',
      '',
    ]);
  });

  it('runs a flow on each kind of worker, once a task has registered it', async () => {
    const log = await runTask('register');
    expect(log).toContain('registered steps/small');
    expect(log).toContain('registered steps/large');
    for (const pool of ['small', 'large']) {
      const from = performance.now();
      const [ended] = await python(RUN, pool, '2', '240');
      expect(ended).toMatch(/ Completed$/);
      say(`prefect: a run on ${pool} completed after ${Math.round((performance.now() - from) / 1000)} s`);
      const worker = await kubectl('logs', await podOf(pool), '--tail=400');
      expect(worker).toContain(`step 0 on ${pool}, step 1 on ${pool}`);
    }
  });

  it('makes runs by schedule in one scheduler, whose successor starts when it has ended', async () => {
    const scheduled = async (): Promise<number> =>
      (await python(RUNS)).filter((line) => line.endsWith(' scheduled Completed')).length;
    await eventually(async () => expect(await scheduled()).toBeGreaterThan(0), LONG_MS, 2000);
    const [first] = await podsOfScheduler();
    const seen: number[] = [];
    const over = new AbortController();
    const watching = (async () => {
      while (!over.signal.aborted) {
        const running = (await podsOfScheduler()).filter(({ status }) => status.phase === 'Running');
        seen.push(running.length);
      }
    })();
    await kubectl('delete', 'pod', first?.metadata.name ?? '', '--wait=false');
    await eventually(async () => {
      const [next] = await podsOfScheduler();
      expect(next?.metadata.uid).not.toBe(first?.metadata.uid);
      expect(next?.status.phase).toBe('Running');
    }, LONG_MS);
    over.abort();
    await watching;
    expect(Math.max(...seen)).toBe(1);
    await kubectl('wait', '--for=condition=Ready', 'appd/prefect', '--timeout=300s');
    const before = await scheduled();
    await eventually(async () => expect(await scheduled()).toBeGreaterThan(before), LONG_MS, 2000);
  });

  it('asks each worker for its health, at the server that it has of its own', async () => {
    const ask = 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8080/health").status)';
    for (const pool of ['small', 'large']) {
      const [name = ''] = await app.pods(pool);
      const pod = JSON.parse(await kubectl('get', 'pod', name, '-o', 'json')) as Pod;
      expect(pod.spec.containers[0]?.readinessProbe?.httpGet).toMatchObject({ path: '/health' });
      expect(pod.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
      expect(await kubectl('exec', name, '--', 'python', '-c', ask)).toBe('200\n');
    }
  });

  it('sends what happens through Redis', async () => {
    const keys = await kubectl('exec', await podOf('redis'), '-c', 'redis', '--', 'sh', '-c', 'redis-cli keys "*"');
    expect(keys).toMatch(/events/);
  });

  it('has a scheduled task that says when it runs next, and does its work', async () => {
    const forget = (await tasks()).find(({ name }) => name === 'forget');
    expect(forget?.next_run_at).toMatch(/T03:30:00Z$/);
    // As the schedule does it at half past three.
    await kubectl('create', 'job', 'forget-now', '--from=cronjob/prefect--forget');
    await kubectl('wait', '--for=condition=Complete', 'job/forget-now', '--timeout=300s');
    expect(await kubectl('logs', 'job/forget-now')).toContain('forgot 0 flow runs');
    expect((await tasks()).find(({ name }) => name === 'forget')?.runs).toMatchObject([{ job: 'forget-now' }]);
  });

  it('a worker that drains ends the flow runs that it has, when its pod is told to end', async () => {
    const begun = { small: [] as string[], large: [] as string[] };
    for (const pool of ['small', 'large'] as const)
      begun[pool] = (await python(BEGIN, pool, '2')).map((line) => line.split(' ')[1] ?? '');
    const states = async (pool: 'small' | 'large'): Promise<readonly string[]> => {
      const runs = await python(RUNS);
      return begun[pool].map(
        (id) => runs.find((line) => line.includes(id))?.replace(/^.* (asked|scheduled) /, '') ?? '',
      );
    };
    const [drained = ''] = await app.pods('large');
    const [interrupted = ''] = await app.pods('small');
    const log = (...args: readonly string[]): Promise<string> => kubectl('logs', drained, '-c', 'large', ...args);
    const submitted = new RegExp(`(?:submitting flow run '(?:${begun.large.join('|')})'[^]*){2}Task run`);
    await eventually(async () => expect(await log()).toMatch(submitted), LONG_MS, 200);
    const ended = log('-f');
    const from = performance.now();
    // As the rollout of a revision does.
    await kubectl('delete', 'pod', drained, interrupted, '--wait=false');
    const [, afterwards = ''] = (await ended).split('told to end');
    say(`prefect: the worker that drains ended after ${Math.round((performance.now() - from) / 1000)} s`);
    expect(afterwards.split("Task run 'step").length).toBeGreaterThan(20);
    expect(afterwards).toMatch(/no flow run is left\s*$/);
    await eventually(async () => expect(await states('large')).toEqual(['Completed', 'Completed']), LONG_MS, 1000);
    say(`prefect: the runs of Prefect's own worker: ${(await states('small')).join(', ')}`);
    expect((await app.pods('large')).filter((name) => name !== drained)).toHaveLength(1);
  });
});
