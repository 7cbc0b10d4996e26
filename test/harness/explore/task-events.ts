// Runs of tasks: what the controllers of CronJobs and Jobs and a kubelet do, and what must hold of them.

import type { Pod } from '../../../src/deploy/assess/observed.ts';
import { names } from '../../../src/deploy/record/names.ts';
import { imageOf } from '../../../src/deploy/record/revision-image.ts';
import { podsIdOf } from '../../../src/deploy/record/shared-pods.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { COMPONENT_LABEL, REVISION_LABEL, STORE_PARTS, TASK, TASK_CONTAINER } from '../../../src/kinds/meta.ts';
import { CRON_JOBS, JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { Event } from './event.ts';
import { controlledBy, endedPodGoes, eraseRun, isUnended, mayBegin, podOf, type Run, runOf } from './job-events.ts';
import type { PassSeen } from './pass-seen.ts';
import { revisionsOf } from './people-events.ts';
import type { Scene } from './scene.ts';

type Template = Pick<KubeObject, 'metadata'> & { readonly spec: { readonly containers: readonly { image: string }[] } };
interface CronJob extends KubeObject {
  readonly spec: {
    readonly schedule: string;
    readonly suspend: boolean;
    readonly jobTemplate: Pick<KubeObject, 'metadata'> & { readonly spec: { readonly template: Template } };
  };
}

const START = '2026-02-02T02:00:00Z';
const isRun = ({ metadata }: KubeObject): boolean => metadata.labels?.[COMPONENT_LABEL] === TASK;
const runsIn = (scene: Scene, namespace: string): readonly Run[] => scene.all<Run>(JOBS, namespace).filter(isRun);

const runBegins: Event = {
  name: 'a run of CronJob % begins',
  by: 'cluster',
  subjects: (scene, namespace) =>
    scene
      .all<CronJob>(CRON_JOBS, namespace)
      .filter((cronJob) => !cronJob.spec.suspend && mayBegin(scene, namespace, cronJob))
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const cronJob = scene.get<CronJob>(CRON_JOBS, namespace, subject);
    if (!cronJob) return;
    const name = runOf(subject);
    eraseRun(scene, namespace, name);
    const { metadata, spec } = cronJob.spec.jobTemplate;
    scene.put(JOBS, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { ...metadata, name, namespace, ownerReferences: [controlledBy('CronJob', cronJob)] },
      status: { startTime: START },
    } as KubeObject);
    const job = scene.get<Run>(JOBS, namespace, name) as Run;
    const labels = { ...spec.template.metadata.labels, 'batch.kubernetes.io/job-name': name };
    scene.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: podOf(name), namespace, labels, ownerReferences: [controlledBy('Job', job)] },
      spec: { containers: spec.template.spec.containers.map(({ image }) => ({ name: TASK_CONTAINER, image })) },
      status: { phase: 'Running' },
    } as KubeObject);
  },
};

const runEnds = (how: 'succeeds' | 'fails'): Event => ({
  name: `run % ${how}`,
  by: 'cluster',
  ...(how === 'succeeds' && { calm: true as const }),
  subjects: (scene, namespace) =>
    runsIn(scene, namespace)
      .filter(isUnended)
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const job = scene.get<Run>(JOBS, namespace, subject);
    const pod = scene.get(PODS, namespace, podOf(subject));
    const fails = how === 'fails';
    const terminated = { exitCode: fails ? 3 : 0, reason: fails ? 'Error' : 'Completed' };
    const containerStatuses = [{ name: TASK_CONTAINER, state: { terminated } }];
    if (pod) scene.change(PODS, pod, { status: { phase: fails ? 'Failed' : 'Succeeded', containerStatuses } });
    const end = { type: fails ? 'Failed' : 'Complete', status: 'True', reason: 'BackoffLimitExceeded' };
    if (job) scene.change(JOBS, job, { status: { startTime: START, conditions: [end] } });
  },
});

export const TASK_EVENTS: readonly Event[] = [runBegins, runEnds('succeeds'), runEnds('fails'), endedPodGoes(runsIn)];

/** What a pass takes from a run that goes on, or that can still begin. */
export function takenFromRuns({ before, writes }: PassSeen, record: AppDeployment): string | undefined {
  const { namespace = '' } = record.metadata;
  const running = scenePods(before, namespace).filter(({ status }) => status?.phase === 'Running');
  const ready = before.all<CronJob>(CRON_JOBS, namespace).map(({ spec }) => spec.jobTemplate.spec.template);
  const ids = new Set([...running, ...ready].map(({ metadata }) => metadata.labels?.[REVISION_LABEL]));
  const revisions = revisionsOf(before, record).filter((one) => ids.has(podsIdOf(one, 'server')));
  const taken = writes.find(({ verb, kind, ref, error }) => {
    const part = STORE_PARTS.find((one) => ref.name === names(record.metadata.name)[one]);
    const isTaken = verb === 'delete' && error === undefined && kind !== 'Secret' && kind !== 'Pod';
    return isTaken && part !== undefined && revisions.some(({ spec }) => spec.resolved[part]);
  });
  return taken && `The pass deletes ${taken.kind} ${taken.ref.name}, and a run of a task needs it.`;
}

function scenePods(scene: Scene, namespace: string): readonly Pod[] {
  return scene.all<Pod>(PODS, namespace).filter(isRun);
}

/** What is wrong with the CronJobs and with what is said of their runs, at rest. */
export function tasksAreWrong(scene: Scene, record: AppDeployment): string | undefined {
  const { namespace = '', name } = record.metadata;
  const active = revisionsOf(scene, record).find(({ spec }) => spec.id === record.status?.activeRevisionId);
  if (!active) return undefined;
  const there = scene.all<CronJob>(CRON_JOBS, namespace).filter(isRun).map(shownCronJob).toSorted();
  const wanted = wantedCronJobs(name, active, record).toSorted();
  if (there.join() !== wanted.join()) return `The CronJobs are [${there.join()}], and should be [${wanted.join()}].`;
  const said = (record.status?.tasks ?? []).flatMap(({ runs }) => runs.map(({ job, state }) => `${job} ${state}`));
  const actual = runsIn(scene, namespace).map((job) => `${job.metadata.name} ${stateOf(job)}`);
  const isOfTask = (active.spec.requested.tasks ?? []).length > 0;
  return isOfTask && said.toSorted().join() !== actual.toSorted().join()
    ? `The status says [${said.join()}] of the runs [${actual.join()}].`
    : undefined;
}

/** Whether the newest revision waits at a scale of zero, so that tasks are those of an earlier one, and keep its stores. */
export function tasksAreOfEarlier({ status }: AppDeployment): boolean {
  const isOther = status?.activeRevisionId !== undefined && status.activeRevisionId !== status.latestRevisionId;
  return isOther && status?.phase === 'AWAITING_DEPLOY' && (status.tasks ?? []).length > 0;
}

function stateOf({ status }: Run): string {
  const [end] = status?.conditions ?? [];
  if (end === undefined) return 'Running';
  return end.type === 'Failed' ? 'Failed' : 'Succeeded';
}

function shownCronJob({ metadata, spec }: CronJob): string {
  const [container] = spec.jobTemplate.spec.template.spec.containers;
  return `${metadata.name} ${spec.schedule} ${container?.image} ${spec.suspend}`;
}

function wantedCronJobs(name: string, active: AppRevision, record: AppDeployment): string[] {
  const isAsleep = record.spec.sourceConfig.resourceSpec?.maxScale === 0;
  return (active.spec.requested.tasks ?? []).flatMap((task) =>
    task.schedule === undefined
      ? []
      : [`${names(name).task(task.name)} ${task.schedule} ${imageOf(active)} ${isAsleep}`],
  );
}
