// The facade before a real API server: whose rights count, whose words come through, and what is left behind.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { aPayload, NO_STORES } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('http');
  other = await davit.tenant('http-other');
});

/** A service account of the tenant with one role, and its token. */
async function caller(name: string, role: string): Promise<Tenant> {
  await davit.kubectl(['create', 'serviceaccount', name, '-n', tenant.namespace]);
  await davit.kubectl([
    'create',
    'rolebinding',
    name,
    '-n',
    tenant.namespace,
    `--clusterrole=${role}`,
    `--serviceaccount=${tenant.namespace}:${name}`,
  ]);
  const token = (await davit.kubectl(['create', 'token', name, '-n', tenant.namespace])).trim();
  const made = { ...tenant, token };
  await eventually(async () => expect((await davit.call(made, 'GET', '/v2/deployments')).status).toBe(200));
  return made;
}

async function secretNames(): Promise<string[]> {
  const names = await davit.kubectl([
    'get',
    'secrets',
    '-n',
    tenant.namespace,
    '-l',
    'davit.dev/variables',
    '-o',
    'name',
  ]);
  return names
    .trim()
    .split('\n')
    .filter((name) => name !== '');
}

describe('rights', () => {
  it("a viewer reads without values, and gets the API server's message for everything else", async () => {
    const viewer = await caller('viewer', 'davit-viewer');
    const { body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('looked-at', { source_config: NO_STORES, secrets: [{ name: 'KEY', value: 'v' }] }),
    );
    await eventually(async () =>
      expect((await davit.call(viewer, 'GET', `/v2/deployments/${body.id}`)).body).toMatchObject({
        name: 'looked-at',
        secrets: [{ name: 'KEY', value: '' }],
      }),
    );
    const made = await davit.call(viewer, 'POST', '/v2/deployments', aPayload('not-by-viewers'));
    expect([made.status, made.body.detail]).toEqual([
      403,
      expect.stringContaining('cannot create resource "appdeployments"'),
    ]);
    const deleted = await davit.call(viewer, 'DELETE', `/v2/deployments/${body.id}`);
    expect([deleted.status, deleted.body.detail]).toEqual([
      403,
      expect.stringContaining('cannot delete resource "appdeployments"'),
    ]);
  });

  it('an editor creates with secrets, though it may only create Secrets', async () => {
    const editor = await caller('editor', 'davit-editor');
    const { status, body } = await davit.call(
      editor,
      'POST',
      '/v2/deployments',
      aPayload('edited', { source_config: NO_STORES, secrets: [{ name: 'KEY', value: 'v' }] }),
    );
    expect([status, body.secrets]).toEqual([201, [{ name: 'KEY', value: 'v' }]]);
  });

  it("an editor may read the logs of a deployment's pods, a viewer may not", async () => {
    const { body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('logged', { source_config: NO_STORES }),
    );
    const logs = `/v1/projects/${body.id}/deploy_logs`;
    // The pods of a stand-in node have no logs, and the API server says so only to whoever may read them.
    const { status } = await davit.call(await caller('log-editor', 'davit-editor'), 'POST', logs, {});
    expect([200, 503]).toContain(status);
    expect((await davit.call(await caller('log-viewer', 'davit-viewer'), 'POST', logs, {})).status).toBe(403);
  });

  it("a viewer reads a deployment's events, an editor its pods too", async () => {
    const { body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('reported', { source_config: NO_STORES }),
    );
    const path = `/v2/deployments/${body.id}/events`;
    const viewer = await caller('event-viewer', 'davit-viewer');
    const events = await eventually(async () => {
      const answer = await davit.call(viewer, 'GET', path);
      expect([answer.status, answer.body.pods]).toEqual([200, null]);
      expect(answer.body.resources.length).toBeGreaterThan(0);
      return answer.body.resources;
    }, 60_000);
    for (const event of events) expect(event.object).toMatch(/^\w+\/reported(-|$)/);
    const editor = await caller('event-editor', 'davit-editor');
    const { body: whole } = await davit.call(editor, 'GET', path);
    expect(whole.pods).toBeInstanceOf(Array);
    // This cluster serves no metrics of pods: who may list them and who may not read the same.
    for (const { usage } of whole.pods) expect(usage).toBeNull();
    const mayList = async (account: string): Promise<string> => {
      const { namespace } = tenant;
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: `system:serviceaccount:${namespace}:${account}`,
          resourceAttributes: { namespace, verb: 'list', group: 'metrics.k8s.io', resource: 'pods' },
        },
      };
      const answer = ['create', '-f', '-', '-o', 'jsonpath={.status.allowed}'];
      return davit.kubectl(answer, review);
    };
    expect([await mayList('event-editor'), await mayList('event-viewer')]).toEqual(['true', 'false']);
  });

  it('who may create Jobs runs a task now, once for each key, and it counts as a run of the task', async () => {
    const tasks = [{ name: 'reindex', command: ['reindex'] }];
    const { body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('tasked', { source_config: { tasks } }),
    );
    const path = `/v2/deployments/${body.id}`;
    await davit.call(tenant, 'GET', `${path}?wait=DEPLOYED&timeout=120`);
    const editor = await caller('task-editor', 'davit-editor');
    // A binding counts a moment after it is made.
    await eventually(async () => {
      const refused = await davit.call(editor, 'POST', `${path}/tasks/reindex/runs`);
      expect([refused.status, refused.body.detail]).toEqual([
        403,
        expect.stringContaining('cannot create resource "jobs"'),
      ]);
    });
    const runner = await caller('task-runner', 'edit');
    const run = (): ReturnType<typeof davit.call> =>
      davit.call(runner, 'POST', `${path}/tasks/reindex/runs`, {}, { 'idempotency-key': 'one' });
    const first = await eventually(async () => {
      const answer = await run();
      expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
      return answer.body;
    });
    expect((await run()).body).toEqual(first);
    await eventually(async () => {
      const { resources } = (await davit.call(runner, 'GET', `${path}/tasks`)).body;
      expect(resources).toMatchObject([{ name: 'reindex', runs: [{ job: first.job, state: 'Succeeded' }] }]);
    });
  });

  it('a misspelt field is rejected by Strict, and a warning by default', async () => {
    const misspelt = aPayload('misspelt', { source_config: { resource_spec: { max_scal: 0 } } });
    const msg = 'is not a known field: did you mean max_scale?';
    expect(await davit.call(tenant, 'POST', '/v2/deployments?fieldValidation=Strict', misspelt)).toMatchObject({
      status: 422,
      body: { detail: [{ msg }] },
    });
    expect(await davit.call(tenant, 'POST', '/v2/deployments', misspelt)).toMatchObject({
      status: 201,
      body: { warnings: [{ msg }] },
    });
  });

  it("another tenant is a 403, another tenant's deployment a 404", async () => {
    const { body } = await davit.call(
      other,
      'POST',
      '/v2/deployments',
      aPayload('theirs', { source_config: NO_STORES }),
    );
    const spying = { ...tenant, id: other.id };
    expect((await davit.call(spying, 'GET', `/v2/deployments/${body.id}`)).body.detail).toContain(
      'X-Tenant-Id does not name a tenant that you may use',
    );
    expect(await davit.call(tenant, 'GET', `/v2/deployments/${body.id}`)).toMatchObject({
      status: 404,
      body: { detail: `Deployment ID ${body.id} not found.` },
    });
  });

  it('without X-Tenant-Id a service account means its own namespace', async () => {
    const { status, body } = await davit.call(tenant, 'GET', '/v2/deployments?name=looked-at', undefined, {
      'x-tenant-id': '',
    });
    expect([status, body.resources[0].tenant_id]).toEqual([200, tenant.id]);
  });

  it('an invalid token is 401', async () => {
    expect((await davit.call({ ...tenant, token: 'nonsense' }, 'GET', '/v2/deployments')).status).toBe(401);
  });
});

describe("the API server's validation", () => {
  it("a quota's rejection is answered, and leaves no Secret", async () => {
    const before = await secretNames();
    await davit.kubectl(['create', 'quota', 'none', '-n', tenant.namespace, '--hard=count/appdeployments.davit.dev=0']);
    // Before its controller has looked at it a quota refuses nothing.
    await eventually(async () =>
      expect(
        await davit.kubectl(['get', 'quota', 'none', '-n', tenant.namespace, '-o', 'jsonpath={.status.hard}']),
      ).toContain('appdeployments'),
    );
    await eventually(async () => {
      const { status, body } = await davit.call(
        tenant,
        'POST',
        '/v2/deployments',
        aPayload('over-quota', { secrets: [{ name: 'KEY', value: 'v' }] }),
      );
      expect([status, body.detail]).toEqual([403, expect.stringContaining('quota')]);
    });
    await davit.kubectl(['delete', 'quota', 'none', '-n', tenant.namespace]);
    expect(await secretNames()).toEqual(before);
  });

  it('the CRD accepts the record of the largest and strangest allowed body', async () => {
    const resource_spec = {
      min_scale: 0,
      max_scale: 100,
      cpu: 0.1,
      cpu_limit: 64,
      memory_mb: 64,
      queue_max_scale: 0,
      orchestrator_min_scale: 1,
      executor_cpu: 1,
      redis_memory_mb: 64,
      db_storage_gi: 1,
      db_max_connections: 10,
      labels: { 'example.com/team': 'a' },
      annotations: { 'example.com/note': 'line\nline' },
      volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Gi' } }],
      volume_mounts: [{ name: 'scratch', mountPath: '/scratch', subPath: 'x' }],
      sidecars: [
        {
          name: 'proxy',
          image: 'registry.example/proxy:1',
          args: ['-c', 'a\nb'],
          env: [
            { name: 'A', value: 'b' },
            { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          resources: { limits: { cpu: '100m', memory: '64Mi' } },
          securityContext: { runAsNonRoot: true },
          ports: null,
        },
      ],
    };
    const { status, body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('whole', {
        source_config: { resource_spec, custom_url: 'whole.example.com', deployment_type: 'prod', listener_id: null },
        secrets: [{ name: 'PEM', value: 'a\nb\t"ü"\n' }],
        secret_references: [],
      }),
    );
    expect([status, body.detail]).toEqual([201, undefined]);
    const { ports: _ports, ...sidecar } = resource_spec.sidecars[0] as Record<string, unknown>;
    expect(body.source_config.resource_spec).toMatchObject({ ...resource_spec, sidecars: [sidecar] });
    const { body: got } = await davit.call(tenant, 'GET', `/v2/deployments/${body.id}`);
    // This cluster makes no addresses, which the controller may have said by now.
    expect({ ...got.source_config, custom_url: body.source_config.custom_url }).toEqual(body.source_config);
    expect(got.source_revision_config).toEqual(body.source_revision_config);
  });

  it('times are RFC 3339, and the announced revision id is the one that is created', async () => {
    const { body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('named', { source_config: NO_STORES }),
    );
    expect([body.created_at, body.updated_at]).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      body.created_at,
    ]);
    await eventually(async () => {
      const ids = await davit.kubectl([
        'get',
        'appr',
        '-n',
        tenant.namespace,
        '-l',
        'davit.dev/deployment=named',
        '-o',
        'jsonpath={.items[*].spec.id}',
      ]);
      expect(ids).toBe(body.latest_revision_id);
    });
    expect((await davit.call(tenant, 'GET', `/v2/deployments/${body.id}`)).body.latest_revision_id).toBe(
      body.latest_revision_id,
    );
  });
});

it('/api-host answers in the words of the creation, and keeps what is sent back out of the record', async () => {
  const path = '/api-host/v2/deployments';
  const sent = { source_config: { deployment_type: 'dev_zero', resource_spec: { cpu: 0.1, memory_mb: 64 } } };
  const { body: made } = await davit.call(tenant, 'POST', path, aPayload('worded', sent));
  expect((await davit.call(tenant, 'PATCH', `${path}/${made.id}`, { display_name: 'The shop' })).status).toBe(200);
  const { body } = await davit.call(tenant, 'GET', `${path}/${made.id}`);
  expect(body).toMatchObject({ ...sent, display_name: 'The shop' });
  expect((await davit.call(tenant, 'GET', `/v2/deployments/${made.id}`)).body.source_config.deployment_type).toBe(
    'dev',
  );
  const resource_spec = { ...body.source_config.resource_spec, cpu: 2 };
  const changed = await davit.call(tenant, 'POST', `${path}/${made.id}/revisions`, {
    source_config: { resource_spec },
  });
  expect(changed.status, JSON.stringify(changed.body)).toBe(201);
  const of = 'jsonpath={.spec.sourceConfig.resourceSpec}';
  const stored = await davit.kubectl(['get', 'appd', 'worded', '-n', tenant.namespace, '-o', of]);
  expect(JSON.parse(stored)).toEqual({ cpu: 2, memoryMb: 64 });
});

describe('deletion', () => {
  it('includes the tracing project on request', async () => {
    const { body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('untraced', { source_config: NO_STORES }),
    );
    await eventually(async () => void (await davit.kubectl(['get', 'trp', 'untraced', '-n', tenant.namespace])));
    expect((await davit.call(tenant, 'DELETE', `/v2/deployments/${body.id}?delete_tracing_project=true`)).status).toBe(
      204,
    );
    await eventually(async () =>
      expect((await davit.call(tenant, 'GET', `/v2/deployments/${body.id}`)).status).toBe(404),
    );
    await expect(davit.kubectl(['get', 'trp', 'untraced', '-n', tenant.namespace])).rejects.toThrow(/not found/);
  });
});

it('is ready, and serves its OpenAPI document', async () => {
  expect((await davit.call(tenant, 'GET', '/readyz')).body).toEqual({ status: 'ok' });
  expect((await davit.call(tenant, 'GET', '/openapi.json')).body.openapi).toBe('3.1.0');
});
