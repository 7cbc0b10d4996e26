// What the caches keep of the metadata of Secrets, pods, Jobs and tracing projects. A tenant writes them, and each may have a megabyte of metadata, so a cache
// would otherwise be as large as any tenant likes.

import type { KubeObject } from '../../lib/kube/client.ts';
import type { TracingProject } from '../../schema/tracing-project.ts';

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

/** A Secret, or an AppLog, with the metadata that Davit reads, at most a few kilobytes. */
export function slimSecret(secret: KubeObject): KubeObject {
  return { ...secret, metadata: slimMetadata(secret.metadata, read) };
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
