// /v2/deployments/{id}/tasks over an in-memory API server.

import { beforeEach, describe, expect, it } from 'vitest';
import { RunResponse, TaskRunResponse, TaskStatusList } from '../../../src/deploy/http/task-runs/payloads.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { TaskStatus } from '../../../src/kinds/tasks.ts';
import { AlreadyExists, Forbidden, Unavailable } from '../../../src/runtime/errors.ts';
import { JOBS, PODS, REPLICA_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aBody, type Facade, makeFacade, OTHER_TENANT, SOMEBODY, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
let id: string;
beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
});

function withStatus(status: NonNullable<AppDeployment['status']>): void {
  const [record] = facade.records.list();
  facade.records.put({ ...record, status } as AppDeployment);
}

function seedTasks(tasks: TaskStatus[]): void {
  withStatus({ tasks });
}

const TASK: TaskStatus = {
  name: 'clean',
  state: 'Scheduled',
  schedule: '@hourly',
  runs: [
    { job: 'shop--clean-1', state: 'Failed', startedAt: '2099-01-01T00:00:00Z', exitCode: 3, message: 'no table' },
  ],
};

it('has the tasks of the status with their runs; null where nothing is known', async () => {
  expect((await facade.call('GET', `/v2/deployments/${id}/tasks`)).body).toEqual({ resources: [] });
  const before = await facade.call('GET', `/v2/deployments/${id}`);
  await facade.kube.mergePatch(
    APP_DEPLOYMENTS,
    { namespace: TENANT.namespace, name: 'shop' },
    { status: { tasks: [TASK] } },
    { fieldManager: 'davit-controller', subresource: 'status' },
  );
  facade.records.fill();
  const { status, body } = await facade.call('GET', `/v2/deployments/${id}/tasks`);
  expect(status).toBe(200);
  expect(TaskStatusList.parse(body)).toEqual(body);
  expect(body).toEqual({
    resources: [
      {
        name: 'clean',
        state: 'Scheduled',
        message: null,
        schedule: '@hourly',
        time_zone: null,
        next_run_at: '2026-01-01T01:00:00Z',
        scheduled_since: null,
        last_scheduled_at: null,
        missed_at: null,
        runs: [
          {
            job: 'shop--clean-1',
            state: 'Failed',
            revision_id: null,
            started_at: '2099-01-01T00:00:00Z',
            finished_at: null,
            exit_code: 3,
            reason: null,
            message: 'no table',
          },
        ],
      },
    ],
  });
  // A run is no change that somebody else could overwrite.
  const after = await facade.call('GET', `/v2/deployments/${id}`);
  expect([after.headers['etag'], after.body.updated_at]).toEqual([before.headers['etag'], before.body.updated_at]);
});

it('another tenant sees no tasks', async () => {
  const { uid } = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata;
  expect((await facade.call('GET', `/v2/deployments/${uid}/tasks`)).status).toBe(404);
});

it.each<[string, Partial<TaskStatus>, string | null]>([
  ['by its time zone', { schedule: '0 3 * * *', timeZone: 'Europe/Berlin' }, '2026-01-01T02:00:00Z'],
  ['not while no run begins', { state: 'Suspended' }, null],
  ['not without a schedule', { state: 'OnDemand', schedule: undefined as never }, null],
  ['not where it counts from the last run', { schedule: '@every 2h' }, null],
])('says when the next run is due: %s', async (_what, more, expected) => {
  seedTasks([{ ...TASK, ...more, runs: [] }]);
  const { body } = await facade.call('GET', `/v2/deployments/${id}/tasks`);
  expect(body.resources[0].next_run_at).toBe(expected);
});

describe('a run of a task now', () => {
  const labels = (revisionId: string): Record<string, string> => ({
    'davit.dev/deployment': 'shop',
    'davit.dev/component': 'server',
    'davit.dev/revision': revisionId,
  });
  let revisionId: string;
  beforeEach(async () => {
    const tasks = [
      { name: 'clean', schedule: '@hourly', command: ['clean', '--all'], timeout_seconds: 90 },
      { name: 'reindex', command: ['reindex'] },
    ];
    await facade.call('PATCH', `/v2/deployments/${id}`, { source_config: { tasks } });
    facade.records.fill();
    revisionId = facade.snapshot({ state: 'DEPLOYED', message: '' }).spec.id;
    withStatus({ activeRevisionId: revisionId });
  });
  function seedServer(): void {
    const containers = [{ name: 'server', image: 'app:1', env: [{ name: 'DAVIT_ROLE', value: 'server' }] }];
    const metadata = { name: 'shop-x', namespace: TENANT.namespace, labels: labels(revisionId) };
    const spec = { template: { metadata: { labels: labels(revisionId) }, spec: { containers } } };
    facade.kube.seed(REPLICA_SETS, { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata, spec } as KubeObject);
  }
  const run = (task = 'clean', headers: Record<string, string> = {}): ReturnType<Facade['call']> =>
    facade.call('POST', `/v2/deployments/${id}/tasks/${task}/runs`, undefined, { ...SOMEBODY, ...headers });
  const jobs = (): KubeObject[] => facade.kube.objects(JOBS);

  it('is a Job like the server, with the command and the time of the task, that counts as one of its runs', async () => {
    seedServer();
    const { status, body } = await run();
    expect([status, body]).toMatchObject([201, { state: 'Running', revision_id: revisionId, started_at: null }]);
    expect(TaskRunResponse.parse(body)).toEqual(body);
    expect(jobs()).toMatchObject([
      {
        metadata: {
          name: body.job,
          labels: { 'davit.dev/task': 'clean', 'davit.dev/component': 'task', 'davit.dev/revision': revisionId },
          ownerReferences: [{ kind: 'AppDeployment', uid: id }],
        },
        spec: {
          activeDeadlineSeconds: 90,
          template: {
            spec: {
              restartPolicy: 'Never',
              containers: [
                { name: 'davit-task', command: ['clean', '--all'], env: [{ name: 'DAVIT_ROLE', value: 'task' }] },
              ],
            },
          },
        },
      },
    ]);
    expect(body.job).toMatch(/^shop--run-[a-z0-9]+$/);
    // Another one is another run, also of a task without a schedule.
    expect((await run('reindex')).status).toBe(201);
    expect(jobs()).toHaveLength(2);
  });

  it('that is asked for again with its key is the same one; the key is for no other task', async () => {
    seedServer();
    const key = { 'idempotency-key': 'a-key' };
    const [first, second] = [await run('clean', key), await run('clean', key)];
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(await run('reindex', key)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'Idempotency-Key'], msg: expect.stringContaining('ran task "clean"') }] },
    });
    expect(jobs()).toHaveLength(1);
  });

  it.each(['', ' ', 'two words', 'ü', 'x'.repeat(256)])('rejects the key %j', async (key) => {
    seedServer();
    const { status, body } = await run('clean', { 'idempotency-key': key });
    expect([status, body.detail[0].loc, jobs()]).toEqual([422, ['header', 'Idempotency-Key'], []]);
  });

  it('of somebody else with the same key is another one', async () => {
    seedServer();
    const key = { 'idempotency-key': 'a-key' };
    const first = await run('clean', key);
    facade.kube.know(() => 'anna');
    const other = await run('clean', { ...key, ...SOMEBODY, 'x-api-key': 'token-of-anna' });
    expect([other.status, other.body.job === first.body.job, jobs().length]).toEqual([201, false, 2]);
  });

  it('does not take a Job of somebody else for the one of the key', async () => {
    seedServer();
    const key = { 'idempotency-key': 'a-key' };
    const { job } = (await run('clean', key)).body;
    const [made] = jobs();
    facade.kube.seed(JOBS, {
      ...(made as KubeObject),
      metadata: { ...made?.metadata, name: job, labels: {}, annotations: {} },
    });
    expect((await run('clean', key)).status).toBe(409);
  });

  it.each<[string, () => unknown, string, number, RegExp]>([
    ['a task that it has', seedServer, 'gone', 404, /has no task gone\. It has clean, reindex\./],
    ['an active revision', () => withStatus({}), 'clean', 409, /no active revision yet/],
    [
      'an operation on its database that has ended',
      () => withStatus({ databaseOperation: { name: 'up', phase: 'Loading' } }),
      'clean',
      409,
      /Operation up is changing a datastore of shop/,
    ],
    ['a template of the server', () => undefined, 'clean', 409, /has no pod template of the active revision/],
    ['a name of a task', seedServer, 'Clean', 422, /./],
  ])('needs %s', async (_what, prepare, task, status, detail) => {
    prepare();
    const answer = await run(task);
    expect([answer.status, JSON.stringify(answer.body.detail)]).toEqual([status, expect.stringMatching(detail)]);
    expect(jobs()).toEqual([]);
  });

  it('of a command needs a program', async () => {
    seedServer();
    const answer = await facade.call('POST', `/v2/deployments/${id}/runs`, { command: ['', 'x'] });
    expect([answer.status, answer.body.detail]).toMatchObject([
      422,
      [{ loc: ['body', 'command', 0], msg: 'must begin with the name of a program' }],
    ]);
    expect(jobs()).toEqual([]);
  });

  it('is refused, in words that name the right, to whoever uses the tenant and may not create Jobs', async () => {
    seedServer();
    facade.kube.allow(({ resource }) => resource === 'appdeployments');
    const answer = await run();
    expect([answer.status, answer.body.detail]).toEqual([
      403,
      expect.stringMatching(/^You cannot create resource "jobs" in API group "batch"/),
    ]);
  });

  it('is made with the rights of the caller, whose words and failures are the API server’s', async () => {
    seedServer();
    const tokens: unknown[] = [];
    const refuse = (error: Error): void =>
      facade.kube.failOn(({ verb, kind, token }) => {
        if (verb !== 'create' || kind !== 'Job') return undefined;
        tokens.push(token);
        return error;
      });
    const serverMessage = 'User "a" cannot create resource "jobs"';
    refuse(new Forbidden('x', { serverMessage }));
    expect(await run()).toMatchObject({ status: 403, body: { detail: serverMessage } });
    refuse(new Unavailable('x'));
    expect((await run()).status).toBe(503);
    refuse(new AlreadyExists('x', { serverMessage: 'there is one' }));
    expect((await run()).status).toBe(409);
    expect([jobs(), tokens]).toEqual([[], [TOKEN, TOKEN, TOKEN]]);
  });

  it('whose answer was lost is found again by its key', async () => {
    seedServer();
    facade.kube.failAfter(({ verb, kind }) =>
      verb === 'create' && kind === 'Job' ? new Unavailable('the answer was lost') : undefined,
    );
    const key = { 'idempotency-key': 'a-key' };
    expect((await run('clean', key)).status).toBe(503);
    facade.kube.failAfter(undefined);
    expect(await run('clean', key)).toMatchObject({ status: 201, body: { job: jobs()[0]?.metadata.name } });
    expect(jobs()).toHaveLength(1);
  });

  it('is asked for in the cluster that has its pods', async () => {
    seedServer();
    const [record] = facade.records.list();
    const sourceConfig = { ...record?.spec.sourceConfig, listenerId: id };
    facade.records.put({ ...record, spec: { ...record?.spec, sourceConfig } } as AppDeployment);
    expect(await run()).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('kubectl davit run shop') },
    });
    expect(jobs()).toEqual([]);
  });

  it('may have another time than the task', async () => {
    seedServer();
    const path = `/v2/deployments/${id}/tasks/clean/runs`;
    expect((await facade.call('POST', path, { timeout_seconds: 5 }, SOMEBODY)).status).toBe(201);
    expect(jobs()).toMatchObject([{ spec: { activeDeadlineSeconds: 5 } }]);
  });

  describe('of a command', () => {
    const command = (body: object): ReturnType<Facade['call']> =>
      facade.call('POST', `/v2/deployments/${id}/runs`, body, SOMEBODY);
    const seen = (name: string): ReturnType<Facade['call']> => facade.call('GET', `/v2/deployments/${id}/runs/${name}`);

    it('is a Job like the server that is no run of a task', async () => {
      seedServer();
      const { status, body } = await command({ command: ['ls', '-l'] });
      expect([status, body]).toMatchObject([201, { state: 'Running', revision_id: revisionId }]);
      expect(jobs()).toMatchObject([
        {
          metadata: { name: body.job, labels: { 'davit.dev/component': 'task' } },
          spec: { activeDeadlineSeconds: 3600, template: { spec: { containers: [{ command: ['ls', '-l'] }] } } },
        },
      ]);
      expect(jobs()[0]?.metadata.labels).not.toHaveProperty('davit.dev/task');
    });

    it('is seen until its end, with its pod when the command has begun', async () => {
      seedServer();
      const { job } = (await command({ command: ['ls'], timeout_seconds: 5 })).body;
      expect((await seen(job)).body).toMatchObject({ job, state: 'Running', pod: null });
      const [made] = jobs();
      const pod = (state: object, phase: string): unknown =>
        facade.kube.seed(PODS, {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            name: `${job}-x`,
            namespace: TENANT.namespace,
            labels: { 'batch.kubernetes.io/job-name': job },
          },
          status: { phase, containerStatuses: [{ name: 'davit-task', state }] },
        } as KubeObject);
      pod({ running: {} }, 'Running');
      expect((await seen(job)).body).toMatchObject({ state: 'Running', pod: `${job}-x` });
      const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }];
      facade.kube.seed(JOBS, { ...made, status: { conditions } } as KubeObject);
      // Its pod ends first, and the API may not show that yet.
      expect((await seen(job)).body).toMatchObject({ state: 'Running' });
      pod({ terminated: { exitCode: 3 } }, 'Failed');
      const { status, body } = await seen(job);
      expect([status, body]).toMatchObject([200, { job, state: 'Failed', exit_code: 3, pod: `${job}-x` }]);
      expect(RunResponse.parse(body)).toEqual(body);
    });

    it('is not found under the name of another Job', async () => {
      facade.kube.seed(JOBS, {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'other', namespace: TENANT.namespace, labels: { 'davit.dev/component': 'task' } },
      } as KubeObject);
      for (const name of ['other', 'gone'])
        expect(await seen(name)).toMatchObject({ status: 404, body: { detail: `shop has no run ${name}.` } });
    });
  });

  it('of another tenant is not found', async () => {
    const { uid } = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata;
    expect((await facade.call('POST', `/v2/deployments/${uid}/tasks/clean/runs`)).status).toBe(404);
  });
});
