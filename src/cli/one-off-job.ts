// The objects of a command that runs once: its Job, and the policy with which its pod reaches PostgreSQL and Redis. Pure.

import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { API_VERSION, COMPONENT_LABEL, DEPLOYMENT_LABEL, GROUP, STORE_PARTS } from '../schema/meta.ts';
import { STOP_SECONDS } from '../schema/runtime-part.ts';
import { taskSecondsOf } from '../schema/tasks.ts';
import { Failure } from './kubectl.ts';

export type Template = IPodTemplateSpec;
export type JobObject = KubeObject;

/** Seconds for which a Job that has ended is kept. */
const KEPT_SECONDS = 3600;

export interface OneOff extends Run {
  readonly record: AppDeployment;
  /** Pod template of the server of the active revision. */
  readonly template: Template;
  /** Name of its container. */
  readonly container: string;
}

/** The revision that serves. Throws Failure if there is none. */
export function activeOf(
  { metadata: { name, deletionTimestamp }, status }: AppDeployment,
  all: readonly AppRevision[],
): AppRevision {
  if (deletionTimestamp) throw new Failure(`${name} is being deleted.`);
  const active = all.find(({ spec }) => spec.id === status?.activeRevisionId);
  if (active) return active;
  throw new Failure(`${name} has no active revision yet, so there is nothing that could be run.`);
}

/** What is run, and for how many seconds at most. */
export interface Run {
  readonly command: readonly string[];
  readonly seconds: number;
}

/** Throws Failure if the active revision has no such task. */
export function runOf(asked: Run | { readonly task: string }, { spec }: AppRevision, name: string): Run {
  if ('command' in asked) return asked;
  const { tasks = [] } = spec.requested;
  const task = tasks.find((one) => one.name === asked.task);
  if (task) return { command: task.command, seconds: taskSecondsOf(task) };
  const known = tasks.length > 0 ? `It has ${tasks.map((one) => one.name).join(', ')}.` : 'It has none.';
  throw new Failure(`The active revision of ${name} has no task ${asked.task}. ${known}`);
}

/**
 * Without Davit's labels: no Service, autoscaler, or disruption budget of the deployment counts the pod, and the controller does not
 * judge it.
 */
export function oneOffJob({ record, template, command, seconds, container }: OneOff): IJob {
  const { name, uid = '' } = record.metadata;
  const { topologySpreadConstraints: _ofServers, containers, ...pod } = template.spec ?? { containers: [] };
  const [server] = containers;
  if (server === undefined) throw new Failure(`The pod template of ${name} has no container.`);
  const {
    ports: _p,
    lifecycle: _l,
    startupProbe: _s,
    readinessProbe: _r,
    livenessProbe: _v,
    args: _a,
    ...own
  } = server;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: `${name}--run-`,
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'AppDeployment', name, uid }],
    },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: seconds,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: {
        metadata: {
          labels: withoutPlatform(template.metadata?.labels),
          annotations: withoutPlatform(template.metadata?.annotations),
        },
        spec: {
          ...pod,
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: STOP_SECONDS,
          containers: [{ ...own, name: container, command: [...command] }],
        },
      },
    },
  };
}

/** Adds the Job's pod to those that reach the own stores. Undefined if there are none. It is deleted with the Job. */
export function storePolicy(
  { metadata: { name } }: AppDeployment,
  { spec }: AppRevision,
  job: JobObject,
): INetworkPolicy | undefined {
  const stores = STORE_PARTS.filter((part) => spec.resolved[part] !== undefined);
  if (stores.length === 0) return undefined;
  const { name: jobName, uid = '' } = job.metadata;
  const matchLabels = { 'batch.kubernetes.io/job-name': jobName };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: jobName, ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: jobName, uid }] },
    spec: {
      podSelector: {
        matchLabels: { [DEPLOYMENT_LABEL]: name },
        matchExpressions: [{ key: COMPONENT_LABEL, operator: 'In', values: stores }],
      },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels } }] }],
    },
  };
}

function withoutPlatform(all: Readonly<Record<string, string>> = {}): Record<string, string> {
  const isPlatform = (key: string): boolean =>
    key.startsWith(`${GROUP}/`) ||
    key.startsWith('app.kubernetes.io/') ||
    key === 'pod-template-hash' ||
    key.startsWith('kubectl.kubernetes.io/');
  return Object.fromEntries(Object.entries(all).filter(([key]) => !isPlatform(key)));
}
