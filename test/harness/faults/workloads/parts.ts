// Named workers and tasks.

import { pause } from '../../../cluster/api-client.ts';
import type { Seen } from '../object-history.ts';
import type { Acts } from './acts.ts';
import { childIn, hasCondition, IMAGES, NotConverged, RECORD, recordIn, type Scene, until } from './stage.ts';

/** No run of it begins while a test looks. */
export const CLEAN = { name: 'clean', schedule: '0 0 1 1 *', command: ['clean'] };

export async function workers({ stage, change, untilReady }: Acts): Promise<void> {
  await change(workersOf({ mailer: { command: ['mail', '--fast'], minScale: 2 } }));
  await untilReady('workers: two of another');
  // No pod of its Deployment may be left when its StatefulSet begins.
  await change(workersOf({ mailer: { singleton: true, minScale: null } }));
  await untilReady('workers: a singleton');
  findNoneBeside(stage, 'mailer');
  await change(workersOf({ mailer: null, poster: { command: ['mail'] } }));
  await untilReady('workers: renamed');
  await until(
    stage,
    'workers: the old name is gone',
    () => childIn(stage, 'StatefulSet', `${RECORD}--mailer`) === undefined,
  );
  await change(workersOf({ poster: { maxScale: 0 } }));
}

export async function tasks({ stage, api, namespace, paths, change, untilReady }: Acts): Promise<void> {
  const schedule = (): string | undefined => cronJobIn(stage)?.spec.schedule;
  await until(stage, 'tasks: a CronJob', () => schedule() === CLEAN.schedule);
  await api.call('POST', paths.jobs, runOf(stage, 1));
  await until(stage, 'tasks: a run that succeeded', () => runIn(stage, 1)?.state === 'Succeeded');
  const before = JSON.stringify(cronJobIn(stage)?.spec);
  // The newest revision has no tasks, and its rollout cannot end: those of the active one are as before.
  await change({
    sourceRevisionConfig: { imageUri: 'registry.example/missing:1' },
    sourceConfig: { tasks: null },
  });
  await until(stage, 'tasks: ImagePullFailed', () => hasCondition(stage, 'WorkloadsReady', 'ImagePullFailed', 'False'));
  await until(
    stage,
    'tasks: the CronJob and the policies as before',
    () => JSON.stringify(cronJobIn(stage)?.spec) === before && tasksReach(stage, 'postgres', 'redis'),
  );
  await api.call('POST', paths.jobs, runOf(stage, 2, 'registry.example/failing:1'));
  await until(stage, 'tasks: a run that failed', () => hasCondition(stage, 'TasksReady', 'TaskFailed', 'False'));
  const pod = podOfRun(stage, 2)?.metadata.name;
  await api.call('DELETE', `${paths.pods}/${pod}`);
  await until(stage, 'tasks: the pod of the failed run is gone', () => podOfRun(stage, 2) === undefined);
  await pause(700);
  await until(stage, 'tasks: its exit code is still told', () => runIn(stage, 2)?.exitCode !== undefined);
  await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
  await untilReady('tasks: none');
  await until(stage, 'tasks: no CronJob, and no run', () => {
    const left = ['CronJob', 'Job'].some((kind) => stage.census.current(namespace).some((one) => one.kind === kind));
    return !left && recordIn(stage)?.status?.tasks === undefined;
  });
  await change({ sourceConfig: { tasks: [CLEAN] } });
  await until(stage, 'tasks: a CronJob again', () => schedule() === CLEAN.schedule);
}

function workersOf(workers: object): object {
  return { sourceConfig: { runtime: { workers } } };
}

/** Throws NotConverged if a StatefulSet of this worker was made before the last pod of its Deployment had gone. */
function findNoneBeside({ census, namespace }: Scene, worker: string): void {
  const history = census.history(namespace);
  const made = history.find(
    ({ kind, object }) => kind === 'StatefulSet' && object.metadata.name.endsWith(`--${worker}`),
  );
  const beside = history.findLast(
    ({ kind, object }) =>
      kind === 'Pod' &&
      object.metadata.labels?.['davit.dev/component'] === worker &&
      object.metadata.ownerReferences?.[0]?.kind === 'ReplicaSet',
  );
  if (!made || !beside) throw new NotConverged(`workers: no StatefulSet, or no pod, of ${worker} was seen`);
  if (!beside.gone || beside.version > made.version)
    throw new NotConverged(`workers: ${worker} became a singleton while ${beside.object.metadata.name} was there`);
}

function cronJobIn(scene: Scene): Seen | undefined {
  return childIn(scene, 'CronJob', `${RECORD}--clean`);
}

function runName(count: number): string {
  return `${RECORD}--clean-${count}`;
}

/** The Job that the schedule would begin. */
function runOf(scene: Scene, count: number, image?: string): object {
  const { metadata, spec } = cronJobIn(scene) ?? {};
  const template = structuredClone(spec.jobTemplate);
  if (image !== undefined) template.spec.template.spec.containers[0].image = image;
  const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: metadata?.name, uid: metadata?.uid, controller: true };
  return {
    metadata: { ...template.metadata, name: runName(count), ownerReferences: [owner] },
    spec: template.spec,
  };
}

/** What the record says of it. */
function runIn(scene: Scene, count: number): { readonly state: string; readonly exitCode?: number } | undefined {
  const [task] = (recordIn(scene)?.status?.tasks ?? []) as {
    runs: { job: string; state: string; exitCode?: number }[];
  }[];
  return task?.runs.find(({ job }) => job === runName(count));
}

function podOfRun({ census, namespace }: Scene, count: number): Seen | undefined {
  const found = census
    .current(namespace)
    .find(
      ({ kind, object }) =>
        kind === 'Pod' && object.metadata.labels?.['batch.kubernetes.io/job-name'] === runName(count),
    );
  return found?.object;
}

/** Whether the runs of tasks reach these stores. */
function tasksReach(scene: Scene, ...stores: readonly string[]): boolean {
  return stores.every((store) =>
    JSON.stringify(childIn(scene, 'NetworkPolicy', `${RECORD}--${store}`)?.spec ?? {}).includes('"task"'),
  );
}
