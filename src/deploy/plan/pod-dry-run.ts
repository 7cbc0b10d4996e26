// Which pods are dry-run before they are created. Admission, LimitRanges, quota and Pod Security only evaluate the rendered pod,
// and a workload whose pods are rejected has replaced the old ones already.

import { quoted } from '../../kinds/text.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import {
  type ActionFailure,
  failureAt,
  isOfPart,
  isOurs,
  type ObservedChildren,
  refText,
  refTo,
  type Workload,
} from '../assess/observed.ts';
import { hasDrifted } from './drift.ts';
import type { Action, Plan } from './plan.ts';

/** A pod as the controller of `workload` would create it. */
export interface PodToTry {
  readonly workload: KubeObject;
  readonly pod: KubeObject;
  /** It replaces a running pod, whose share of a quota is then free. */
  readonly replaces: boolean;
}

const WITH_PODS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);
/** Time that a StatefulSet may take to create its pod. Kubernetes reports the failure only as an event. */
const SLOWEST_POD_MS = 10_000;

/** One pod of each workload with a new template, and of each StatefulSet that has had no pod for too long. */
export function podsToTry(
  { actions }: Plan,
  desired: readonly KubeObject[],
  observed: ObservedChildren,
  now: Date,
): PodToTry[] {
  const renewed = actions.flatMap((action) =>
    action.do === 'apply' && hasNewTemplate(action.object, action.observed) ? [action.object] : [],
  );
  const stuck = desired.filter((object) => !renewed.includes(object) && lacksPod(object, observed, now));
  return [...renewed, ...stuck].map((workload) => ({
    workload,
    pod: podFrom(workload),
    replaces: workload.kind === 'StatefulSet' && podsOfSet(workload, observed) > 0,
  }));
}

function hasNewTemplate(wanted: Workload, actual: Workload | undefined): boolean {
  if (!WITH_PODS.has(wanted.kind) || wanted.spec?.replicas === 0) return false;
  // Davit writes the template of a new PostgreSQL or Redis, and its pod replaces none: a missing pod is detected later.
  if (actual === undefined) return isOfPart(wanted);
  return hasDrifted(wanted.spec?.template, actual.spec?.template);
}

function lacksPod(wanted: KubeObject, observed: ObservedChildren, now: Date): boolean {
  if (wanted.kind !== 'StatefulSet') return false;
  const sinceMs = withoutPodForMs(workloadFor(wanted, observed), now);
  return sinceMs !== undefined && sinceMs > SLOWEST_POD_MS;
}

/** Undefined if it has pods, should have none, or has not been observed by its controller. */
function withoutPodForMs(set: Workload | undefined, now: Date): number | undefined {
  const { creationTimestamp, deletionTimestamp, generation } = set?.metadata ?? {};
  if (!set || creationTimestamp === undefined || deletionTimestamp !== undefined || set.spec?.replicas === 0)
    return undefined;
  const isSeen = set.status?.observedGeneration === generation;
  return isSeen && (set.status?.replicas ?? 0) === 0 ? now.getTime() - Date.parse(creationTimestamp) : undefined;
}

/** Milliseconds until the dry run for a StatefulSet without a pod, because no watch reports the cause. Undefined if no pod is missing. */
export function untilStuckMs(observed: ObservedChildren, now: Date): number | undefined {
  const waits = observed.children.flatMap((child) => {
    const sinceMs = child.kind === 'StatefulSet' && isOurs(child, observed) ? withoutPodForMs(child, now) : undefined;
    // After that time, a retry or the pod's event enqueues the record.
    return sinceMs === undefined || sinceMs > SLOWEST_POD_MS ? [] : [SLOWEST_POD_MS - sinceMs + 1];
  });
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

function podsOfSet(wanted: KubeObject, observed: ObservedChildren): number {
  return workloadFor(wanted, observed)?.status?.replicas ?? 0;
}

function workloadFor({ kind, metadata: { name } }: KubeObject, observed: ObservedChildren): Workload | undefined {
  return observed.children.find(
    (child) => child.kind === kind && child.metadata.name === name && isOurs(child, observed),
  );
}

/** The actions that create no rejected pods. The number of those that run is changed: fewer of them may be what frees a quota. */
export function withoutRefused(actions: readonly Action[], refusals: readonly ActionFailure[]): Action[] {
  const keepsPods = (action: Action): boolean =>
    action.do === 'apply' && action.observed !== undefined && !hasNewTemplate(action.object, action.observed);
  return actions.filter((action) => failureAt(refTo(action.object), refusals) === undefined || keepsPods(action));
}

/** Named after the workload, because no pod of a workload has that name. */
function podFrom(workload: Workload): KubeObject {
  const { namespace, name } = workload.metadata;
  const { metadata, spec } = workload.spec?.template ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(metadata?.labels && { labels: metadata.labels }),
      ...(metadata?.annotations && { annotations: metadata.annotations }),
    },
    ...(spec && { spec }),
  };
}

/** The failure for a rejected pod with the API server's message; undefined if the rejection does not matter. */
export function podRefused({ workload, replaces }: PodToTry, words: string): ActionFailure | undefined {
  if (replaces && words.includes('exceeded quota')) return undefined;
  const ref = refTo(workload);
  return {
    reason: 'PodsRefused',
    ref,
    message: `The API server rejects the pods of ${refText(ref)}: ${quoted(words)}. Running pods are not changed. Correct the cause; the deployment then continues automatically.`,
  };
}
