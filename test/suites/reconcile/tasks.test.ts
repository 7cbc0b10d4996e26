// Scheduled tasks: a CronJob each, which follows the active revision.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { names } from '../../../src/deploy/record/names.ts';
import { rollingBack } from '../../../src/deploy/record/revision-request.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import type { Task } from '../../../src/kinds/tasks.ts';
import { Invalid } from '../../../src/runtime/errors.ts';
import {
  CRON_JOBS,
  DEPLOYMENTS,
  JOBS,
  NETWORK_POLICIES,
  PODS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { SHOP } from '../../kit/memory/controller.ts';
import { conditionIn, edit, newestRevision, putSecret, record, says } from '../../kit/memory/record.ts';
import { makeReady, makeWorkloadsReady, putPod } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const CLEAN: Task = { name: 'clean', schedule: '0 3 * * *', command: ['clean', '--all'] };
const withTasks = (...tasks: Task[]): object => ({ sourceConfig: { tasks } });

interface CronJob extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly jobTemplate: Pick<KubeObject, 'metadata'> & {
      readonly spec: {
        readonly template: Pick<KubeObject, 'metadata'> & { readonly spec: { containers: { image: string }[] } };
      };
    };
  };
}
const cronJobs = (kube: FakeKube): CronJob[] => kube.objects<CronJob>(CRON_JOBS);
const imageIn = ([job]: readonly CronJob[]): string | undefined =>
  job?.spec.jobTemplate.spec.template.spec.containers[0]?.image;
const revisionIn = ([job]: readonly CronJob[]): string | undefined =>
  job?.spec.jobTemplate.spec.template.metadata.labels?.['davit.dev/revision'];
const templates = (kube: FakeKube): string[] =>
  kube.objects<Workload>(DEPLOYMENTS).map(({ spec }) => JSON.stringify(spec?.template));

/** What the CronJob controller and a kubelet do. */
function startRun(kube: FakeKube, name: string): void {
  const [cronJob] = cronJobs(kube);
  if (cronJob === undefined) throw new Error('There is no CronJob.');
  const { metadata, spec } = cronJob.spec.jobTemplate;
  const startTime = '2026-01-01T00:00:00Z';
  const { name: owner, uid } = cronJob.metadata;
  const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'CronJob', name: owner, uid, controller: true }];
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, name, namespace: 'team', ownerReferences },
    spec,
  };
  kube.seed(JOBS, { ...job, status: { startTime } } as KubeObject);
}

function endRun(kube: FakeKube, name: string, exitCode: number, message = ''): void {
  const job = kube.objects<KubeObject & { spec?: object }>(JOBS).find(({ metadata }) => metadata.name === name);
  const { labels, ...metadata } = job?.metadata ?? { name };
  const type = exitCode === 0 ? 'Complete' : 'Failed';
  const conditions = [
    { type, status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: '2026-01-01T00:01:00Z' },
  ];
  kube.erase(JOBS, { namespace: 'team', name });
  kube.seed(JOBS, { ...job, metadata: { ...metadata, labels }, status: { conditions } } as KubeObject);
  const terminated = { exitCode, reason: 'Error', message };
  kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-pod`, namespace: 'team', labels: { ...labels, 'batch.kubernetes.io/job-name': name } },
    status: {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [{ name: 'davit-task', state: { terminated } }],
    },
  } as KubeObject);
}

async function change(kube: FakeKube, spec: object): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { ...spec, revisionSerial } });
}

describe('a task', () => {
  it('is a CronJob whose pods are like those of the server, and reach its stores', async () => {
    const { kube, ...controller } = await aConverged(withTasks(CLEAN));
    const [job, ...more] = cronJobs(kube);
    expect(more).toEqual([]);
    expect(job).toMatchObject({
      metadata: { name: 'shop--clean', labels: { 'davit.dev/component': 'task', 'davit.dev/task': 'clean' } },
      spec: {
        schedule: '0 3 * * *',
        concurrencyPolicy: 'Forbid',
        suspend: false,
        startingDeadlineSeconds: 90,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 3,
        jobTemplate: {
          spec: {
            backoffLimit: 0,
            activeDeadlineSeconds: 3600,
            template: {
              metadata: { labels: { 'davit.dev/component': 'task', 'davit.dev/task': 'clean' } },
              spec: { restartPolicy: 'Never', containers: [{ name: 'davit-task', command: ['clean', '--all'] }] },
            },
          },
        },
      },
    });
    expect(JSON.stringify(kube.objects(NETWORK_POLICIES))).toContain('"task"');
    await converge({ kube, ...controller });
    expect([controller.writes(), says(kube, 'Ready')]).toEqual([[], 'True Serving']);
  });

  it('without a schedule has none', async () => {
    const { kube } = await aConverged(withTasks({ name: 'ask', command: ['ask'] }));
    expect(cronJobs(kube)).toEqual([]);
  });

  it('takes its own time zone, concurrency and time', async () => {
    const { kube } = await aConverged(
      withTasks({ ...CLEAN, timeZone: 'Europe/Berlin', concurrency: 'replace', timeoutSeconds: 60 }),
    );
    const spec = cronJobs(kube)[0]?.spec;
    expect(spec).toMatchObject({ timeZone: 'Europe/Berlin', concurrencyPolicy: 'Replace' });
    expect(spec?.jobTemplate.spec).toMatchObject({ activeDeadlineSeconds: 60 });
  });

  it('whose schedule counts from the last run may be late by a whole period, or none would be due', async () => {
    const { kube } = await aConverged(withTasks({ ...CLEAN, schedule: '@every 2h' }));
    expect(cronJobs(kube)[0]?.spec).toMatchObject({ startingDeadlineSeconds: 7290 });
  });

  it('that changes makes a revision and replaces no pod; a rollback brings it back, and a removal removes it', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    const before = templates(kube);
    await change(kube, withTasks({ ...CLEAN, schedule: '@hourly' }));
    await converge(controller);
    expect([cronJobs(kube)[0]?.spec['schedule'], templates(kube)]).toEqual(['@hourly', before]);
    const revisions = kube
      .objects<AppRevision>(APP_REVISIONS)
      .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
    expect(revisions.map(({ status }) => status?.state)).toEqual(['DEPLOYED', 'DEPLOYED']);
    const [first] = revisions;
    if (first) await edit(kube, { spec: rollingBack(record(kube).spec, first.spec) });
    await converge(controller);
    expect(cronJobs(kube)[0]?.spec['schedule']).toBe('0 3 * * *');
    await change(kube, { sourceConfig: { tasks: null } });
    await converge(controller);
    expect([cronJobs(kube), templates(kube)]).toEqual([[], before]);
  });

  it('follows the active revision, not one whose rollout fails', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    const image = imageIn(cronJobs(kube));
    await change(kube, { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' } });
    await controller.reconcile();
    expect(imageIn(cronJobs(kube))).toBe(image);
    await converge(controller);
    expect(imageIn(cronJobs(kube))).toBe('registry.example/shop:2');
  });

  it('that the newest revision does not have keeps its way to the stores until that one is deployed', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    await change(kube, {
      sourceRevisionConfig: { imageUri: 'registry.example/shop:2' },
      sourceConfig: { tasks: null },
    });
    await controller.reconcile();
    const policies = kube.objects(NETWORK_POLICIES).map((policy) => JSON.stringify(policy));
    expect(cronJobs(kube)).toHaveLength(1);
    expect(policies.map((policy) => policy.includes('"task"'))).toEqual([true, true]);
  });

  it('keeps the store of its revision until its CronJob is of another one and the last run has ended', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    const stores = (): string[] => kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name);
    const first = newestRevision(kube).spec.id;
    putPod(kube, 'task', first, { state: { running: {} } });
    putSecret(kube, 'mine', { uri: 'dA==' });
    await change(kube, {
      secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'mine', secretKey: 'uri' }],
    });
    await converge(controller);
    expect([says(kube, 'Ready'), revisionIn(cronJobs(kube))]).toEqual(['True Serving', newestRevision(kube).spec.id]);
    expect(stores()).toContain('shop--postgres');
    await kube.mergePatch(
      PODS,
      { namespace: 'team', name: 'shop-task-new' },
      { status: { phase: 'Succeeded' } },
      { fieldManager: 'kubelet', subresource: 'status' },
    );
    await converge(controller);
    expect(stores()).toEqual(['shop--redis']);
  });

  it('keeps the store of its revision while its CronJob can still start a run of it', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    putSecret(kube, 'mine', { uri: 'dA==' });
    await change(kube, {
      secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'mine', secretKey: 'uri' }],
    });
    const seen: string[] = [];
    for (let pass = 0; pass < 8; pass += 1) {
      await controller.reconcile();
      const isOld = revisionIn(cronJobs(kube)) !== newestRevision(kube).spec.id;
      const isThere = kube.objects(STATEFUL_SETS).some(({ metadata }) => metadata.name === 'shop--postgres');
      seen.push(`${isOld ? 'old' : 'new'} ${isThere ? 'there' : 'gone'}`);
      await makeReady(kube);
    }
    expect(seen).not.toContain('old gone');
    expect(seen.at(-1)).toBe('new gone');
  });

  it('is suspended while the deployment is scaled to zero', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    for (const [maxScale, suspend] of [
      [0, true],
      [1, false],
    ] as const) {
      await edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: maxScale, maxScale } } } });
      await converge(controller);
      expect(cronJobs(kube)[0]?.spec['suspend']).toBe(suspend);
    }
  });

  it('says how its last runs ended, once: a steady state writes nothing', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    const runs = (): unknown =>
      record(kube).status?.tasks?.map((task) => task.runs.map(({ job, state }) => [job, state]));
    expect([runs(), says(kube, 'TasksReady')]).toEqual([[[]], 'True NoTaskFailed']);
    startRun(kube, 'shop--clean-1');
    await controller.reconcile();
    expect(runs()).toEqual([[['shop--clean-1', 'Running']]]);
    endRun(kube, 'shop--clean-1', 3, 'no such table');
    await controller.reconcile();
    expect([says(kube, 'TasksReady'), says(kube, 'Ready')]).toEqual(['False TaskFailed', 'True Serving']);
    expect(conditionIn(kube, 'TasksReady')?.message).toMatch(/exit code 3\): no such table/);
    expect(controller.events.filter((event) => event.includes('Task'))).toEqual(['Warning TaskFailed']);
    controller.writes();
    kube.erase(PODS, { namespace: 'team', name: 'shop--clean-1-pod' });
    await controller.reconcile();
    expect([controller.writes(), conditionIn(kube, 'TasksReady')?.message]).toEqual([
      [],
      expect.stringContaining('no such table'),
    ]);
    startRun(kube, 'shop--clean-2');
    endRun(kube, 'shop--clean-2', 0);
    await converge(controller);
    expect(says(kube, 'TasksReady')).toBe('True NoTaskFailed');
    expect(controller.events.filter((event) => event.includes('Task'))).toEqual([
      'Warning TaskFailed',
      'Normal NoTaskFailed',
    ]);
    await change(kube, { sourceConfig: { tasks: null } });
    await converge(controller);
    expect([record(kube).status?.tasks, says(kube, 'TasksReady')]).toEqual([undefined, 'undefined undefined']);
  });

  it('is put back when somebody changes or deletes it', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    const place = { namespace: 'team', name: 'shop--clean' };
    await kube.mergePatch(CRON_JOBS, place, { spec: { schedule: '* * * * *' } }, { fieldManager: 'person' });
    await converge(controller);
    expect(cronJobs(kube)[0]?.spec['schedule']).toBe('0 3 * * *');
    await kube.remove(CRON_JOBS, place, { uid: cronJobs(kube)[0]?.metadata.uid ?? '' });
    await converge(controller);
    expect(cronJobs(kube)).toHaveLength(1);
  });

  it('leaves a CronJob that is not its own as it is, and says so', async () => {
    const controller = await aConverged({});
    const { kube } = controller;
    const labels = { 'davit.dev/deployment': 'shop' };
    const foreign = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'shop--clean', namespace: 'team', labels },
    };
    kube.seed(CRON_JOBS, { ...foreign, spec: { schedule: '1 1 1 1 1' } } as KubeObject);
    await change(kube, withTasks(CLEAN));
    await converge(controller);
    expect([cronJobs(kube)[0]?.spec['schedule'], says(kube, 'Ready')]).toEqual(['1 1 1 1 1', 'False NameConflict']);
  });

  it('whose time zone only the API server knows to be none is reported in its words, and nothing else suffers', async () => {
    const controller = await aConverged({});
    const { kube } = controller;
    const words = 'spec.timeZone: Invalid value: "Europe/Nowhere": unknown time zone Europe/Nowhere';
    kube.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'CronJob'
        ? new Invalid('apply CronJob shop--clean', [], { serverMessage: words })
        : undefined,
    );
    await change(kube, withTasks({ ...CLEAN, timeZone: 'Europe/Nowhere' }));
    for (let pass = 0; pass < 4; pass += 1) await controller.reconcile();
    expect([record(kube).status?.state, says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual([
      'READY',
      'False ApplyRefused',
      'True ApplyRefused',
    ]);
    expect(conditionIn(kube, 'Ready')?.message).toContain(words);
    kube.failOn(() => undefined);
    await change(kube, withTasks(CLEAN));
    await converge(controller);
    expect([says(kube, 'Ready'), cronJobs(kube).length]).toEqual(['True Serving', 1]);
  });

  it.each([
    { name: 'removed', tasks: null },
    { name: 'made on-demand', tasks: [{ name: 'clean', command: ['clean', '--all'] }] },
  ])('$name lets its run end: the CronJob takes its Jobs with it', async ({ tasks }) => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    startRun(kube, 'shop--clean-1');
    await change(kube, { sourceConfig: { tasks } });
    for (let pass = 0; pass < 3; pass += 1) {
      await controller.reconcile();
      await makeWorkloadsReady(kube);
    }
    expect(newestRevision(kube).status?.state).toBe('DEPLOYED');
    expect(cronJobs(kube).map(({ spec }) => spec['suspend'])).toEqual([true]);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
    endRun(kube, 'shop--clean-1', 0);
    await controller.reconcile();
    expect(cronJobs(kube)).toEqual([]);
  });

  it('that comes back while its run ends starts runs again', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    startRun(kube, 'shop--clean-1');
    const runWith = async (tasks: readonly Task[] | null): Promise<unknown> => {
      await change(kube, { sourceConfig: { tasks } });
      await controller.reconcile();
      await makeWorkloadsReady(kube);
      await controller.reconcile();
      await controller.reconcile();
      return cronJobs(kube).map(({ spec }) => spec['suspend']);
    };
    expect(await runWith(null)).toEqual([true]);
    expect(await runWith([CLEAN])).toEqual([false]);
  });

  it('whose run was due and did not begin says so, until a run begins; at rest nothing is written', async () => {
    const controller = await aConverged(withTasks({ ...CLEAN, timeZone: 'UTC' }));
    const { kube, clock } = controller;
    const report = async (): Promise<unknown> => {
      await controller.reconcile();
      const { missedAt, lastScheduledAt } = record(kube).status?.tasks?.[0] ?? {};
      return [says(kube, 'TasksReady'), missedAt, lastScheduledAt];
    };
    const { requeueAfterMs } = await controller.reconcile();
    expect(requeueAfterMs).toBe(Date.parse('2026-02-02T03:03:00Z') - clock.ms);
    clock.ms = Date.parse('2026-02-02T03:02:59Z');
    expect(await report()).toEqual(['True NoTaskFailed', undefined, undefined]);
    clock.ms += 1000;
    expect(await report()).toEqual(['False TaskMissed', '2026-02-02T03:00:00Z', undefined]);
    expect(conditionIn(kube, 'TasksReady')?.message).toContain('kubectl describe cronjob shop--clean -n team');
    expect(says(kube, 'Ready')).toBe('True Serving');
    controller.writes();
    clock.ms += 40 * 3_600_000;
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
    const lastScheduleTime = '2026-02-03T03:00:00Z';
    const place = { namespace: 'team', name: 'shop--clean' };
    await kube.mergePatch(CRON_JOBS, place, { status: { lastScheduleTime } }, { subresource: 'status' });
    expect(await report()).toEqual(['True NoTaskFailed', undefined, lastScheduleTime]);
  });

  it('is gone with its record', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    await kube.remove(APP_DEPLOYMENTS, SHOP, { uid: record(kube).metadata.uid ?? '' });
    for (let pass = 0; pass < 12; pass += 1) {
      await controller.reconcile();
    }
    expect([cronJobs(kube), kube.objects(APP_DEPLOYMENTS)]).toEqual([[], []]);
  });
});

it('a long name is cut for its CronJob, and stays unique', () => {
  const { task } = names('a'.repeat(40));
  const [one, other] = [task(`${'b'.repeat(39)}1`), task(`${'b'.repeat(39)}2`)];
  expect([one.length, other.length, one === other]).toEqual([52, 52, false]);
  expect(task('b')).toBe(`${'a'.repeat(40)}--b`);
});
