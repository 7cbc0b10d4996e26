// n8n in queue mode by the example of docs/examples/n8n: its server takes webhooks, and its workers run them. What executions are
// worth while workers and values come and go, and the database is away.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Image } from '../../cluster/images/build.ts';
import { realPods } from '../../cluster/machine.ts';
import { type Platform, startPlatform, type Tenant } from '../../support/platform.ts';
import { callsTo, eventually } from '../../support/running-davit.ts';
import { startSampleCluster } from '../../support/sample-cluster.ts';
import { ensureN8n } from './npm-applications.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; n8n is left out`);

const NAMESPACE = 'team';
const example = (file: string): string =>
  readFileSync(join(import.meta.dirname, '../../../docs/examples/n8n', file), 'utf8');

/** A webhook that answers at once, and an execution that takes some seconds and ends with what the webhook was sent. */
const WORKFLOW = {
  name: 'load',
  nodes: [
    {
      id: 'a',
      name: 'Webhook',
      type: 'n8n-nodes-base.webhook',
      typeVersion: 2,
      position: [0, 0],
      webhookId: 'aaaaaaaa-0000-4000-8000-000000000001',
      parameters: { httpMethod: 'POST', path: 'load', responseMode: 'onReceived', options: {} },
    },
    {
      id: 'b',
      name: 'Wait',
      type: 'n8n-nodes-base.wait',
      typeVersion: 1.1,
      position: [200, 0],
      webhookId: 'aaaaaaaa-0000-4000-8000-000000000002',
      parameters: { resume: 'timeInterval', amount: 4, unit: 'seconds' },
    },
    { id: 'c', name: 'End', type: 'n8n-nodes-base.noOp', typeVersion: 1, position: [400, 0], parameters: {} },
  ],
  connections: {
    Webhook: { main: [[{ node: 'Wait', type: 'main', index: 0 }]] },
    Wait: { main: [[{ node: 'End', type: 'main', index: 0 }]] },
  },
  settings: { executionOrder: 'v1', saveDataSuccessExecution: 'all' },
};

/**
 * Executions that a rollout may lose. A worker that is told to end waits for those that it counts, and it counts one only when it has
 * loaded its workflow: what it has taken from the queue just before, it leaves behind.
 */
const JUST_TAKEN_UP = 2;

interface Load {
  /** Numbers of the webhooks that n8n has accepted. */
  readonly accepted: readonly number[];
  /** When each was accepted, in seconds from the begin of the load. */
  readonly at: ReadonlyMap<number, number>;
  /** Webhooks that were not, and were sent again. */
  readonly again: number;
  readonly longestGapMs: number;
  /** Time that what happened meanwhile took. */
  readonly seconds: number;
}

describe.skipIf(!machine.ok)('n8n', { timeout: 600_000 }, () => {
  let image: Image;
  let cluster: Cluster;
  let platform: Platform;
  let tenant: Tenant;
  let call: ReturnType<typeof callsTo>;
  let path = '';
  let url = '';
  let cookie = '';
  let next = 0;

  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', NAMESPACE, ...args]);
  /** Rows of n8n's database, a column each time. */
  const query = async (sql: string): Promise<string[]> =>
    (await kubectl('exec', 'n8n--postgres-0', '-c', 'postgres', '--', 'psql', '-U', 'app', '-At', '-c', sql))
      .split('\n')
      .filter((line) => line !== '');

  async function ask<T>(method: string, at: string, body?: object): Promise<T> {
    const response = await fetch(`${url}${at}`, {
      method,
      headers: { cookie, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${text.slice(0, 500)}`);
    const [set] = response.headers.getSetCookie();
    if (set?.startsWith('n8n-auth=')) cookie = set.slice(0, set.indexOf(';'));
    return (JSON.parse(text) as { data: T }).data;
  }

  async function change(body: object): Promise<string> {
    const answer = await call(tenant, 'PATCH', path, body);
    expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
    return answer.body.latest_revision_id;
  }
  async function deployed(revision: string): Promise<void> {
    await eventually(
      async () => {
        const { body } = await call(tenant, 'GET', `${path}/revisions/${revision}`);
        expect([body.status, body.status_message]).toEqual(['DEPLOYED', expect.anything()]);
      },
      300_000,
      1000,
    );
  }
  const workers = (count: number): Promise<string> =>
    change({ source_config: { resource_spec: { queue_min_scale: count, queue_max_scale: count } } });
  async function pods(component: string, { ending = false } = {}): Promise<string[]> {
    const labels = `davit.dev/deployment=n8n,davit.dev/component=${component}`;
    const listed = JSON.parse(await kubectl('get', 'pods', '-l', labels, '-o', 'json')) as {
      items: { metadata: { name: string; deletionTimestamp?: string } }[];
    };
    const wanted = listed.items.filter(({ metadata }) => ending || metadata.deletionTimestamp === undefined);
    return wanted.map(({ metadata }) => metadata.name);
  }

  /** Sends webhooks until `meanwhile` is over, some a second, each until it is accepted. */
  async function underLoad(meanwhile: () => Promise<void>): Promise<Load> {
    const accepted: number[] = [];
    const at = new Map<number, number>();
    const from = performance.now();
    let [again, longestGapMs, last, isOver] = [0, 0, Date.now(), false];
    const sending = (async () => {
      while (!isOver) {
        const number = (next += 1);
        while (!(await send(number))) {
          again += 1;
          await sleep(500);
        }
        longestGapMs = Math.max(longestGapMs, Date.now() - last);
        last = Date.now();
        accepted.push(number);
        at.set(number, Math.round((performance.now() - from) / 1000));
        await sleep(300);
      }
    })();
    await meanwhile().finally(() => (isOver = true));
    const seconds = Math.round((performance.now() - from) / 1000);
    await sending;
    return { accepted, at, again, longestGapMs, seconds };
  }
  async function send(number: number): Promise<boolean> {
    const response = await fetch(`${url}/webhook/load`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ marker: `marker-${number}-` }),
      signal: AbortSignal.timeout(10_000),
    }).catch(() => undefined);
    await response?.text().catch(() => undefined);
    return response?.status === 200;
  }

  /** The accepted webhooks whose execution does not succeed, for as long as a worker may drain. */
  async function lostOf(what: string, { accepted, at, again, longestGapMs, seconds }: Load): Promise<number[]> {
    const columns = `substring(d.data from 'marker-[0-9]+-') || ' ' || e.status`;
    const join = 'execution_entity e JOIN execution_data d ON d."executionId" = e.id';
    let lost: number[] = [];
    let states = new Map<string, string>();
    const look = async (): Promise<void> => {
      const rows = await query(`SELECT ${columns} FROM ${join}`);
      states = new Map(rows.map((row) => row.split(' ') as [string, string]));
      lost = accepted.filter((number) => states.get(`marker-${number}-`) !== 'success');
      expect(lost).toEqual([]);
    };
    await eventually(look, 110_000, 2000).catch(() => undefined);
    const figures = `${accepted.length} executions, ${lost.length} lost, ${again} webhooks sent again, longest gap ${longestGapMs} ms, ${seconds} s`;
    say(`n8n, ${what}: ${figures}`);
    for (const number of lost)
      say(`  lost: accepted at ${at.get(number)} s, ${states.get(`marker-${number}-`) ?? 'no execution'}`);
    expect(accepted.length).toBeGreaterThan(5);
    return lost;
  }

  beforeAll(async () => {
    image = await ensureN8n(say);
    const started = await startSampleCluster({ pods: 'auto', more: async () => [image], progress: say });
    ({ cluster } = started);
    const { postgres, redis } = started.images;
    platform = await startPlatform(cluster, {
      progress: say,
      values: { 'settings.images.postgres': postgres, 'settings.images.redis': redis },
    });
    call = callsTo(platform.apiUrl);
    tenant = await platform.makeTenant(NAMESPACE);
    await eventually(async () => expect((await call(tenant, 'GET', '/v2/deployments')).status).toBe(200));
    await kubectl(
      'create',
      'secret',
      'generic',
      'n8n',
      `--from-literal=encryption-key=${'0123456789abcdef'.repeat(4)}`,
    );
    // The same for kubectl: the API server takes it, too.
    await cluster.kubectl(['create', '--dry-run=server', '-n', NAMESPACE, '-f', '-'], { input: example('n8n.yaml') });
    const body = JSON.parse(example('n8n.json')) as object;
    const from = performance.now();
    const created = await call(tenant, 'POST', '/v2/deployments?fieldValidation=Strict', {
      ...body,
      source_revision_config: { image_uri: image.name },
      secrets: [{ name: 'N8N_SECURE_COOKIE', value: 'false' }],
    });
    expect([created.status, created.body.detail]).toEqual([201, undefined]);
    path = `/v2/deployments/${created.body.id}`;
    await kubectl('wait', '--for=condition=Ready', 'appd/n8n', '--timeout=600s').catch(async (cause: unknown) => {
      const seen = [
        await kubectl('get', 'pods'),
        await kubectl('logs', '-l', 'davit.dev/deployment=n8n', '--tail=40', '--prefix'),
      ];
      throw new Error(`n8n is not Ready\n${seen.join('\n')}`, { cause });
    });
    say(`n8n: READY after ${Math.round((performance.now() - from) / 1000)} s`);
    url = `http://${(await kubectl('get', 'service', 'n8n', '-o', 'jsonpath={.spec.clusterIP}')).trim()}`;
    await ask('POST', '/rest/owner/setup', {
      email: 'owner@team.example',
      firstName: 'Some',
      lastName: 'Body',
      password: 'Password-1',
    });
    const { id, versionId } = await ask<{ id: string; versionId: string }>('POST', '/rest/workflows', WORKFLOW);
    await ask('POST', `/rest/workflows/${id}/activate`, { versionId });
    await eventually(async () => expect(await send((next += 1))).toBe(true));
  }, 1_200_000);
  afterAll(async () => {
    await platform?.stop();
    await cluster?.stop();
  });

  it('runs what a webhook begins on a worker, which answers its health on a port of its own', async () => {
    await eventually(
      async () => {
        const logs = await kubectl('logs', '-l', 'davit.dev/deployment=n8n,davit.dev/component=queue', '--tail=200');
        expect(logs).toMatch(/Worker finished execution \d+/);
      },
      60_000,
      1000,
    );
    const server = await kubectl('logs', '-l', 'davit.dev/deployment=n8n,davit.dev/component=server', '--tail=200');
    expect(server).not.toContain('Worker finished execution');
    const [worker = ''] = await pods('queue');
    const spec = JSON.parse(await kubectl('get', 'pod', worker, '-o', 'json')) as {
      status: { podIP: string };
      spec: { containers: { ports: { containerPort: number }[] }[] };
    };
    expect(spec.spec.containers[0]?.ports).toMatchObject([{ containerPort: 5680 }]);
    expect((await fetch(`http://${spec.status.podIP}:5680/healthz/readiness`)).status).toBe(200);
    await expect(fetch(`http://${spec.status.podIP}:5678/healthz`)).rejects.toThrow('fetch failed');
  });

  it('loses no execution but those just taken up while its workers become three, and one again', async () => {
    const load = await underLoad(async () => {
      await deployed(await workers(3));
      await eventually(async () => expect(await pods('queue', { ending: true })).toHaveLength(3), 180_000);
      // While the two start, which is when n8n must not be told to end: the example's pre_stop waits.
      await sleep(4500);
      await deployed(await workers(1));
      await eventually(async () => expect(await pods('queue', { ending: true })).toHaveLength(1), 180_000);
    });
    expect((await lostOf('workers 1 to 3 to 1', load)).length).toBeLessThanOrEqual(2 * JUST_TAKEN_UP);
  });

  it('loses no execution but those just taken up while it is rolled to a new value, and back', async () => {
    const rolled = await underLoad(async () => {
      const before = { name: 'N8N_SECURE_COOKIE', value: '' };
      await deployed(await change({ secrets: [before, { name: 'GENERIC_TIMEZONE', value: 'Europe/Berlin' }] }));
    });
    const [server = ''] = await pods('server');
    expect(await kubectl('exec', server, '--', 'printenv', 'GENERIC_TIMEZONE')).toBe('Europe/Berlin\n');
    expect((await lostOf('a new value', rolled)).length).toBeLessThanOrEqual(JUST_TAKEN_UP);
    const back = await underLoad(async () => {
      const { body } = await call(tenant, 'GET', `${path}/revisions`);
      const answer = await call(tenant, 'POST', `${path}/revisions/${body.resources.at(-1).id}/redeploy`);
      expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
      await deployed(answer.body.latest_revision_id);
    });
    expect((await lostOf('a rollback', back)).length).toBeLessThanOrEqual(JUST_TAKEN_UP);
  });

  it('loses no execution but those just taken up while it is rolled to another reference of its image', async () => {
    const byDigest = `${image.name.slice(0, image.name.lastIndexOf(':'))}@${image.digest}`;
    const rolled = await underLoad(async () => {
      await deployed(await change({ source_revision_config: { image_uri: byDigest } }));
    });
    const [worker = ''] = await pods('queue');
    expect(await kubectl('get', 'pod', worker, '-o', 'jsonpath={.spec.containers[0].image}')).toBe(byDigest);
    expect((await lostOf('a new image', rolled)).length).toBeLessThanOrEqual(JUST_TAKEN_UP);
  });

  it("loses no execution when the node's container runtime is restarted, or a worker ends", async () => {
    const restarted = await underLoad(async () => {
      await cluster.restartRuntime();
      await sleep(10_000);
    });
    expect(await lostOf('the container runtime restarted', restarted)).toEqual([]);
    const ended = await underLoad(async () => {
      const [worker = ''] = await pods('queue');
      await kubectl('delete', 'pod', worker);
      await sleep(10_000);
    });
    expect((await lostOf('a worker ended', ended)).length).toBeLessThanOrEqual(JUST_TAKEN_UP);
  });

  it('keeps what it has when its PostgreSQL is killed, and goes on', async () => {
    const owners = 'SELECT email FROM "user"';
    const killed = await underLoad(async () => {
      await kubectl('delete', 'pod', 'n8n--postgres-0', '--grace-period=0', '--force');
      await kubectl('wait', '--for=condition=Ready', 'appd/n8n', '--timeout=300s');
      await sleep(10_000);
    });
    // An execution that ends while the database is away cannot be stored; n8n counts it as crashed when it comes back.
    const lost = await lostOf('PostgreSQL killed', killed);
    expect(lost.length).toBeLessThan(killed.accepted.length);
    expect(await query(owners)).toEqual(['owner@team.example']);
    const after = await underLoad(() => sleep(10_000));
    expect(await lostOf('after that', after)).toEqual([]);
  });
});
