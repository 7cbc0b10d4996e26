// What the caches keep of the metadata of Secrets, pods, Jobs, operations, Notifiers and tracing projects. A tenant writes them, and each may
// have a megabyte of metadata, so a cache would otherwise be as large as any tenant likes.

import type { DatastoreOperation } from '../../kinds/datastore-operation.ts';
import { APPLIED_ANNOTATION, COMPONENT_LABEL, REVISION_LABEL } from '../../kinds/meta.ts';
import type { TracingProject } from '../../kinds/tracing-project.ts';
import { present } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { Job, PodTemplate } from '../assess/jobs.ts';
import type { ObservedCondition, Pod, PodContainer } from '../assess/observed.ts';
import type { CronJob } from '../assess/task-runs.ts';

/** Prefixes of the labels and annotations that Davit reads. */
const READ = ['davit.dev/', 'app.kubernetes.io/'];
/** In characters. Longer than every value that Davit writes or compares. */
const LONGEST_VALUE = 4096;
/** Nothing looks at the others: one finalizer holds an object, and Davit's own Secrets, pods and Jobs have one owner. */
const MOST_ENTRIES = 20;

/** Labels are short, but there may be any number of them. Davit's, Kubernetes' and CloudNativePG's are fewer than this. */
const MOST_LABELS = 100;

/** For objects whose labels are not all Davit's. */
export function firstLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).slice(0, MOST_LABELS));
}

/** A Secret, AppLog or Notifier with the metadata that Davit reads, at most a few kilobytes. */
export function slimObject<Kind extends KubeObject>(object: Kind): Kind {
  return { ...object, metadata: slimMetadata(object.metadata, read) };
}

/** Its author may give it as many annotations as he likes. Its finalizers are written together. */
export function slimOperation(operation: DatastoreOperation): DatastoreOperation {
  const { finalizers } = operation.metadata;
  return { ...operation, metadata: { ...slimMetadata(operation.metadata, read), ...present({ finalizers }) } };
}

/** Its text is for people, and its author may give it as many labels as he likes. */
export function slimTracingProject({ spec: _spec, ...project }: TracingProject): TracingProject {
  return { ...project, metadata: slimMetadata(project.metadata, firstLabels) };
}

type Metadata = KubeObject['metadata'];

/** Bounded metadata. `ofLabels` chooses and bounds its labels. */
export function slimMetadata(
  { managedFields: _fields, labels, annotations, ownerReferences, finalizers, ...metadata }: Metadata,
  ofLabels: (labels: Readonly<Record<string, string>>) => Record<string, string>,
): Metadata {
  return {
    ...metadata,
    ...(labels && { labels: ofLabels(labels) }),
    ...(annotations && { annotations: read(annotations) }),
    ...(ownerReferences && { ownerReferences: ownerReferences.slice(0, MOST_ENTRIES) }),
    ...(finalizers && { finalizers: finalizers.slice(0, MOST_ENTRIES) }),
  };
}

function read(entries: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(entries).filter(
    ([key, value]) => READ.some((prefix) => key.startsWith(prefix)) && value.length <= LONGEST_VALUE,
  );
  return Object.fromEntries(kept.slice(0, MOST_ENTRIES));
}

/** The used part of the Pod (deploy/assess/observed.ts), whole but for that. */
export function slimPod(pod: Pod): Pod {
  return { ...pod, metadata: slimMetadata(pod.metadata, firstLabels), ...(pod.spec && { spec: slimSpec(pod.spec) }) };
}

function slimSpec({
  nodeName,
  volumes,
  containers,
  initContainers,
}: NonNullable<Pod['spec']>): NonNullable<Pod['spec']> {
  const claims = volumes?.flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim === undefined ? [] : [{ persistentVolumeClaim }],
  );
  return {
    ...present({ nodeName, volumes: claims }),
    ...(containers && { containers: containers.map(slimContainer) }),
    ...(initContainers && { initContainers: initContainers.map(slimContainer) }),
  };
}

function slimContainer({ name, image, resources, restartPolicy }: PodContainer): PodContainer {
  return {
    name,
    ...present({ image, resources, restartPolicy }),
  };
}

/**
 * The used part of a Job (deploy/assess/jobs.ts), with the revision of its pods (revision-history.ts). Its fields are never compared
 * with wanted ones: Davit makes a Job once, and a Job's pods cannot be changed.
 */
export function slimJob(job: Job): Job {
  const { metadata, spec, status, ...rest } = job;
  const { activeDeadlineSeconds, suspend, template } = spec ?? {};
  return {
    ...rest,
    metadata: slimMetadata(metadata, firstLabels),
    ...(spec && {
      spec: {
        ...present({ activeDeadlineSeconds, suspend }),
        ...(template && { template: slimTemplate(template) }),
      },
    }),
    ...(status && { status: slimStatus(status) }),
  } as Job;
}

function slimStatus({ startTime, completionTime, conditions }: NonNullable<Job['status']>): NonNullable<Job['status']> {
  return {
    ...present({ startTime, completionTime }),
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
        ...present({ [COMPONENT_LABEL]: component, [REVISION_LABEL]: revision }),
      },
    },
  };
}
