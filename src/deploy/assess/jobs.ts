// The Jobs of a record, and how they ended. Source: Kubernetes, "Jobs: Terminal Job conditions".

import type { IJobSpec } from 'kubernetes-models/batch/v1/JobSpec';
import type { IJobStatus } from 'kubernetes-models/batch/v1/JobStatus';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import { COMPONENT_LABEL } from '../../kinds/meta.ts';
import type { AsSeen, KubeObject } from '../../runtime/kube/client.ts';
import { isOwnedBy } from '../record/metadata.ts';
import { isOurs, type ObservedChildren, type ObservedCondition } from './observed.ts';

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
