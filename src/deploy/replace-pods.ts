// Replaces and resizes pods that their workloads would leave as they are (plan/stuck-pods.ts, plan/pod-resize.ts).

import { quoted } from '../kinds/text.ts';
import { overlayWrite, placeOf } from '../runtime/controller/cluster.ts';
import { type Forbidden, type Invalid, isRefusal, NotFound } from '../runtime/errors.ts';
import { PODS } from '../runtime/kube/api-resources.ts';
import { type ActionFailure, type ObservedChildren, type Pod, refText, refTo } from './assess/observed.ts';
import type { Cluster } from './cluster/cluster.ts';
import { removePods } from './cluster/delete.ts';
import { failureOf } from './cluster/failures.ts';
import { settleAll } from './cluster/settle-all.ts';
import type { ReconcilerOptions } from './pass.ts';
import { hasSizes, type ResizeStep, resizeSteps } from './plan/pod-resize.ts';
import { lockedOutPods, stuckPods } from './plan/stuck-pods.ts';

/**
 * `changed`: names of the StatefulSets that this pass has changed. A pod that cannot be resized is replaced, as every other change of
 * its template replaces it. Returns the failures.
 */
export async function replacePods(
  observed: ObservedChildren,
  changed: ReadonlySet<string>,
  { home, now }: Pick<ReconcilerOptions, 'home' | 'now'>,
): Promise<readonly ActionFailure[]> {
  const removed = await removePods([...stuckPods(observed, changed), ...lockedOutPods(observed)], home);
  const resized = await settleAll(resizeSteps(observed, changed, now()).map((step) => performResize(step, home)));
  return [...removed, ...resized.flat()];
}

async function performResize(step: ResizeStep, home: Cluster): Promise<ActionFailure[]> {
  if (step.do === 'replace') return removePods([step.pod], home);
  const { pod, patch, set } = step;
  const writing = step.do === 'resize' ? ({ subresource: 'resize' } as const) : {};
  try {
    const written = await home.client.jsonPatch<Pod>(PODS, placeOf(pod), patch, writing);
    overlayWrite(home.caches, written);
    // A webhook, or a LimitRange, gives it other sizes than were asked for.
    return step.do === 'resize' && !hasSizes(set, written) ? await removePods([written], home) : [];
  } catch (error) {
    if (step.do === 'resize' && isRefused(error)) return keptAsIs(step, error) ?? (await removePods([pod], home));
    return [failureOf(error, refTo(set), 'change', `the pod of ${refText(refTo(set))}`)];
  }
}

/** Another class of service, more than the node has, or no right to resize. */
function isRefused(error: unknown): error is Invalid | Forbidden | NotFound {
  return isRefusal(error) || error instanceof NotFound;
}

/** With a full quota no other pod would be created, and other nodes may be as small: the pod that runs is kept. */
function keptAsIs({ set, pod }: ResizeStep, error: Invalid | Forbidden | NotFound): ActionFailure[] | undefined {
  const { name, namespace } = pod.metadata;
  const words = error.words;
  const isTooLarge = words.includes('enough allocatable resources');
  if (!isTooLarge && !words.includes('exceeded quota')) return undefined;
  const elsewhere = isTooLarge
    ? ` If another node is large enough, kubectl delete pod ${name} -n ${namespace} restarts it there.`
    : '';
  const message = `The API server rejects the new sizes of Pod ${name}: ${quoted(words)}. The pod keeps its current sizes. Set smaller sizes, or correct the cause; the deployment then continues automatically.${elsewhere}`;
  return [{ reason: 'PodsRefused', ref: refTo(set), message }];
}
