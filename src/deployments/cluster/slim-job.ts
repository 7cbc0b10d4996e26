// What the caches keep of Jobs and CronJobs. Who may create them in a namespace may label any number as those of a deployment, and each
// may have a megabyte of variables: all tenants share the controller's memory.

import type { KubeObject } from '../../lib/kube/client.ts';
import { APPLIED_ANNOTATION, COMPONENT_LABEL, REVISION_LABEL } from '../../schema/meta.ts';
import type { Job } from '../assess/jobs.ts';
import type { ObservedCondition } from '../assess/observed.ts';
import { firstLabels, slimMetadata } from './slim-metadata.ts';

/** The labels of the pods that it makes. */
interface PodTemplate {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
}

type WholeJob = Job & { readonly spec?: { readonly template?: PodTemplate } };

/**
 * The used part of a Job (deployments/assess/jobs.ts), with the revision of its pods (revision-history.ts). Its fields are never compared
 * with wanted ones: Davit makes a Job once, and a Job's pods cannot be changed.
 */
export function slimJob(job: WholeJob): WholeJob {
  const { metadata, spec, status, ...rest } = job;
  const { activeDeadlineSeconds, suspend, template } = spec ?? {};
  return {
    ...rest,
    metadata: slimMetadata(metadata, firstLabels),
    ...(spec && {
      spec: {
        ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
        ...(suspend !== undefined && { suspend }),
        ...(template && { template: slimTemplate(template) }),
      },
    }),
    ...(status && { status: slimStatus(status) }),
  } as WholeJob;
}

function slimStatus({ startTime, completionTime, conditions }: NonNullable<Job['status']>): NonNullable<Job['status']> {
  return {
    ...(startTime !== undefined && { startTime }),
    ...(completionTime !== undefined && { completionTime }),
    ...(conditions && { conditions: conditions.slice(0, MOST_CONDITIONS).map(slimCondition) }),
  };
}

/** Kubernetes sets five types, and says each in a sentence. */
const MOST_CONDITIONS = 20;
const LONGEST_WORDS = 4096;

function slimCondition(condition: ObservedCondition): ObservedCondition {
  const { message } = condition;
  return message === undefined ? condition : { ...condition, message: message.slice(0, LONGEST_WORDS) };
}

interface CronJob extends KubeObject {
  readonly spec?: {
    readonly suspend?: boolean;
    readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplate } };
  };
  readonly status?: { readonly lastScheduleTime?: string };
}

/**
 * A CronJob that Davit has applied is kept whole: its fields are compared with those that are wanted. Another one is never compared, and of it
 * the used part is kept (assess/task-runs.ts, plan/plan.ts).
 */
export function slimCronJob(cronJob: CronJob): CronJob {
  const { metadata, spec, status, ...rest } = cronJob;
  if (metadata.annotations?.[APPLIED_ANNOTATION] !== undefined) {
    const { managedFields: _fields, ...own } = metadata;
    const { lastScheduleTime } = status ?? {};
    return {
      ...rest,
      metadata: own,
      ...(spec && { spec }),
      ...(lastScheduleTime !== undefined && { status: { lastScheduleTime } }),
    };
  }
  const template = spec?.jobTemplate?.spec?.template;
  return {
    ...rest,
    metadata: slimMetadata(metadata, firstLabels),
    ...(spec && {
      spec: {
        ...(spec.suspend !== undefined && { suspend: spec.suspend }),
        ...(template && { jobTemplate: { spec: { template: slimTemplate(template) } } }),
      },
    }),
  };
}

function slimTemplate({ metadata }: PodTemplate): PodTemplate {
  const revision = metadata?.labels?.[REVISION_LABEL];
  const component = metadata?.labels?.[COMPONENT_LABEL];
  return {
    metadata: {
      labels: {
        ...(component !== undefined && { [COMPONENT_LABEL]: component }),
        ...(revision !== undefined && { [REVISION_LABEL]: revision }),
      },
    },
  };
}
