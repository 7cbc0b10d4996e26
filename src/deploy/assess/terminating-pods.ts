// Pods that should be gone and are not: a node that has died confirms nothing, and whatever waits for its pods waits for ever.

import type { Pod } from './observed.ts';

/** A kubelet that is alive confirms the end of a pod well within this, once its grace period (in deletionTimestamp) is over. */
const CONFIRMED_WITHIN_MS = 120_000;
/** The Job controller removes this finalizer when the pod or the Job has ended. Until then, a forced deletion does not remove the pod. */
const OF_JOB = 'batch.kubernetes.io/job-tracking';
const CONTROLLERS: ReadonlySet<string> = new Set(['ReplicaSet', 'StatefulSet', 'Job']);

/**
 * Whether a workload controls the pod. A copy that `kubectl debug --copy-to` made has the labels of its original and no
 * controller: it ends when somebody deletes it, and says nothing about the deployment. A Cluster does not count: a teardown would wait for what
 * an earlier record retained.
 */
export function isControlled(pod: Pod): boolean {
  return CONTROLLERS.has(controllerKindOf(pod) ?? '');
}

/** These pods, those that should be gone by `now` marked. */
export function withOverdue(pods: readonly Pod[], now: Date): readonly Pod[] {
  return pods.map((pod) => (overdueInMs(pod, now) === 0 ? { ...pod, overdue: true } : pod));
}

/** Milliseconds until the first of these is overdue. Undefined where none is on its way there. */
export function untilOverdueMs(pods: readonly Pod[], now: Date): number | undefined {
  const waits = pods.flatMap((pod) => overdueInMs(pod, now) || []);
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

function overdueInMs({ metadata }: Pod, now: Date): number | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  return Math.max(0, Date.parse(metadata.deletionTimestamp) + CONFIRMED_WITHIN_MS - now.getTime());
}

/** `pod shop-1 on node n1`. */
export function podText({ metadata, spec }: Pod): string {
  return `pod ${metadata.name}${spec?.nodeName === undefined ? '' : ` on node ${spec.nodeName}`}`;
}

/** What to do about an overdue pod. The same words at every look. */
export function howToRelease(pod: Pod): string {
  const { name, namespace, deletionTimestamp, finalizers = [] } = pod.metadata;
  const end = `Pod ${name} should have terminated by ${deletionTimestamp}`;
  const node = pod.spec?.nodeName;
  const isLost = node !== undefined && !['Failed', 'Succeeded'].includes(pod.status?.phase ?? '');
  const holding = finalizers.filter((one) => !isLost || one !== OF_JOB);
  if (holding.length > 0)
    return `${end}, but finalizers hold it (${holding.slice(0, 5).join(', ')}): check the controllers that own them.`;
  if (node === undefined)
    return `${end} but still exists. kubectl delete pod ${name} -n ${namespace} --force --grace-period=0 deletes it.`;
  return `${end}, but node ${node} has not confirmed it. ${howToGiveUp(node, pod)}`;
}

/** What releases a pod whose node does not come back. */
export function howToGiveUp(node: string, { metadata: { name, namespace, finalizers } }: Pod): string {
  const or = finalizers?.includes(OF_JOB)
    ? 'Do not do so'
    : `For this pod only: kubectl delete pod ${name} -n ${namespace} --force --grace-period=0. Do neither`;
  return `If the node is shut down permanently, kubectl taint nodes ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute releases its pods and volumes. ${or} while the node may still run, because two such pods would run at the same time.`;
}

/** Whether another pod is made only when this one is known to have ended. */
export function isReplacedAfterItsEnd(pod: Pod): boolean {
  return ['StatefulSet', 'Cluster', 'Job'].includes(controllerKindOf(pod) ?? '');
}

function controllerKindOf({ metadata }: Pod): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.kind;
}
