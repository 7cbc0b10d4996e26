// The Job of a command that runs once, as the plugin and the HTTP API create it with the rights of their caller.

import type { IReplicaSet } from 'kubernetes-models/apps/v1/ReplicaSet';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import {
  API_VERSION,
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  REVISION_LABEL,
  SECRETS_ANNOTATION,
  TASK,
  TASK_CONTAINER,
  TASK_LABEL,
} from '../../kinds/meta.ts';
import type { PlatformValue } from '../../kinds/platform-values.ts';
import { taskSecondsOf } from '../../kinds/tasks.ts';
import type { KubeObject, Read } from '../../runtime/kube/client.ts';
import { asOneOff } from './as-one-off.ts';
import { healthOf } from './health.ts';
import { commonLabels } from './labels.ts';
import { names } from './names.ts';
import { podsIdOf } from './shared-pods.ts';

/** Why there is nothing that could be run, as a sentence. */
export class NotRunnable extends Error {
  override readonly name = 'NotRunnable';
}

export type ReplicaSet = Read<IReplicaSet>;

/** The active revision has no task of this name. */
export class NoSuchTask extends NotRunnable {}

/** Seconds for which a Job that has ended is kept. */
const KEPT_SECONDS = 3600;

export interface OneOff extends Run {
  readonly record: AppDeployment;
  readonly active: AppRevision;
  /** Pod template of its server. */
  readonly template: IPodTemplateSpec;
}

/** The revision that serves. Throws NotRunnable if there is none, and while nothing may write to the database. */
export function activeOf(
  { metadata: { name, deletionTimestamp }, status }: AppDeployment,
  all: readonly AppRevision[],
): AppRevision {
  if (deletionTimestamp) throw new NotRunnable(`${name} is being deleted.`);
  const { name: operation, phase } = status?.databaseOperation ?? {};
  if (operation !== undefined && phase !== 'Starting')
    throw new NotRunnable(
      `Operation ${operation} is changing a datastore of ${name}, so nothing can run until the operation has ended. To see its progress: kubectl get dsop ${operation}`,
    );
  const active = all.find(({ spec }) => spec.id === status?.activeRevisionId);
  if (active) return active;
  throw new NotRunnable(`${name} has no active revision yet, so there is nothing to run.`);
}

/** What is run, and for how many seconds at most. */
export interface Run {
  readonly command: readonly string[];
  readonly seconds: number;
  /** The task whose command it is. */
  readonly task?: string;
}

/** Throws NoSuchTask if the active revision has none of this name. */
export function runOf(asked: Run | { readonly task: string }, { spec }: AppRevision, name: string): Run {
  if ('command' in asked) return asked;
  const { tasks = [] } = spec.requested;
  const task = tasks.find((one) => one.name === asked.task);
  if (task) return { command: task.command, seconds: taskSecondsOf(task), task: task.name };
  const known = tasks.length > 0 ? `It has ${tasks.map((one) => one.name).join(', ')}.` : 'It has none.';
  throw new NoSuchTask(`The active revision of ${name} has no task ${asked.task}. ${known}`);
}

/** Labels of the ReplicaSets that `templateOf` takes. */
export function serverLabels({ metadata: { name } }: AppDeployment, active: AppRevision): Record<string, string> {
  return { [DEPLOYMENT_LABEL]: name, [COMPONENT_LABEL]: 'server', [REVISION_LABEL]: podsIdOf(active, 'server') };
}

/** The pod template of the newest ReplicaSet. `hint`: how to look. Throws NotRunnable if there is none. */
export function templateOf(sets: readonly ReplicaSet[], name: string, hint: string): IPodTemplateSpec {
  const [newest] = sets.toSorted((a, b) => numberOf(b) - numberOf(a));
  const template = newest?.spec?.template;
  if (template === undefined)
    throw new NotRunnable(`The cluster has no pod template of the active revision of ${name}. ${hint}`);
  return template;
}

/** Number of the Deployment's template. */
function numberOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0);
}

/** Like the run of a task that its schedule begins, with the same labels: it reaches the stores, and ends with the deployment. */
export function oneOffJob({ record, active, template, command, seconds, task }: OneOff): IJob {
  const { name, uid = '' } = record.metadata;
  if (template.spec?.containers.length !== 1)
    throw new NotRunnable(`The pod template of ${name} does not have exactly one container.`);
  const labels = { ...commonLabels(record, TASK), ...(task !== undefined && { [TASK_LABEL]: task }) };
  const { metadata, spec } = asOneOff(template, {
    container: TASK_CONTAINER,
    runs: { command: [...command] },
    labels,
    env: envOfTask(template.spec.containers[0]?.env ?? [], active),
  });
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: names(name).run(''),
      labels: { ...labels, [REVISION_LABEL]: active.spec.id },
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'AppDeployment', name, uid }],
    },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: seconds,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: {
        metadata: { labels: withoutTools(metadata?.labels), annotations: withoutTools(metadata?.annotations) },
        ...(spec && { spec }),
      },
    },
  };
}

/** The variables of the server, with what differs for the run of a task. */
function envOfTask(env: readonly IEnvVar[], { spec }: AppRevision): IEnvVar[] {
  const names = Object.entries(spec.requested.runtime?.envNames ?? {});
  const valued = (of: PlatformValue): ReadonlySet<string> =>
    new Set(names.flatMap(([name, value]) => (value === of ? [name] : [])));
  const [roles, jobs, ports] = [valued('role'), valued('jobs'), valued('port')];
  return env.map((one) => {
    if (one.name === 'DAVIT_ROLE' || roles.has(one.name)) return { ...one, value: TASK };
    if (one.name === 'N_JOBS_PER_WORKER' || jobs.has(one.name)) return { ...one, value: '0' };
    if (one.name === 'PORT' || ports.has(one.name)) return { ...one, value: String(healthOf(spec, TASK).port) };
    if (one.name !== 'OTEL_RESOURCE_ATTRIBUTES') return one;
    return { ...one, value: (one.value ?? '').replace('davit.role=server', `davit.role=${TASK}`) };
  });
}

/** Without what kubectl and the Deployment controller have added, and the digest of Secrets that rolls servers. */
function withoutTools(all: Readonly<Record<string, string>> = {}): Record<string, string> {
  const isOfTools = (key: string): boolean =>
    key === 'pod-template-hash' || key === SECRETS_ANNOTATION || key.startsWith('kubectl.kubernetes.io/');
  return Object.fromEntries(Object.entries(all).filter(([key]) => !isOfTools(key)));
}
