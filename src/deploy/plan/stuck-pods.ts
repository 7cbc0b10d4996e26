// Pods that their workload does not replace. A StatefulSet waits until a pod is Ready before it replaces it by one of a newer template,
// so a pod of a store that cannot start stays after its template was corrected. And pods read the password of Redis only when they start.

import { COMPONENT_LABEL, CONTROLLER_REVISION_LABEL, REVISION_LABEL } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import {
  childOf,
  isOurs,
  isStoreSet,
  type ObservedChildren,
  type Pod,
  statefulSetOf,
  type Workload,
} from '../assess/observed.ts';
import { isReadyPod, living, podsOf } from '../assess/pod-failures.ts';
import { partsOf } from '../record/parts.ts';
import { podsIdOf } from '../record/shared-pods.ts';

/**
 * Pods to delete, so that the StatefulSet recreates them from its newest template. Only pods of the record's stores, of
 * an older template, whose own container does not run: it could be a database in recovery. `changed` are the
 * StatefulSets that this pass has changed: they make pods from a new template first.
 */
export function stuckPods(observed: ObservedChildren, changed: ReadonlySet<string>): readonly Pod[] {
  const sets = observed.children.filter(
    (child) =>
      isStoreSet(child) &&
      isOurs(child, observed) &&
      child.metadata.deletionTimestamp === undefined &&
      !changed.has(child.metadata.name),
  );
  return sets.flatMap((set) => observed.pods.filter((pod) => isStuck(pod, set)));
}

/**
 * Pods to delete because they have the password of an earlier Redis: one of each part at a time, while its newer pods are ready. A Secret
 * that was restored has the password of the Redis that runs, and is newer than its StatefulSet.
 */
export function lockedOutPods(observed: ObservedChildren): readonly Pod[] {
  const secret = childOf(observed, 'Secret', observed.names.redisSecret);
  const since = secret && isOurs(secret, observed) ? secondOfBirth(secret) : '';
  const set = statefulSetOf(observed, 'redis');
  if (!set || secondOfBirth(set) < since) return [];
  const having = observed.revisions.filter(({ spec }) => spec.resolved.redis !== undefined);
  return [...new Set(having.flatMap(({ spec }) => partsOf(spec.resolved)))].flatMap((part) => {
    const ids = new Set(having.map((revision) => podsIdOf(revision, part)));
    const pods = living(podsOf(observed, part));
    const isOld = (pod: Pod): boolean =>
      secondOfBirth(pod) < since && ids.has(pod.metadata.labels?.[REVISION_LABEL] ?? '');
    return pods.every((pod) => isOld(pod) || isReadyPod(pod)) ? pods.filter(isOld).slice(0, 1) : [];
  });
}

/** In whole seconds, as text that compares by time. */
function secondOfBirth({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? '';
}

function isStuck(pod: Pod, { metadata, status = {} }: Workload): boolean {
  const { observedGeneration, updateRevision } = status;
  if (updateRevision === undefined || observedGeneration !== metadata.generation) return false;
  const isItsOwn = pod.metadata.ownerReferences?.some(
    ({ uid, controller }) => controller === true && uid === metadata.uid,
  );
  const template = pod.metadata.labels?.[CONTROLLER_REVISION_LABEL];
  return (
    isItsOwn === true &&
    pod.metadata.deletionTimestamp === undefined &&
    template !== undefined &&
    template !== updateRevision &&
    !isRunning(pod)
  );
}

/** The StatefulSet replaces pods that have ended and pods that are Ready. An injected sidecar that runs is no database. */
function isRunning(pod: Pod): boolean {
  const own = pod.metadata.labels?.[COMPONENT_LABEL];
  const container = pod.status?.containerStatuses?.find(({ name }) => name === own);
  return isReadyPod(pod) || container?.state?.running !== undefined;
}
