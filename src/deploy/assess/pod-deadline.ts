// How long pods may take to become ready where Kubernetes sets no deadline: those of a singleton, because a StatefulSet has none, and those
// of a Deployment that comes from a scale of zero, which counts as rolled out already. WorkloadsReady has been False since the first part
// began to roll, or since a revision before failed: the pod of this one may be seconds old.

import { COMPONENT_LABEL } from '../../kinds/meta.ts';
import { isPart } from '../../kinds/worker-parts.ts';
import type { Pod, Workload } from './observed.ts';
import type { Patience } from './patience.ts';
import { isReadyPod } from './pod-failures.ts';

/** Whether Kubernetes sets no deadline for the pods of a workload. */
export function hasNoDeadline({ kind, status }: Workload): boolean {
  const progress = status?.conditions?.find(({ type }) => type === 'Progressing');
  return kind === 'StatefulSet' || progress?.reason === 'NewReplicaSetAvailable';
}

/** Whether one of these pods still has time to become ready, or is still to be created. */
export function hasTimeLeft(pods: readonly Pod[], patience: Patience | undefined): boolean {
  const { at = 0, progressDeadlineSeconds = 0 } = patience ?? {};
  return pods.length === 0 || pods.some((pod) => leftMs(pod, progressDeadlineSeconds, at) > 0);
}

/** Milliseconds until the time of the next pod of a part is over; undefined if none is on its way there. */
export function untilLateMs(pods: readonly Pod[], progressDeadlineSeconds: number, now: Date): number | undefined {
  const waits = pods
    .filter((pod) => isPart(pod.metadata.labels?.[COMPONENT_LABEL]))
    .map((pod) => leftMs(pod, progressDeadlineSeconds, now.getTime()))
    .filter((ms) => ms > 0);
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

function leftMs(pod: Pod, seconds: number, at: number): number {
  const created = Date.parse(pod.metadata.creationTimestamp ?? '');
  return isReadyPod(pod) || Number.isNaN(created) ? 0 : created + seconds * 1000 - at;
}
