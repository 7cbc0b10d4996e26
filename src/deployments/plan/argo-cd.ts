// Objects that an earlier version of Davit labelled so that Argo CD takes them for those of an Application, and prunes them.

import type { KubeObject } from '../../lib/kube/client.ts';
import { ARGO_CD_TRACKING_LABEL, NOT_PRUNED } from '../../schema/meta.ts';
import { childOf, isOurs, type Observed, type ObservedChildren } from '../assess/observed.ts';

/** The record's objects without an owner that still have the label. Davit creates most of them once and never applies them again. */
export function prunable(observed: ObservedChildren & Pick<Observed, 'tracingProject'>): KubeObject[] {
  const { names, tracingProject } = observed;
  const data = [
    childOf(observed, 'PersistentVolumeClaim', names.postgresClaim),
    childOf(observed, 'Cluster', names.postgres),
    childOf(observed, 'Secret', names.postgresSecret),
    childOf(observed, 'Secret', names.redisSecret),
  ].filter((object) => object !== undefined && isOurs(object, observed));
  // That of an earlier record of this name is this record's as well.
  const isMade = tracingProject?.metadata.labels?.['app.kubernetes.io/managed-by'] === 'davit';
  return [...(data as KubeObject[]), ...(isMade ? [tracingProject] : [])].filter(isTracked);
}

// The value is the record's name. Another one was set by Argo CD itself, for an object that is in Git.
function isTracked({ metadata: { labels, name, annotations } }: KubeObject): boolean {
  const [option = ''] = Object.keys(NOT_PRUNED);
  const owner = labels?.['app.kubernetes.io/name'] ?? name;
  return labels?.[ARGO_CD_TRACKING_LABEL] === owner && annotations?.[option] === undefined;
}

/** The merge patch of metadata. */
export function unprunable({ metadata: { uid } }: KubeObject): object {
  return { metadata: { uid, labels: { [ARGO_CD_TRACKING_LABEL]: null }, annotations: NOT_PRUNED } };
}
