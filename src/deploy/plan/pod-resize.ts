// New CPU and memory of a running PostgreSQL or Redis, given to the pod that runs instead of to another one (ADR 40). While that is under
// way, the StatefulSet has strategy OnDelete, so that its controller keeps the pod of the earlier template: that strategy, with an
// annotation that tells it from one set by a person, is all that is remembered, and everything else is read from the StatefulSet and its
// pod.

import { CONTROLLER_REVISION_LABEL, RESIZING_ANNOTATION } from '../../kinds/meta.ts';
import { quantity } from '../../kinds/quantity.ts';
import { isObject } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import {
  childOf,
  isOurs,
  isStoreSet,
  type ObservedChildren,
  type Pod,
  type PodContainer,
  type Workload,
} from '../assess/observed.ts';
import { isReadyPod } from '../assess/pod-failures.ts';
import { isResizing, podOf, resizeCondition } from '../assess/resizing.ts';
import { hasDrifted } from './drift.ts';

/** What is done next for one pod. `set`: its StatefulSet. */
export interface ResizeStep {
  /** `note`: the pod has the sizes of the newest template, and gets its label. `replace`: it cannot have them. */
  readonly do: 'resize' | 'note' | 'replace';
  readonly set: Workload;
  readonly pod: Pod;
  /** Operations of a JSON Patch, of `resize` on that subresource. */
  readonly patch: readonly object[];
}

/** The kubelet repeats a resize that failed; a runtime that cannot resize fails each time. */
const FAILING_MS = 60_000;

/** `children`, of which the StatefulSets keep their pod while it is, or is about to be, resized. */
export function keepingResized(children: readonly KubeObject[], observed: ObservedChildren): readonly KubeObject[] {
  return children.map((child) => (isStoreSet(child) && keepsPod(child, observed) ? withOnDelete(child) : child));
}

/** The next steps of all pods that are being resized. `changed`: StatefulSets that this pass has changed. */
export function resizeSteps(
  observed: ObservedChildren,
  changed: ReadonlySet<string>,
  now: Date,
): readonly ResizeStep[] {
  return observed.children.filter(isStoreSet).flatMap((set) => {
    const { metadata, status } = set;
    if (!isOurs(set, observed) || metadata.deletionTimestamp !== undefined || changed.has(metadata.name)) return [];
    const pod = podOf(set, observed);
    if (!pod || !isResizing(set) || status?.observedGeneration !== metadata.generation) return [];
    return resizeStepsOf(set, pod, now);
  });
}

/** Milliseconds until a resize that fails in its runtime is given up: no watch says so. */
export function untilGivenUpMs(observed: ObservedChildren, now: Date): number | undefined {
  const waits = observed.children.filter(isStoreSet).flatMap((set) => {
    const pod = isOurs(set, observed) && isResizing(set) ? podOf(set, observed) : undefined;
    const sinceMs = pod && failingForMs(pod, now);
    return sinceMs === undefined || sinceMs > FAILING_MS ? [] : [FAILING_MS - sinceMs + 1];
  });
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/** Whether a pod is asked to have the sizes of its StatefulSet. */
export function hasSizes(set: Workload, { spec }: Pod): boolean {
  return !hasOther(sizesOf(set), spec?.containers);
}

function resizeStepsOf(set: Workload, pod: Pod, now: Date): ResizeStep[] {
  const sizes = sizesOf(set);
  const replace: ResizeStep[] = isReadyPod(pod) ? [{ do: 'replace', set, pod, patch: [] }] : [];
  if (isNewest(set, pod) && isUntouched(pod)) return [];
  if (!hasSizes(set, pod))
    return canTake(pod, sizes) ? [{ do: 'resize', set, pod, patch: resizePatch(pod, sizes) }] : replace;
  // Its runtime has failed for too long to give them.
  if ((failingForMs(pod, now) ?? 0) > FAILING_MS) return replace;
  if (!isInForce(pod, sizes) || isNewest(set, pod)) return [];
  const { updateRevision } = set.status ?? {};
  const path = `/metadata/labels/${CONTROLLER_REVISION_LABEL}`;
  return [{ do: 'note', set, pod, patch: [sameUid(pod), { op: 'replace', path, value: updateRevision }] }];
}

function keepsPod(wanted: KubeObject, observed: ObservedChildren): boolean {
  const set = childOf(observed, 'StatefulSet', wanted.metadata.name) as Workload | undefined;
  if (!set || !isOurs(set, observed) || set.metadata.deletionTimestamp !== undefined) return false;
  const pod = podOf(set, observed);
  if (!pod || !sameButForSizes(wanted, set)) return false;
  const sizes = sizesOf(wanted);
  const changes = hasOther(sizes, sizesOf(set));
  if (isResizing(set)) return changes || !isDone(set, pod);
  // Somebody's partition: the API server takes it with no other strategy.
  if (set.spec?.updateStrategy?.rollingUpdate !== undefined) return false;
  return changes && isObserved(set) && isNewest(set, pod) && isReadyPod(pod) && canTake(pod, sizes);
}

/**
 * Its controller has seen that the pod is of the newest template, and would not replace it. A pod that nobody has touched is what
 * the template makes, whatever an admission webhook made of its sizes.
 */
function isDone(set: Workload, pod: Pod): boolean {
  const isCounted = isObserved(set) && (set.status?.updatedReplicas ?? 0) > 0;
  return isCounted && isNewest(set, pod) && (isUntouched(pod) || isInForce(pod, sizesOf(set)));
}

function isObserved({ metadata, status }: Workload): boolean {
  return status?.observedGeneration === metadata.generation;
}

function isNewest({ status }: Workload, { metadata }: Pod): boolean {
  const { updateRevision } = status ?? {};
  return updateRevision !== undefined && metadata.labels?.[CONTROLLER_REVISION_LABEL] === updateRevision;
}

/** A resize increments the generation of a pod. */
function isUntouched({ metadata }: Pod): boolean {
  return (metadata.generation ?? 1) <= 1;
}

/**
 * Whether Kubernetes gives a running pod these sizes: it does where the kubelet reports the sizes in force. Memory is not
 * taken away: the kubelet refuses a limit below what is used, and PostgreSQL's page cache uses all that there is.
 */
function canTake({ spec, status }: Pod, sizes: readonly Sized[]): boolean {
  return sizes.every(({ name, resources }) => {
    const asked = named(name, spec?.containers)?.resources;
    const own = named(name, status?.containerStatuses);
    if (!asked || !own?.state?.running || !own.resources) return false;
    const hasAll = AMOUNTS.every(([of, what]) => asked[of]?.[what] !== undefined);
    return hasAll && quantity(resources?.limits?.['memory']) >= quantity(own.resources.limits?.['memory']);
  });
}

function failingForMs(pod: Pod, now: Date): number | undefined {
  const { reason, lastTransitionTime } = resizeCondition(pod, 'PodResizeInProgress') ?? {};
  return reason === 'Error' && lastTransitionTime !== undefined
    ? now.getTime() - Date.parse(lastTransitionTime)
    : undefined;
}

function isInForce(pod: Pod, sizes: readonly Sized[]): boolean {
  const { generation = 1 } = pod.metadata;
  const isReported = (pod.status?.observedGeneration ?? generation) >= generation;
  if (!isReported || hasOther(sizes, pod.status?.containerStatuses)) return false;
  return !resizeCondition(pod, 'PodResizePending') && !resizeCondition(pod, 'PodResizeInProgress');
}

type Sized = Pick<PodContainer, 'name' | 'resources'>;

const AMOUNTS = [
  ['requests', 'cpu'],
  ['requests', 'memory'],
  ['limits', 'cpu'],
  ['limits', 'memory'],
] as const;

function named<T extends { readonly name: string }>(name: string, list: readonly T[] | undefined): T | undefined {
  return list?.find((one) => one.name === name);
}

function sizesOf({ spec }: Workload): readonly Sized[] {
  return spec?.template?.spec?.containers ?? [];
}

function hasOther(sizes: readonly Sized[], there: readonly Sized[] | undefined): boolean {
  return sizes.some(({ name, resources }) =>
    AMOUNTS.some(
      ([of, what]) => quantity(resources?.[of]?.[what]) !== quantity(named(name, there)?.resources?.[of]?.[what]),
    ),
  );
}

/** The uid guards against another pod of that name; its containers keep their order. */
function resizePatch(pod: Pod, sizes: readonly Sized[]): readonly object[] {
  const containers = pod.spec?.containers ?? [];
  return [
    sameUid(pod),
    ...sizes.flatMap(({ name, resources }) => {
      const path = `/spec/containers/${containers.findIndex((container) => container.name === name)}`;
      return [
        { op: 'test', path: `${path}/name`, value: name },
        ...AMOUNTS.map(([of, what]) => ({
          op: 'replace',
          path: `${path}/resources/${of}/${what}`,
          value: resources?.[of]?.[what],
        })),
      ];
    }),
  ];
}

function sameUid({ metadata: { uid } }: Pod): object {
  return { op: 'test', path: '/metadata/uid', value: uid };
}

/** Fields that the API server fills in: a template that has one more of these is the same one. */
const DEFAULTED: ReadonlySet<string> = new Set([
  'apiVersion',
  'defaultMode',
  'dnsPolicy',
  'failureThreshold',
  'initialDelaySeconds',
  'periodSeconds',
  'protocol',
  'restartPolicy',
  'schedulerName',
  'securityContext',
  'successThreshold',
  'terminationMessagePath',
  'terminationMessagePolicy',
  'timeoutSeconds',
]);

/** Whether the pods of both templates differ in nothing but CPU and memory: in doubt they do. */
function sameButForSizes(wanted: Workload, set: Workload): boolean {
  const [next, there] = [withoutSizes(wanted), withoutSizes(set)];
  return !hasDrifted(next, there) && addsOnlyDefaults(there?.spec, next?.spec);
}

function withoutSizes({ spec }: Workload): NonNullable<Workload['spec']>['template'] {
  const { template } = spec ?? {};
  if (!template?.spec) return template;
  const containers = template.spec.containers?.map(({ resources: _sizes, ...container }) => container);
  return { ...template, spec: { ...template.spec, ...(containers && { containers }) } };
}

/** For values that are equal where both have them. */
function addsOnlyDefaults(there: unknown, wanted: unknown): boolean {
  if (Array.isArray(there)) {
    const others: readonly unknown[] = Array.isArray(wanted) ? wanted : [];
    return there.length === others.length && there.every((item, index) => addsOnlyDefaults(item, others[index]));
  }
  if (!isObject(there)) return true;
  const known = isObject(wanted) ? wanted : {};
  return Object.entries(there).every(([key, value]) =>
    Object.hasOwn(known, key) ? addsOnlyDefaults(value, known[key]) : DEFAULTED.has(key),
  );
}

function withOnDelete({ metadata, ...set }: Workload): KubeObject {
  const annotations = { ...metadata.annotations, [RESIZING_ANNOTATION]: 'true' };
  const spec = { ...set.spec, updateStrategy: { type: 'OnDelete' } };
  return { ...set, metadata: { ...metadata, annotations }, spec } as KubeObject;
}
