// The main line with pods that really run: PostgreSQL and Redis answer, the sample server proves the wiring from within.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';
import { makeShop, type Shop, WORKERS, watchService } from './shop.ts';

const davit: Attached = attach(inject('davit'));
// Without a kubelet there is nothing that these tests could see; `node` says so in the run's first lines.
const withPods = describe.skipIf(davit.node !== 'real');

let tenant: Tenant;
let shop: Shop;
beforeAll(async () => {
  if (davit.node !== 'real') return;
  tenant = await davit.tenant('pods');
  shop = makeShop(davit, tenant);
});

// oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
async function ask(url: string, body?: object): Promise<any> {
  const response = await fetch(
    url,
    body ? { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {},
  );
  return response.json();
}

function license(key: string): object {
  const metadata = { name: 'license', namespace: tenant.namespace };
  return { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key } };
}

withPods('the sample with queue workers', () => {
  let url = '';
  let id = '';
  beforeAll(async () => {
    await davit.kubectl(['apply', '-f', '-'], license('first'));
    const created = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      shop.payload(
        'shop',
        {
          secrets: [{ name: 'GREETING', value: 'hello' }],
          secret_references: [{ name: 'LICENSE', secret_name: 'license', secret_key: 'key' }],
        },
        WORKERS,
      ),
    );
    expect(created.status).toBe(201);
    expect(created.body.status).toBe('AWAITING_DATABASE');
    id = created.body.id;
    await shop.ready('shop');
    url = await shop.urlOf('shop');
  });

  it('stores what it is sent in its PostgreSQL', async () => {
    const item = await ask(`${url}/items`, { text: 'kept' });
    expect(await ask(`${url}/items/${item.id}`)).toMatchObject({ text: 'kept' });
  });

  it('shows what its pods wrote, by revision and page', async () => {
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${id}`);
    const path = `/v1/projects/${id}`;
    const whole = await davit.call(tenant, 'POST', `${path}/deploy_logs`, { order: 'asc', limit: 1000 });
    expect([whole.status, whole.body.detail]).toEqual([200, undefined]);
    expect(whole.body.logs.length).toBeGreaterThan(1);
    const ofRevision = `${path}/revisions/${body.active_revision_id}/deploy_logs`;
    const first = await davit.call(tenant, 'POST', ofRevision, { order: 'asc', limit: 1 });
    expect(first.body.logs).toEqual(whole.body.logs.slice(0, 1));
    const second = await davit.call(tenant, 'POST', ofRevision, {
      order: 'asc',
      limit: 1,
      offset: first.body.next_offset,
    });
    expect(second.body.logs).toEqual(whole.body.logs.slice(1, 2));
  });

  it('is read on from a position: each line once, as it is written', async () => {
    let position: string | undefined;
    const seen: string[] = [];
    async function untilLine(text: string): Promise<void> {
      await eventually(async () => {
        const { status, body } = await davit.call(tenant, 'POST', `/v1/projects/${id}/deploy_logs`, { position });
        expect([status, body.detail]).toEqual([200, undefined]);
        position = body.position;
        seen.push(...body.logs.map(({ id: line, message }: Record<string, string>) => `${line} ${message}`));
        expect(seen.some((line) => line.includes(text))).toBe(true);
      });
    }
    await untilLine('Listening');
    for (const item of ['followed-1', 'followed-2', 'followed-3']) {
      await ask(`${url}/items/${item}`);
      await untilLine(item);
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((line) => line.includes('followed-2'))).toHaveLength(
      seen.filter((line) => line.includes('followed-1')).length,
    );
  });

  it('hands work to a queue worker through Redis, and does none itself', async () => {
    const job = await ask(`${url}/jobs`, { text: 'olleh' });
    await eventually(async () =>
      expect(await ask(`${url}/jobs/${job.id}`)).toMatchObject({ status: 'done', workedBy: { role: 'queue' } }),
    );
  });

  it('has the environment of the pod contract, and its secret', async () => {
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${id}`);
    const shown = await ask(`${url}/env`);
    const environment = shown.environment ?? shown.env ?? shown;
    expect(environment).toMatchObject({
      DAVIT_ROLE: 'server',
      DAVIT_DEPLOYMENT_NAME: 'shop',
      DAVIT_DEPLOYMENT_ID: id,
      DAVIT_REVISION_ID: body.active_revision_id,
      DAVIT_TENANT_ID: tenant.id,
      N_JOBS_PER_WORKER: '0',
      GREETING: 'hello',
      LICENSE: 'first',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.observability:4318',
    });
    expect(environment.OTEL_RESOURCE_ATTRIBUTES.split(',')).toEqual(
      expect.arrayContaining([
        `service.namespace=${tenant.namespace}`,
        `service.version=${body.active_revision_id}`,
        'davit.role=server',
        'davit.tracing_project=shop',
      ]),
    );
  });

  it('a Secret that it refers to is rotated: every pod has the new value, and no request failed', async () => {
    const { failures, stop } = watchService(`${url}/ok`);
    await davit.kubectl(['apply', '-f', '-'], license('second'));
    await eventually(
      async () => {
        const pods = await davit.kubectlJson<{ items: { metadata: { name: string } }[] }>([
          'get',
          'pods',
          '-n',
          tenant.namespace,
          '-l',
          'davit.dev/deployment=shop,davit.dev/component in (server,queue)',
        ]);
        const values = await Promise.all(
          pods.items.map(({ metadata: { name } }) =>
            davit.kubectl(['exec', name, '-n', tenant.namespace, '--', 'printenv', 'LICENSE']),
          ),
        );
        expect(values.map((value) => value.trim())).toEqual(['second', 'second']);
        // A process in each pod every time: more often, and two cores have no time left to start the new pods.
      },
      120_000,
      2000,
    );
    await shop.ready('shop');
    await stop();
    expect(failures).toEqual([]);
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${id}/revisions`);
    expect(body.resources.map((one: { status: string }) => one.status)).toEqual(['DEPLOYED']);
  });

  it('a revision that crashes: container, exit code and its own last words; the old pods serve on, and it recovers', async () => {
    const { body: before } = await davit.call(tenant, 'GET', `/v2/deployments/${id}`);
    const { failures, stop } = watchService(`${url}/ok`);
    const { body: broken } = await davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, {
      secrets: [...before.secrets, { name: 'SAMPLE_CRASH', value: 'the config is missing' }],
    });
    await eventually(async () => {
      const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${id}/revisions/${broken.latest_revision_id}`);
      expect(body).toMatchObject({
        status: 'DEPLOY_FAILED',
        status_message: expect.stringMatching(/Container (server|queue) exited .*exit code 3.*the config is missing/),
      });
    }, 120_000);
    expect(await shop.condition('shop', 'Stalled')).toMatchObject({ reason: 'ContainerCrashed' });
    expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body).toMatchObject({
      status: 'READY',
      active_revision_id: before.active_revision_id,
      latest_revision_id: broken.latest_revision_id,
    });

    // The queue workers waited for the server, and never ran it.
    const selector = `davit.dev/revision=${broken.latest_revision_id}`;
    const of = ['-n', tenant.namespace, '-l', selector, '-o', 'name'];
    expect((await davit.kubectl(['get', 'replicasets', ...of])).trim().split('\n')).toHaveLength(1);
    // Its log outlives its pods.
    await eventually(async () => expect(await davit.kubectl(['get', 'pods', ...of])).toBe(''), 120_000);
    const path = `/v1/projects/${id}/revisions/${broken.latest_revision_id}/deploy_logs`;
    const { body: log } = await davit.call(tenant, 'POST', path, {});
    expect(
      log.logs.map((line: { message: string; container: string }) => [line.container, line.message]),
    ).toContainEqual(['server', expect.stringContaining('the config is missing')]);

    const { body: mended } = await davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, { secrets: before.secrets });
    await shop.ready('shop');
    await stop();
    expect(failures).toEqual([]);
    await eventually(async () =>
      expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body).toMatchObject({
        status: 'READY',
        active_revision_id: mended.latest_revision_id,
      }),
    );
  });

  it('its PostgreSQL has the settings it was given, and lets nobody in over its Service without the password', async () => {
    const ask = (host: string): Promise<string> =>
      davit.kubectl([
        'exec',
        'shop--postgres-0',
        '-n',
        tenant.namespace,
        '--',
        'psql',
        '-h',
        host,
        '-U',
        'postgres',
        '-w',
        '-d',
        'app',
        '-Atc',
        'show max_connections',
      ]);
    expect((await ask('/var/run/postgresql')).trim()).toBe('100');
    for (const host of ['127.0.0.1', 'shop--postgres']) await expect(ask(host)).rejects.toThrow(/no password supplied/);
  });

  it('no password stands on a command line of any container', async () => {
    const secret = await davit.kubectlJson<{ data: Record<string, string> }>([
      'get',
      'secret',
      'shop--postgres',
      '-n',
      tenant.namespace,
    ]);
    const password = Buffer.from(secret.data['password'] ?? '', 'base64').toString();
    expect(password.length).toBeGreaterThan(20);
    const pods = await davit.kubectl(['get', 'pods', '-n', tenant.namespace, '-o', 'yaml']);
    expect(pods).not.toContain(password);
    const commands = await davit.kubectl([
      'exec',
      'shop--postgres-0',
      '-n',
      tenant.namespace,
      '--',
      'sh',
      '-c',
      'cat /proc/[0-9]*/cmdline',
    ]);
    expect(commands).not.toContain(password);
  });

  it('keeps what it stored when its database pod is killed, and says AWAITING_DATABASE meanwhile', async () => {
    const item = await ask(`${url}/items`, { text: 'survives' });
    const seen = new Set<string>();
    await davit.kubectl(['delete', 'pod', 'shop--postgres-0', '-n', tenant.namespace, '--wait=false']);
    await eventually(async () => {
      seen.add((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body.status);
      expect(seen).toContain('AWAITING_DATABASE');
    }, 60_000);
    await eventually(
      async () => expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body.status).toBe('READY'),
      120_000,
    );
    await eventually(
      async () => expect(await ask(`${url}/items/${item.id}`)).toMatchObject({ text: 'survives' }),
      60_000,
    );
  });
});

withPods('teardown', () => {
  it('leaves no pod, volume or Secret behind', async () => {
    await davit.kubectl(['delete', 'appd', 'shop', '-n', tenant.namespace, '--timeout=180s']);
    const left = await davit.kubectl([
      'get',
      'pods,pvc,deployments,statefulsets,replicasets,services,networkpolicies,appr',
      '-n',
      tenant.namespace,
      '-l',
      'davit.dev/deployment=shop',
      '-o',
      'name',
    ]);
    expect(left.trim()).toBe('');
    expect(await davit.kubectl(['get', 'secrets', '-n', tenant.namespace, '-o', 'name'])).not.toContain('shop--');
  });
});
