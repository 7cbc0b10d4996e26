// What the cache keeps of a Secret's metadata. A tenant writes Secrets, and each may have a megabyte of metadata, so the cache
// would otherwise be as large as any tenant likes.

import type { KubeObject } from '../../lib/kube/client.ts';

/** Prefixes of the labels and annotations that Davit reads. */
const READ = ['davit.dev/', 'app.kubernetes.io/', 'argocd.argoproj.io/'];
/** In characters. Longer than every value that Davit writes or compares. */
const LONGEST_VALUE = 4096;
/** Nothing looks at the others: one finalizer holds an object, and Davit's own Secrets have one owner. */
const MOST_ENTRIES = 20;

/** The Secret with the metadata that Davit reads, at most a few kilobytes. */
export function slimSecret(secret: KubeObject): KubeObject {
  const { managedFields: _fields, labels, annotations, ownerReferences, finalizers, ...metadata } = secret.metadata;
  return {
    ...secret,
    metadata: {
      ...metadata,
      ...(labels && { labels: read(labels) }),
      ...(annotations && { annotations: read(annotations) }),
      ...(ownerReferences && { ownerReferences: ownerReferences.slice(0, MOST_ENTRIES) }),
      ...(finalizers && { finalizers: finalizers.slice(0, MOST_ENTRIES) }),
    },
  };
}

/** Those that Davit reads, of annotations or labels. */
export function read(entries: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(entries).filter(
    ([key, value]) => READ.some((prefix) => key.startsWith(prefix)) && value.length <= LONGEST_VALUE,
  );
  return Object.fromEntries(kept.slice(0, MOST_ENTRIES));
}
