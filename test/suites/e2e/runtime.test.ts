// An image that keeps nothing of the platform's contract: another port, health path and command, names of its own for the values,
// and a migration before each rollout.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
const withPods = describe.skipIf(davit.node !== 'real');

/** The client of PostgreSQL reads where it connects to from variables that the platform does not know. */
const ENV_NAMES = {
  PGHOST: 'postgres_host',
  PGPORT: 'postgres_port',
  PGUSER: 'postgres_user',
  PGPASSWORD: 'postgres_password',
  PGDATABASE: 'postgres_database',
  LISTEN_ON: 'port',
};

/** Answers with what was migrated, and with the usual variables that it has been given. */
const SERVER = `
import { createServer } from 'node:http';
import pg from 'pg';
const pool = new pg.Pool();
process.on('SIGTERM', () => process.exit(0));
createServer(async ({ url }, response) => {
  try {
    const query = url === '/healthz' ? 'SELECT 1' : 'SELECT role FROM migrated';
    const { rows } = await pool.query(query);
    const usual = ['POSTGRES_URI', 'DATABASE_URI'].filter((name) => name in process.env);
    response.end(JSON.stringify({ rows, usual }));
  } catch (error) {
    response.statusCode = 503;
    response.end(String(error));
  }
}).listen(Number(process.env.LISTEN_ON));
`;
const MIGRATION = `
import pg from 'pg';
const client = new pg.Client();
await client.connect();
await client.query('CREATE TABLE IF NOT EXISTS migrated (role text)');
await client.query('INSERT INTO migrated VALUES ($1)', [process.env.DAVIT_ROLE]);
await client.end();
`;
const FAILING = "console.error('column price does not exist'); process.exit(3);";
const script = (text: string): readonly string[] => ['node', '--input-type=module', '-e', text];

const SMALL = { cpu: 0.1, memory_mb: 128, db_cpu: 0.1, db_memory_mb: 128, db_storage_gi: 1, redis_memory_mb: 64 };

let tenant: Tenant;
let id = '';
let url = '';

async function ready(): Promise<void> {
  await davit.kubectl(['wait', '--for=condition=Ready', 'appd/foreign', '-n', tenant.namespace, '--timeout=120s']);
}
// oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
async function ask(): Promise<any> {
  return (await fetch(url)).json();
}
async function change(sourceConfig: object): Promise<string> {
  const { status, body } = await davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, { source_config: sourceConfig });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body.latest_revision_id;
}
async function stateOf(revision: string): Promise<{ status: string; status_message: string }> {
  return (await davit.call(tenant, 'GET', `/v2/deployments/${id}/revisions/${revision}`)).body;
}

withPods('an image with a runtime of its own', () => {
  beforeAll(async () => {
    tenant = await davit.tenant('runtime');
    const created = await davit.call(tenant, 'POST', '/v2/deployments?fieldValidation=Strict', {
      name: 'foreign',
      source: 'external_docker',
      source_config: {
        resource_spec: SMALL,
        runtime: {
          port: 9090,
          health_path: '/healthz',
          server: {
            command: script(SERVER),
            termination_grace_period_seconds: 10,
            pre_stop: { sleep: { seconds: 1 } },
          },
          migrate: { command: script(MIGRATION) },
          env_names: ENV_NAMES,
          without: ['POSTGRES_URI', 'DATABASE_URI'],
        },
      },
      source_revision_config: { image_uri: davit.images.sample },
      secrets: [],
    });
    expect([created.status, created.body.detail]).toEqual([201, undefined]);
    id = created.body.id;
    await ready();
    const address = ['get', 'service', 'foreign', '-n', tenant.namespace, '-o', 'jsonpath={.spec.clusterIP}'];
    url = `http://${(await davit.kubectl(address)).trim()}`;
  }, 180_000);

  it('serves on its own port with its own names, and has been migrated once', async () => {
    expect(await ask()).toEqual({ rows: [{ role: 'migrate' }], usual: [] });
  });

  it('has no password in a pod', async () => {
    const pods = await davit.kubectl(['get', 'pods', '-n', tenant.namespace, '-o', 'json']);
    const secret = await davit.kubectlJson<{ data: { password: string } }>([
      'get',
      'secret',
      'foreign--postgres',
      '-n',
      tenant.namespace,
    ]);
    expect(pods).not.toContain(Buffer.from(secret.data.password, 'base64').toString());
  });

  it('is not migrated again for other sizes, and is for other variables, before its pods', async () => {
    await change({ resource_spec: { memory_mb: 160 } });
    await ready();
    expect((await ask()).rows).toHaveLength(1);
    await change({ runtime: { env_names: { ...ENV_NAMES, PGAPPNAME: 'postgres_user' } } });
    await ready();
    expect((await ask()).rows).toHaveLength(2);
  }, 120_000);

  it('a migration that fails is told with its last words, and what serves goes on serving', async () => {
    const revision = await change({ runtime: { migrate: { command: ['node', '-e', FAILING] } } });
    await eventually(async () => {
      const { status, status_message: message } = await stateOf(revision);
      expect([status, message]).toEqual(['DEPLOY_FAILED', expect.stringContaining('column price does not exist')]);
    });
    expect((await ask()).rows).toHaveLength(2);
    expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body).toMatchObject({ status: 'READY' });
  }, 120_000);

  it('a rollback brings back what served, and migrates nothing', async () => {
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${id}/revisions?status=DEPLOYED`);
    const first = body.resources.at(-1).id;
    const back = await davit.call(tenant, 'POST', `/v2/deployments/${id}/revisions/${first}/redeploy`);
    expect([back.status, back.body.detail]).toEqual([200, undefined]);
    await eventually(async () => {
      expect((await stateOf(back.body.latest_revision_id)).status).toBe('DEPLOYED');
    });
    expect((await ask()).rows).toHaveLength(2);
    const jobs = await davit.kubectl(['get', 'jobs', '-n', tenant.namespace, '-o', 'name']);
    expect(jobs.trim()).toBe('');
  }, 120_000);

  it('a command runs once in a pod of its own, with the values, variables and database of what serves', async () => {
    await change({ env: [{ name: 'GREETING', value: 'plain' }] });
    await ready();
    const { rows } = await ask();
    const ran = await plugin('run', 'foreign', '--timeout', '60', '--', ...script(ONCE));
    expect(ran).toMatchObject({ code: 7, out: `plain ${rows.length}\n` });
    const again = await plugin('run', 'foreign', '--', 'sh', '-c', 'exit 0');
    expect([again.code, again.err]).toEqual([0, expect.stringMatching(/^Job foreign--run-\w+ runs the command\.\n/)]);
    expect(
      await plugin('run', 'foreign', '--timeout', '3', '--', 'sh', '-c', 'trap "exit 1" TERM; sleep 60 & wait'),
    ).toMatchObject({
      code: 124,
      err: expect.stringMatching(/Job foreign--run-\w+ was stopped: it timed out/),
    });
    // The pods of these Jobs are no part of the deployment.
    expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body).toMatchObject({ status: 'READY' });
    expect((await ask()).rows).toHaveLength(rows.length);
  }, 120_000);

  it("the database's URI has the scheme that the runtime names, and the password in it is the real one", async () => {
    const env_names = { ...ENV_NAMES, SQLALCHEMY_URI: 'postgres_uri' };
    await change({ runtime: { env_names, postgres_uri_scheme: 'postgresql+psycopg' } });
    await eventually(async () => {
      const ran = await plugin('run', 'foreign', '--timeout', '60', '--', ...script(CONNECTS));
      expect(ran).toMatchObject({ code: 0, out: 'postgresql+psycopg: connected\n' });
    });
  }, 120_000);

  it('a task runs by its schedule and by hand like what serves, once, and not while the deployment is at zero', async () => {
    // Longer than a run may be late, which a CronJob of this kind of schedule has to allow for.
    const often = { name: 'often', schedule: '@every 95s', command: script('') };
    await change({ tasks: [{ name: 'count', schedule: '0 3 * * *', command: script(ONCE) }, often] });
    const { rows } = await ask();
    const kubectl = (...args: readonly string[]): Promise<string> =>
      davit.kubectl(['-n', tenant.namespace, ...args, '-o', 'json']);
    const cronJobs = async (): Promise<{ metadata: { name: string }; spec: { suspend: boolean } }[]> =>
      JSON.parse(await kubectl('get', 'cronjobs', '-l', 'davit.dev/task=count')).items;
    await eventually(async () => expect(await cronJobs()).toHaveLength(1));
    const [cronJob] = await cronJobs();
    // As the schedule does it at three o'clock.
    await kubectl('create', 'job', 'now', `--from=cronjob/${cronJob?.metadata.name}`);
    await eventually(async () => {
      expect(JSON.parse(await kubectl('get', 'job', 'now')).status).toMatchObject({ failed: 1 });
    });
    expect(await davit.kubectl(['-n', tenant.namespace, 'logs', 'job/now'])).toBe(`plain ${rows.length}\n`);
    const byHand = await plugin('run', 'foreign', '--task', 'count');
    expect(byHand).toMatchObject({ code: 7, out: `plain ${rows.length}\n` });
    const failed =
      /^count +0 3 \* \* \* +in \w+ +foreign--run-\w+ .* Failed \(exit code 7\)\n +now .* Failed \(exit code 7\)\noften .*\ncount: .*exit code 7\)/m;
    await eventually(async () => expect((await plugin('tasks', 'foreign')).out).toMatch(failed));
    const { conditions } = (await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'TasksReady', reason: 'TaskFailed' }));
    expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body).toMatchObject({ status: 'READY' });
    await eventually(async () => {
      expect(JSON.parse(await kubectl('get', 'jobs', '-l', 'davit.dev/task=often')).items).not.toEqual([]);
    }, 150_000);
    await change({ resource_spec: { min_scale: 0, max_scale: 0 } });
    await eventually(async () => expect(await cronJobs()).toMatchObject([{ spec: { suspend: true } }]));
  }, 300_000);
});

/** Reaches the database by variables of its own names. */
const ONCE = `
import pg from 'pg';
const client = new pg.Client();
await client.connect();
const { rows } = await client.query('SELECT role FROM migrated');
await client.end();
console.log(process.env.GREETING, rows.length);
process.exit(7);
`;

/** Connects by the URI alone. */
const CONNECTS = `
import pg from 'pg';
const { SQLALCHEMY_URI = '' } = process.env;
const [scheme, rest] = SQLALCHEMY_URI.split('://');
const client = new pg.Client({ connectionString: 'postgresql://' + rest });
await client.connect();
await client.end();
console.log(scheme + ': connected');
`;

interface PluginRan {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function plugin(...args: readonly string[]): Promise<PluginRan> {
  return pluginIn(tenant, ...args);
}

async function pluginIn({ namespace }: Tenant, ...args: readonly string[]): Promise<PluginRan> {
  const folder = await mkdtemp(join(tmpdir(), 'davit-plugin-'));
  try {
    const path = await writePlugin(folder);
    return await new Promise((resolve) => {
      const [command, name, ...rest] = args;
      const all = [path, String(command), String(name), '-n', namespace, ...rest];
      const PATH = [dirname(davit.kubectlPath), process.env['PATH']].join(delimiter);
      const env = { ...process.env, PATH, KUBECONFIG: davit.kubeconfig };
      const child = execFile(process.execPath, all, { env }, (_error, out, err) => {
        resolve({ code: child.exitCode ?? 1, out, err });
      });
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Answers with the platform's variables of stores, of which it needs none. */
const ALONE = `
import { createServer } from 'node:http';
process.on('SIGTERM', () => process.exit(0));
const stores = Object.keys(process.env).filter((name) => /POSTGRES|DATABASE|REDIS/.test(name));
createServer((_request, response) => response.end(JSON.stringify({ stores }))).listen(Number(process.env.PORT));
`;

withPods('an image that needs neither PostgreSQL nor Redis', () => {
  let alone: Tenant;
  const inTenant = (...args: readonly string[]): Promise<string> => davit.kubectl(['-n', alone.namespace, ...args]);

  it('serves without them, asks for a tenth of a core at most, and leaves nothing', async () => {
    alone = await davit.tenant('alone');
    const { status, body } = await davit.call(alone, 'POST', '/v2/deployments?fieldValidation=Strict', {
      name: 'alone',
      source: 'external_docker',
      source_config: {
        resource_spec: { cpu: 0.05, memory_mb: 64 },
        runtime: { database: 'none', redis: 'none', server: { command: script(ALONE) } },
      },
      source_revision_config: { image_uri: davit.images.sample },
      secrets: [],
    });
    expect([status, body.detail]).toEqual([201, undefined]);
    await inTenant('wait', '--for=condition=Ready', 'appd/alone', '--timeout=150s');
    expect((await davit.call(alone, 'GET', `/v2/deployments/${body.id}`)).body).toMatchObject({ status: 'READY' });
    const address = await inTenant('get', 'service', 'alone', '-o', 'jsonpath={.spec.clusterIP}');
    expect(await (await fetch(`http://${address.trim()}/ok`)).json()).toEqual({ stores: [] });

    const kinds = 'statefulsets,services,persistentvolumeclaims,secrets,configmaps,networkpolicies,jobs,pods';
    const names = (await inTenant('get', kinds, '-o', 'name')).split('\n');
    expect(names).toContain('service/alone');
    expect(names.filter((name) => /postgres|redis/.test(name))).toEqual([]);
    const { items } = await davit.kubectlJson<{
      items: { spec: { containers: Asking[]; initContainers?: Asking[] } }[];
    }>(['-n', alone.namespace, 'get', 'pods']);
    const cores = items.flatMap(({ spec }) => [...spec.containers, ...(spec.initContainers ?? [])]).map(coresOf);
    expect(cores.length).toBeGreaterThan(0);
    expect(cores.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(0.1);

    await inTenant('delete', 'appd', 'alone', '--timeout=120s');
    expect(await inTenant('get', 'pods,services,pvc', '-o', 'name')).toBe('');
  }, 400_000);
});

interface Asking {
  readonly resources: { readonly requests?: { readonly cpu?: string } };
}

/** What a container without a request may take is not known: it counts as a whole core. */
function coresOf({ resources }: Asking): number {
  const { cpu = '1' } = resources.requests ?? {};
  return cpu.endsWith('m') ? Number(cpu.slice(0, -1)) / 1000 : Number(cpu);
}

withPods('an image that exits, and was deployed at a scale of zero', () => {
  it('wait ends with its last words when it is scaled up, and not with its time', async () => {
    const stopped = await davit.tenant('stopped');
    const created = await davit.call(stopped, 'POST', '/v2/deployments?fieldValidation=Strict', {
      name: 'exits',
      source: 'external_docker',
      source_config: {
        resource_spec: { cpu: 0.1, memory_mb: 128, min_scale: 0, max_scale: 0 },
        runtime: {
          server: { command: ['sh', '-c', 'echo no licence; exit 3'] },
          database: 'none',
          redis: 'none',
        },
      },
      source_revision_config: { image_uri: davit.images.sample },
      secrets: [],
    });
    expect([created.status, created.body.detail]).toEqual([201, undefined]);
    expect(await pluginIn(stopped, 'wait', 'exits', '--timeout', '60')).toMatchObject({ code: 0 });
    expect(await pluginIn(stopped, 'scale', 'exits', 'server=1')).toMatchObject({ code: 0 });
    const ran = await pluginIn(stopped, 'wait', 'exits', '--timeout', '170');
    expect(ran).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /Stalled: ContainerCrashed\. The server exited at least 3 times.* \(Error, exit code 3\).*\n(.*\n)*\[.*\] no licence/,
      ),
      err: expect.stringMatching(/^exits will not become ready on its own: The server exited at least 3 times/),
    });
    const path = `/v2/deployments/${created.body.id}`;
    await davit.call(stopped, 'DELETE', path);
    await eventually(async () => expect((await davit.call(stopped, 'GET', path)).status).toBe(404));
  }, 240_000);
});
