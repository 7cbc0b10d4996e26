// The Jobs of a record, and how they ended. Source: Kubernetes, "Jobs: Terminal Job conditions".

import type { IJobSpec } from 'kubernetes-models/batch/v1/JobSpec';
import type { IJobStatus } from 'kubernetes-models/batch/v1/JobStatus';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import { COMPONENT_LABEL, JOB_NAME_LABEL } from '../../kinds/meta.ts';
import type { AsSeen, KubeObject } from '../../runtime/kube/client.ts';
import { isOwnedBy } from '../record/metadata.ts';
import { isOurs, type ObservedChildren, type ObservedCondition, type Pod } from './observed.ts';

export type PodTemplate = AsSeen<IPodTemplateSpec>;

export interface Job extends KubeObject {
  readonly spec?: AsSeen<IJobSpec>;
  readonly status?: AsSeen<IJobStatus>;
}

/** The record's own Jobs of this component. */
export function jobsOf(observed: Pick<ObservedChildren, 'children' | 'record'>, component: string): readonly Job[] {
  return observed.children.filter(
    (child) =>
      child.kind === 'Job' && child.metadata.labels?.[COMPONENT_LABEL] === component && isOurs(child, observed),
  );
}

/** Those of them that the record or one of its CronJobs owns, as those by hand are: anybody may give a Job their labels. */
export function runsOf(observed: Pick<ObservedChildren, 'children' | 'record'>, component: string): readonly Job[] {
  const cronJobs = observed.children.filter((child) => child.kind === 'CronJob' && isOurs(child, observed));
  const owners = [observed.record, ...cronJobs].map(({ metadata }) => metadata.uid);
  return jobsOf(observed, component).filter((job) => owners.some((uid) => isOwnedBy(job, uid)));
}

/** The condition by which a Job ended; undefined if it did not end so. */
export function jobEnd({ status }: Pick<Job, 'status'>, how: 'Complete' | 'Failed'): ObservedCondition | undefined {
  return status?.conditions?.find(({ type, status: is }) => type === how && is === 'True');
}

export function hasEnded(job: Pick<Job, 'status'>): boolean {
  return (jobEnd(job, 'Complete') ?? jobEnd(job, 'Failed')) !== undefined;
}

export function podsOfJob(pods: readonly Pod[], { metadata: { name } }: Pick<Job, 'metadata'>): readonly Pod[] {
  return pods.filter(({ metadata }) => metadata.labels?.[JOB_NAME_LABEL] === name);
}

/** Time after which the pod of a Job is missed. */
const NO_POD_MS = 60_000;

/** Milliseconds until the pod of a Job is missed, `at` milliseconds since 1970. Undefined or NaN where none is due. */
export function untilPodMissedMs(job: Job, pods: readonly Pod[], at: number): number | undefined {
  if (pods.length > 0 || hasEnded(job)) return undefined;
  return Math.max(0, Date.parse(job.status?.startTime ?? '') + NO_POD_MS - at);
}

/** Milliseconds until the first pod of these is missed; undefined if none is on its way there. */
export function untilPodsMissedMs({ children, pods }: ObservedChildren, now: Date): number | undefined {
  const waits = children.flatMap(
    (child) => (child.kind === 'Job' && untilPodMissedMs(child, podsOfJob(pods, child), now.getTime())) || [],
  );
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/** The message about a Job whose pod is missed. Only the events of the Job name the cause. */
export function podMissed({ metadata: { name, namespace } }: Job): string {
  return `Job ${name} has no pod yet. Its events show the cause: kubectl describe job ${name} -n ${namespace}`;
}
