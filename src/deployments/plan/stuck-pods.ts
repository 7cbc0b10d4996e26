// Pods of a PostgreSQL or Redis that their StatefulSet never replaces. A StatefulSet waits until a pod is Ready before it replaces
// it by one of a newer template, so a pod that cannot start stays after its template was corrected.

import { COMPONENT_LABEL, CONTROLLER_REVISION_LABEL } from '../../schema/meta.ts';
import { isOurs, type ObservedChildren, type Pod, type Workload } from '../assess/observed.ts';
import { isReadyPod } from '../assess/pod-failures.ts';

/**
 * Pods to delete, so that the StatefulSet recreates them from its newest template. Only pods of the record's StatefulSets, of
 * an older template, whose own container does not run: it could be a database in recovery. `changed` are the
 * StatefulSets that this pass has changed: they make pods from a new template first.
 */
export function stuckPods(observed: ObservedChildren, changed: ReadonlySet<string>): readonly Pod[] {
  const sets = observed.children.filter(
    (child) =>
      child.kind === 'StatefulSet' &&
      isOurs(child, observed) &&
      child.metadata.deletionTimestamp === undefined &&
      !changed.has(child.metadata.name),
  );
  return sets.flatMap((set) => observed.pods.filter((pod) => isStuck(pod, set)));
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
