// How a resize of a running PostgreSQL or Redis is seen (plan/pod-resize.ts).

import { RESIZING_ANNOTATION } from '../../kinds/meta.ts';
import type { ObservedChildren, ObservedCondition, Pod, Workload } from './observed.ts';

/**
 * Whether a StatefulSet keeps its pod of an earlier template, because Davit is resizing that pod. The strategy alone may be set by a
 * person, and says nothing about the template that the pod was made from.
 */
export function isResizing(set: Workload): boolean {
  return set.spec?.updateStrategy?.type === 'OnDelete' && set.metadata.annotations?.[RESIZING_ANNOTATION] === 'true';
}

/** The pod that the StatefulSet has: its own have one. */
export function podOf({ metadata: { uid } }: Workload, { pods }: Pick<ObservedChildren, 'pods'>): Pod | undefined {
  return pods.find(
    ({ metadata }) =>
      metadata.deletionTimestamp === undefined &&
      metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true,
  );
}

/** A condition that holds, of the pod as it is asked to be now. */
export function resizeCondition(
  { metadata, status }: Pod,
  type: 'PodResizePending' | 'PodResizeInProgress',
): ObservedCondition | undefined {
  return status?.conditions?.find(
    (condition) =>
      condition.type === type &&
      condition.status === 'True' &&
      (condition.observedGeneration ?? metadata.generation) === metadata.generation,
  );
}

/** The kubelet's words for sizes that the node has no room for at present, or is too small for. */
export function resizeDeferred(
  set: Workload,
  observed: Pick<ObservedChildren, 'pods'>,
): { readonly pod: Pod; readonly words: string } | undefined {
  const pod = podOf(set, observed);
  const pending = pod && resizeCondition(pod, 'PodResizePending');
  return pod && pending && { pod, words: pending.message ?? '' };
}
