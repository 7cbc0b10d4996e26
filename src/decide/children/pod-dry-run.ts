// Which pods the API server is asked about before they exist. Only the rendered pod shows what admission, LimitRanges,
// quota and Pod Security think of a record, and a workload whose pods are refused has taken the old ones' place already.

import { quoted } from '../../api/text.ts';
import type { KubeObject } from '../../kube/client.ts';
import { hasDrifted } from '../drift.ts';
import { type ActionFailure, failureAt, isOurs, type Observed, refTo, said, type Workload } from '../observed.ts';
import type { Action, Plan } from './plan.ts';

/** A pod as the controller of `workload` would make it. */
export interface PodToTry {
  readonly workload: KubeObject;
  readonly pod: KubeObject;
  /** It takes the place of a pod that runs, whose share of a quota is free by then. */
  readonly replaces: boolean;
}

interface Template {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: object;
}
interface Rendered extends KubeObject {
  readonly spec?: { readonly replicas?: number; readonly template?: Template };
}

const WITH_PODS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);
/** Time that a StatefulSet may take to create its pod. Kubernetes reports the failure only as an event. */
const SLOWEST_POD_MS = 10_000;

/** One pod of each workload that gets a new template, and of each StatefulSet that has had none for too long. */
export function podsToTry(
  { actions }: Plan,
  desired: readonly KubeObject[],
  observed: Observed,
  now: Date,
): PodToTry[] {
  const renewed = actions.flatMap((action) =>
    action.do === 'apply' && hasNewTemplate(action.object, action.observed) ? [action.object] : [],
  );
  const stuck = desired.filter((object) => !renewed.includes(object) && isStuck(object, observed, now));
  return [...renewed, ...stuck].map((workload) => ({
    workload,
    pod: podOf(workload),
    replaces: workload.kind === 'StatefulSet' && podsOfSet(workload, observed) > 0,
  }));
}

function hasNewTemplate(wanted: Rendered, actual: Rendered | undefined): boolean {
  if (!WITH_PODS.has(wanted.kind) || wanted.spec?.replicas === 0) return false;
  // Davit writes the template of a new PostgreSQL or Redis, and its pod replaces none: a missing pod is detected later.
  if (actual === undefined) return wanted.kind !== 'StatefulSet';
  return hasDrifted(wanted.spec?.template, actual.spec?.template);
}

function isStuck(wanted: KubeObject, observed: Observed, now: Date): boolean {
  if (wanted.kind !== 'StatefulSet') return false;
  const sinceMs = withoutPodForMs(find(wanted, observed), now);
  return sinceMs !== undefined && sinceMs > SLOWEST_POD_MS;
}

/** Undefined for one that has pods, is not to have any, or has not been looked at by its controller. */
function withoutPodForMs(set: Workload | undefined, now: Date): number | undefined {
  const { creationTimestamp, deletionTimestamp, generation } = set?.metadata ?? {};
  if (!set || creationTimestamp === undefined || deletionTimestamp !== undefined || set.spec?.replicas === 0)
    return undefined;
  const isSeen = set.status?.observedGeneration === generation;
  return isSeen && (set.status?.replicas ?? 0) === 0 ? now.getTime() - Date.parse(creationTimestamp) : undefined;
}

/** Milliseconds until it is time to ask why a StatefulSet has no pod: no watch tells. Undefined where none is waited for. */
export function untilStuckMs(observed: Observed, now: Date): number | undefined {
  const waits = observed.children.flatMap((child) => {
    const sinceMs = child.kind === 'StatefulSet' && isOurs(child, observed) ? withoutPodForMs(child, now) : undefined;
    // Past it, a retry or the pod itself comes.
    return sinceMs === undefined || sinceMs > SLOWEST_POD_MS ? [] : [SLOWEST_POD_MS - sinceMs + 1];
  });
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

function podsOfSet(wanted: KubeObject, observed: Observed): number {
  return find(wanted, observed)?.status?.replicas ?? 0;
}

function find({ kind, metadata: { name } }: KubeObject, observed: Observed): Workload | undefined {
  return observed.children.find(
    (child) => child.kind === kind && child.metadata.name === name && isOurs(child, observed),
  );
}

/** The actions that do not make pods which were refused. */
export function withoutRefused(actions: readonly Action[], refusals: readonly ActionFailure[]): Action[] {
  return actions.filter(({ object }) => failureAt(refTo(object), refusals) === undefined);
}

/** By the workload's name, which no pod of a workload has. */
function podOf(workload: Rendered): KubeObject {
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

/** The refusal of a pod, in the API server's own `words`; undefined if they don't count. */
export function podRefused({ workload, replaces }: PodToTry, words: string): ActionFailure | undefined {
  if (replaces && words.includes('exceeded quota')) return undefined;
  const ref = refTo(workload);
  return {
    reason: 'PodsRefused',
    ref,
    message: `The API server rejects the pods of ${said(ref)}: ${quoted(words)}. Running pods are not changed. Correct the cause; the deployment then continues automatically.`,
  };
}
