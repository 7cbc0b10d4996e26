// The plan: an unordered list of actions that change the observed state to the wanted one. Pure; it executes nothing.

import type { IPersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import {
  APPLIED_ANNOTATION,
  COMPONENT_LABEL,
  MIGRATION,
  POSTGRES_IMAGE_ANNOTATION,
  REVISION_LABEL,
  ROLES,
  STORE_PARTS,
  TASK,
} from '../../kinds/meta.ts';
import { isWorker, workerNames } from '../../kinds/worker-parts.ts';
import { present } from '../../runtime/json-value.ts';
import type { KubeObject, Read } from '../../runtime/kube/client.ts';
import type { PodTemplate } from '../assess/jobs.ts';
import {
  type ActionFailure,
  childOf,
  isOfPart,
  isOurs,
  type ObservedChildren,
  type PostgresClusterSeen,
  refText,
  refTo,
} from '../assess/observed.ts';
import { isUnended } from '../assess/pod-failures.ts';
import { mayStartPods } from '../assess/pod-starts.ts';
import type { CronJob } from '../assess/task-runs.ts';
import { isControlled } from '../assess/terminating-pods.ts';
import { databaseNumberOf } from '../record/database-move.ts';
import { databaseNumberIn } from '../record/names.ts';
import { storageOf } from '../record/retained-databases.ts';
import { podsIdOf } from '../record/shared-pods.ts';
import { hasDrifted } from './drift.ts';
import { handOverFloor } from './replicas-handover.ts';

export type Action =
  /** Server-side apply. `observed` is the cached object, if there is one. */
  | {
      readonly do: 'apply';
      readonly object: KubeObject;
      readonly observed: KubeObject | undefined;
      /** Before the apply, another field manager takes over `replicas` with the current number, but at least this one (replicas-handover.ts). */
      readonly handOverFloor?: number;
    }
  /** Deletes this object by uid. */
  | { readonly do: 'delete'; readonly object: KubeObject };

export interface Plan {
  readonly actions: readonly Action[];
  readonly refusals: readonly ActionFailure[];
}

/** Kinds that are pruned when they are no longer wanted. Volumes and passwords are not: only a teardown deletes data. */
export const PRUNED_KINDS: ReadonlySet<string> = new Set([
  'Deployment',
  'StatefulSet',
  'Service',
  'NetworkPolicy',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'ScaledObject',
  'TriggerAuthentication',
]);
/** The kinds among these that determine the number of pods. No pod needs them to run. */
export const SCALING_KINDS: ReadonlySet<string> = new Set([
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'ScaledObject',
  'TriggerAuthentication',
]);
export const NOTHING_PRUNED: ReadonlySet<string> = new Set();

/**
 * Plans the changes from `observed` to `desired` (with digests in APPLIED_ANNOTATION). Empty in steady state. Waits for Davit's
 * objects that are being deleted, and reports foreign objects as failures. Unwanted objects are pruned if their kind is in
 * `prunes`; others may still be needed by running pods.
 */
export function plan(desired: readonly KubeObject[], observed: ObservedChildren, prunes = PRUNED_KINDS): Plan {
  const actions: Action[] = [];
  const refusals: ActionFailure[] = [];
  for (const wanted of desired) {
    const actual = childOf(observed, wanted.kind, wanted.metadata.name);
    if (actual && !isOurs(actual, observed)) {
      refusals.push(nameConflict(wanted));
      continue;
    }
    // The object is already as wanted.
    if (wanted === actual || actual?.metadata.deletionTimestamp) continue;
    if (actual && hasOtherSelector(wanted, actual)) {
      actions.push({ do: 'delete', object: actual });
      continue;
    }
    const before =
      wanted.kind === 'ScaledObject' ? autoscalerBefore(wanted, observed) : otherKindBefore(wanted, observed);
    if (before) {
      if (before.metadata.deletionTimestamp === undefined) actions.push({ do: 'delete', object: before });
      continue;
    }
    if (actual === undefined && waitsForPods(wanted, observed)) continue;
    const hasStorage = wanted.kind === 'PersistentVolumeClaim' || wanted.kind === 'Cluster';
    // A default is no request to shrink: the volume has grown outside of Davit.
    const asksForSize = observed.record.spec.sourceConfig.resourceSpec?.dbStorageGi !== undefined;
    if (hasStorage && asksForSize && actual && shrinks(wanted, actual)) refusals.push(cannotShrink(wanted, actual));
    const object = hasStorage && actual ? asItCanBe(wanted, actual) : wanted;
    const floor = actual && handOverFloor(object, actual, desired);
    if (actual && floor === undefined && isApplied(object, actual)) continue;
    actions.push({
      do: 'apply',
      object: actual ? withUid(object, actual) : object,
      observed: actual,
      ...(floor !== undefined && { handOverFloor: floor }),
    });
  }
  const replaced = new Set(actions.map(({ object }) => object));
  for (const child of observed.children) {
    if (replaced.has(child)) continue;
    const kind = isOfPart(child) ? 'Deployment' : child.kind;
    if (!prunes.has(kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;
    // KEDA's own autoscaler has the labels of the ScaledObject.
    if (child.metadata.ownerReferences?.some(({ kind }) => kind === 'ScaledObject')) continue;
    const wanted = desired.some((object) => object.kind === child.kind && object.metadata.name === child.metadata.name);
    if (!wanted && !isStillUsed(child, observed)) actions.push({ do: 'delete', object: child });
  }
  return { actions, refusals };
}

/**
 * The autoscaler by CPU and memory that a ScaledObject replaces. It is deleted first, because KEDA's webhook rejects a second
 * autoscaler of the same pods; until the next pass their number stays.
 */
function autoscalerBefore({ metadata: { name } }: KubeObject, observed: ObservedChildren): KubeObject | undefined {
  const found = childOf(observed, 'HorizontalPodAutoscaler', name);
  return found && isOurs(found, observed) ? found : undefined;
}

/**
 * The workload of the other kind that a worker has while it becomes a singleton, or is one no longer. It is deleted first, because both
 * have the same name and select the same pods.
 */
function otherKindBefore(wanted: KubeObject, observed: ObservedChildren): KubeObject | undefined {
  const { name, labels } = wanted.metadata;
  if (!isOfPart(wanted) || !isWorker(labels?.[COMPONENT_LABEL])) return undefined;
  const found = childOf(observed, wanted.kind === 'Deployment' ? 'StatefulSet' : 'Deployment', name);
  return found && isOurs(found, observed) ? found : undefined;
}

/** A new singleton waits until the last pod that its worker had before has ended. Pods that people made themselves do not count. */
function waitsForPods({ kind, metadata }: KubeObject, { pods }: ObservedChildren): boolean {
  const component = metadata.labels?.[COMPONENT_LABEL];
  if (kind !== 'StatefulSet' || !isWorker(component)) return false;
  return pods.some((pod) => pod.metadata.labels?.[COMPONENT_LABEL] === component && isControlled(pod));
}

/** Actions on objects with data, and the other actions, which follow: the Service would lead to a foreign Cluster of the name. */
export function partitionByData(
  actions: readonly Action[],
): readonly [data: readonly Action[], rest: readonly Action[]] {
  const isData = ({ object: { kind } }: Action): boolean => kind === 'PersistentVolumeClaim' || kind === 'Cluster';
  return [actions.filter(isData), actions.filter((action) => !isData(action))];
}

/**
 * The actions that are still safe after `refusals`. Nothing that pods need is deleted while a wanted object could not be created, and
 * no pods are started that must not start; a scale of zero ends pods, and starts none.
 */
export function withoutUnsafe(actions: readonly Action[], refusals: readonly ActionFailure[]): readonly Action[] {
  const wasRefused = refusals.some(({ reason }) => reason !== 'StorageCannotShrink' && reason !== 'FileUnread');
  const startsPods = mayStartPods(refusals);
  return actions.filter((action) =>
    action.do === 'delete'
      ? !wasRefused || SCALING_KINDS.has(action.object.kind)
      : startsPods || !STARTS_PODS.has(action.object.kind) || hasNoReplicas(action.object),
  );
}

const STARTS_PODS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

function hasNoReplicas(object: KubeObject & { readonly spec?: { readonly replicas?: number } }): boolean {
  return isOfPart(object) && object.spec?.replicas === 0;
}

export function nameConflict(wanted: KubeObject): ActionFailure {
  const ref = refTo(wanted);
  return {
    reason: 'NameConflict',
    ref,
    message: `${refText(ref)} exists and does not belong to this deployment. Delete or rename it, or create the deployment with another name.`,
  };
}

// Objects of an own PostgreSQL or Redis are deleted only after the last pod of a revision that uses it has ended: a switch to an
// external one rolls the pods, and the old pods still need theirs. So does a CronJob that can still start a run. No pod uses a schedule.
function isStillUsed({ kind, metadata }: KubeObject, observed: ObservedChildren): boolean {
  const store = STORE_PARTS.find((part) => part === metadata.labels?.[COMPONENT_LABEL]);
  if (store === undefined || kind === 'ScheduledBackup') return false;
  const of = databaseNumberIn(observed.record.metadata.name, metadata.name);
  const having = observed.revisions.filter(
    (one) => one.spec.resolved[store] && (store === 'redis' || of === undefined || databaseNumberOf(one) === of),
  );
  const using = new Set(
    having.flatMap((one) => [
      // The runs of tasks have the template of the server, and with it its id.
      `${TASK} ${podsIdOf(one, 'server')}`,
      ...[...ROLES, MIGRATION, ...workerNames(one.spec.resolved)].flatMap((part) => [
        `${part} ${one.spec.id}`,
        `${part} ${podsIdOf(one, part)}`,
      ]),
    ]),
  );
  return [...observed.pods.filter(isUnended), ...runTemplatesOf(observed)].some(({ metadata }) =>
    using.has(`${metadata?.labels?.[COMPONENT_LABEL]} ${metadata?.labels?.[REVISION_LABEL]}`),
  );
}

/** The pod templates of the record's CronJobs. */
function runTemplatesOf(observed: ObservedChildren): PodTemplate[] {
  return observed.children
    .filter((child) => child.kind === 'CronJob' && isOurs(child, observed))
    .flatMap((job: CronJob) => job.spec?.jobTemplate?.spec?.template ?? []);
}

function isApplied(wanted: KubeObject, actual: KubeObject): boolean {
  const digest = actual.metadata.annotations?.[APPLIED_ANNOTATION];
  return digest === wanted.metadata.annotations?.[APPLIED_ANNOTATION] && !hasDrifted(wanted, actual);
}

// An apply without the uid would merge into a foreign object that was created under the same name in the meantime.
function withUid(object: KubeObject, actual: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...(actual.metadata.uid && { uid: actual.metadata.uid }) } };
}

// Davit's selectors never change, and the API server does not allow a change: a person has recreated this workload.
// Every apply would be rejected. Deleting the workload affects only pods.
function hasOtherSelector(wanted: KubeObject, actual: KubeObject): boolean {
  if (wanted.kind !== 'Deployment' && wanted.kind !== 'StatefulSet') return false;
  const labelsOf = (object: KubeObject): unknown => (object as Selecting).spec?.selector?.matchLabels;
  return hasDrifted(labelsOf(wanted), labelsOf(actual)) || hasDrifted(labelsOf(actual), labelsOf(wanted));
}

interface Selecting extends KubeObject {
  readonly spec?: { readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> } };
}

type Claim = Read<IPersistentVolumeClaim>;

// A claim can neither shrink nor change its storage class; the API server would reject the whole apply.
function asItCanBe(wanted: KubeObject, actual: KubeObject): KubeObject {
  if (wanted.kind === 'Cluster') return clusterAsItCanBe(wanted, actual);
  const { spec } = wanted as Claim;
  const there = (actual as Claim).spec;
  const requests = shrinks(wanted, actual) ? there?.resources?.requests : spec?.resources?.requests;
  const storageClassName = there?.storageClassName ?? spec?.storageClassName;
  return {
    ...wanted,
    spec: {
      ...spec,
      ...(storageClassName !== undefined && { storageClassName }),
      resources: { ...spec?.resources, requests },
    },
  } as KubeObject;
}

// All instances of a Cluster have volumes of the class that the first one got.
function clusterAsItCanBe(wanted: PostgresClusterSeen, actual: PostgresClusterSeen): KubeObject {
  const [asked, there] = [wanted.spec?.storage, actual.spec?.storage];
  const size = shrinks(wanted, actual) ? there?.size : asked?.size;
  const { storageClass } = there ?? {};
  const storage = { size, ...(storageClass !== undefined && { storageClass }) };
  const { metadata, spec } = hasTwoRollouts(wanted, actual) ? withImageOf(wanted, actual) : wanted;
  return { ...wanted, metadata, spec: { ...spec, storage } } as KubeObject;
}

/** CloudNativePG refuses another image and other parameters at once where a switchover rolls the primary. */
function hasTwoRollouts({ spec: wanted }: PostgresClusterSeen, { spec: there }: PostgresClusterSeen): boolean {
  return (
    wanted?.primaryUpdateMethod === 'switchover' &&
    wanted.imageName !== there?.imageName &&
    hasDrifted(wanted.postgresql?.parameters, there?.postgresql?.parameters)
  );
}

/** Without its digest: the next pass sends the image, and reports no correction of what a person changed. */
function withImageOf(wanted: PostgresClusterSeen, { spec: there }: PostgresClusterSeen): PostgresClusterSeen {
  const {
    [APPLIED_ANNOTATION]: _digest,
    [POSTGRES_IMAGE_ANNOTATION]: _image,
    ...annotations
  } = wanted.metadata.annotations ?? {};
  const spec = { ...wanted.spec, ...present({ imageName: there?.imageName }) };
  return { ...wanted, metadata: { ...wanted.metadata, annotations }, spec };
}

function shrinks(wanted: KubeObject, actual: KubeObject): boolean {
  return storageOf(wanted) < storageOf(actual);
}

function cannotShrink(wanted: KubeObject, actual: KubeObject): ActionFailure {
  const gibibytes = (claim: KubeObject): string => `${Math.round((storageOf(claim) / 2 ** 30) * 100) / 100} Gi`;
  return {
    reason: 'StorageCannotShrink',
    ref: refTo(wanted),
    message: `The PostgreSQL volume has ${gibibytes(actual)} and cannot shrink to ${gibibytes(wanted)}. Set db_storage_gi to at least its size.`,
  };
}
