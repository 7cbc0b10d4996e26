// Scheduled tasks: a CronJob each, which follows the active revision.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deployments/assess/observed.ts';
import { names } from '../../../src/deployments/record/names.ts';
import { rollingBack } from '../../../src/deployments/record/revision-request.ts';
import { CRON_JOBS, DEPLOYMENTS, NETWORK_POLICIES } from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject } from '../../../src/lib/kube/client.ts';
import { APP_DEPLOYMENTS } from '../../../src/schema/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/schema/app-revision.ts';
import type { Task } from '../../../src/schema/tasks.ts';
import { SHOP } from '../../kit/memory/controller.ts';
import { edit, record, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const CLEAN: Task = { name: 'clean', schedule: '0 3 * * *', command: ['clean', '--all'] };
const withTasks = (...tasks: Task[]): object => ({ sourceConfig: { tasks } });

interface CronJob extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly jobTemplate: {
      readonly spec: { readonly template: { readonly spec: { containers: { image: string }[] } } };
    };
  };
}
const cronJobs = (kube: FakeKube): CronJob[] => kube.objects<CronJob>(CRON_JOBS);
const imageIn = ([job]: readonly CronJob[]): string | undefined =>
  job?.spec.jobTemplate.spec.template.spec.containers[0]?.image;
const templates = (kube: FakeKube): string[] =>
  kube.objects<Workload>(DEPLOYMENTS).map(({ spec }) => JSON.stringify(spec?.template));

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

  it('is suspended while the deployment is scaled to zero', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    for (const [maxScale, suspend] of [
      [0, true],
      [1, false],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one scale after the other
      await edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: maxScale, maxScale } } } });
      // oxlint-disable-next-line no-await-in-loop -- as above
      await converge(controller);
      expect(cronJobs(kube)[0]?.spec['suspend']).toBe(suspend);
    }
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

  it('is gone with its record', async () => {
    const controller = await aConverged(withTasks(CLEAN));
    const { kube } = controller;
    await kube.remove(APP_DEPLOYMENTS, SHOP, { uid: record(kube).metadata.uid ?? '' });
    for (let pass = 0; pass < 12; pass += 1) {
      // oxlint-disable-next-line no-await-in-loop -- passes follow one another
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
