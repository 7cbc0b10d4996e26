// How long the pod of a singleton may take to become ready. Its StatefulSet has no deadline, and WorkloadsReady has been False since the
// first part began to roll, or since a revision before failed: the pod of this one may be seconds old.

import { COMPONENT_LABEL } from '../../kinds/meta.ts';
import { isWorker } from '../../kinds/worker-parts.ts';
import type { Pod } from './observed.ts';
import type { Patience } from './patience.ts';
import { isReadyPod } from './pod-failures.ts';
import { controllerKindOf } from './terminating-pods.ts';

/** Whether one of these pods, which are those of a singleton in a rollout, still has time. */
export function hasTimeLeft(pods: readonly Pod[], patience: Patience | undefined): boolean {
  const { at = 0, progressDeadlineSeconds = 0 } = patience ?? {};
  return pods.some((pod) => leftMs(pod, progressDeadlineSeconds, at) > 0);
}

/** Milliseconds until the time of the next pod of a singleton is over; undefined if none is on its way there. */
export function untilSingletonLateMs(
  pods: readonly Pod[],
  progressDeadlineSeconds: number,
  now: Date,
): number | undefined {
  const waits = pods
    .filter((pod) => isWorker(pod.metadata.labels?.[COMPONENT_LABEL]) && controllerKindOf(pod) === 'StatefulSet')
    .map((pod) => leftMs(pod, progressDeadlineSeconds, now.getTime()))
    .filter((ms) => ms > 0);
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

function leftMs(pod: Pod, seconds: number, at: number): number {
  const created = Date.parse(pod.metadata.creationTimestamp ?? '');
  return isReadyPod(pod) || Number.isNaN(created) ? 0 : created + seconds * 1000 - at;
}
