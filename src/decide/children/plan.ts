// What to do so that the cluster becomes what is wanted: a list of actions without order, compared with what was
// observed. Nothing is done here.

import { APPLIED_ANNOTATION, COMPONENT_LABEL, REVISION_LABEL, STORE_PARTS } from '../../api/meta.ts';
import type { KubeObject } from '../../kube/client.ts';
import { hasDrifted, quantity } from '../drift.ts';
import { type ActionFailure, childOf, isOurs, type Observed, refTo, said } from '../observed.ts';
import { handOverFloor } from './replicas-handover.ts';

export type Action =
  /** Server-side apply. `observed` is what is there, undefined where the cache knows of nothing. */
  | {
      readonly do: 'apply';
      readonly object: KubeObject;
      readonly observed: KubeObject | undefined;
      /** Before it another manager takes over `replicas`, as they are but at least so many (replicas-handover.ts). */
      readonly handOverFloor?: number;
    }
  /** Delete exactly this object, by uid. */
  | { readonly do: 'delete'; readonly object: KubeObject };

export interface Plan {
  readonly actions: readonly Action[];
  readonly refusals: readonly ActionFailure[];
}

/** Kinds that are removed when no longer wanted. Volumes and passwords never are: only a teardown removes data. */
export const PRUNED_KINDS: ReadonlySet<string> = new Set([
  'Deployment',
  'StatefulSet',
  'Service',
  'NetworkPolicy',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
]);
/** The kinds among these that determine the number of pods. No pod needs them to run. */
export const SCALING_KINDS: ReadonlySet<string> = new Set(['HorizontalPodAutoscaler', 'PodDisruptionBudget']);
export const NOTHING_PRUNED: ReadonlySet<string> = new Set();

/**
 * Plans the way from `observed` to `desired` (each carrying its digest in APPLIED_ANNOTATION). Empty once everything
 * is as wanted. Objects of ours that are being deleted are waited for, objects that aren't ours are refusals. What is
 * no longer wanted is removed if its kind is one of `prunes`: pods that still run may need it.
 */
export function plan(desired: readonly KubeObject[], observed: Observed, prunes = PRUNED_KINDS): Plan {
  const actions: Action[] = [];
  const refusals: ActionFailure[] = [];
  for (const wanted of desired) {
    const actual = childOf(observed, wanted.kind, wanted.metadata.name);
    if (actual && !isOurs(actual, observed)) {
      refusals.push(nameConflict(wanted));
      continue;
    }
    // What is there is wanted as it is.
    if (wanted === actual || actual?.metadata.deletionTimestamp) continue;
    if (actual && hasOtherSelector(wanted, actual)) {
      actions.push({ do: 'delete', object: actual });
      continue;
    }
    const isClaim = wanted.kind === 'PersistentVolumeClaim';
    if (isClaim && actual && shrinks(wanted, actual)) refusals.push(cannotShrink(wanted, actual));
    const object = isClaim && actual ? asItCanBe(wanted, actual) : wanted;
    const floor = actual && handOverFloor(object, actual, desired);
    if (actual && floor === undefined && isApplied(object, actual)) continue;
    actions.push({
      do: 'apply',
      object: actual ? withUid(object, actual) : object,
      observed: actual,
      ...(floor !== undefined && { handOverFloor: floor }),
    });
  }
  for (const child of observed.children) {
    if (!prunes.has(child.kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;
    const wanted = desired.some((object) => object.kind === child.kind && object.metadata.name === child.metadata.name);
    if (!wanted && !isStillUsed(child, observed)) actions.push({ do: 'delete', object: child });
  }
  return { actions, refusals };
}

/** What holds data, and all the rest, which is done after it. */
export function partitionByData(
  actions: readonly Action[],
): readonly [data: readonly Action[], rest: readonly Action[]] {
  const isData = ({ object }: Action): boolean => object.kind === 'PersistentVolumeClaim';
  return [actions.filter(isData), actions.filter((action) => !isData(action))];
}

/**
 * What may still be done after `refusals`. Nothing is deleted while something wanted could not be made, and no pods are
 * started that should not be.
 */
export function withoutUnsafe(actions: readonly Action[], refusals: readonly ActionFailure[]): readonly Action[] {
  const wasRefused = refusals.some(({ reason }) => reason !== 'StorageCannotShrink');
  const startsPods = mayStartPods(refusals);
  return actions.filter((action) =>
    action.do === 'delete' ? !wasRefused : startsPods || !STARTS_PODS.has(action.object.kind),
  );
}

/**
 * Not if a volume or a password of that name is somebody else's: a database would write into a foreign volume, and pods
 * would be given foreign passwords. Nor while a password is missing, be it that it was lost or that it could not be made:
 * what runs would give way to pods that wait for it, and by a store without one it is known that the password was lost.
 * Nor while the volume is missing, refused or about to go: with the pod that uses it the data would go.
 */
export function mayStartPods(refusals: readonly ActionFailure[]): boolean {
  return !refusals.some(
    ({ reason, ref, absent }) =>
      ref.kind === 'Secret' ||
      VOLUME_UNUSABLE.has(reason) ||
      (ref.kind === 'PersistentVolumeClaim' && (reason === 'NameConflict' || absent === true)),
  );
}

const VOLUME_UNUSABLE: ReadonlySet<ActionFailure['reason']> = new Set([
  'VolumeMissing',
  'VolumeTerminating',
  'VolumeLost',
]);

const STARTS_PODS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

export function nameConflict(wanted: KubeObject): ActionFailure {
  const ref = refTo(wanted);
  return {
    reason: 'NameConflict',
    ref,
    message: `${said(ref)} exists and does not belong to this deployment. Delete or rename it, or create the deployment with another name.`,
  };
}

// What belongs to a PostgreSQL or Redis goes only with the last pod of a revision that has it: a switch to an external
// one rolls the pods, and those that still serve need theirs.
function isStillUsed({ metadata }: KubeObject, { pods, revisions }: Observed): boolean {
  const store = STORE_PARTS.find((part) => part === metadata.labels?.[COMPONENT_LABEL]);
  if (store === undefined) return false;
  const having = new Set(revisions.filter(({ spec }) => spec.resolved[store]).map(({ spec }) => spec.id));
  return pods.some((pod) => having.has(pod.metadata.labels?.[REVISION_LABEL] ?? ''));
}

function isApplied(wanted: KubeObject, actual: KubeObject): boolean {
  const digest = actual.metadata.annotations?.[APPLIED_ANNOTATION];
  return digest === wanted.metadata.annotations?.[APPLIED_ANNOTATION] && !hasDrifted(wanted, actual);
}

// An apply without the uid would merge into a foreign object made in the meantime under the same name.
function withUid(object: KubeObject, actual: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...(actual.metadata.uid && { uid: actual.metadata.uid }) } };
}

// Davit's selectors never change, and the API server does not allow a change: a person has recreated this workload.
// Every apply would be refused; what depends on it is pods alone.
function hasOtherSelector(wanted: KubeObject, actual: KubeObject): boolean {
  if (wanted.kind !== 'Deployment' && wanted.kind !== 'StatefulSet') return false;
  const labelsOf = (object: KubeObject): unknown => (object as Selecting).spec?.selector?.matchLabels;
  return hasDrifted(labelsOf(wanted), labelsOf(actual)) || hasDrifted(labelsOf(actual), labelsOf(wanted));
}

interface Selecting extends KubeObject {
  readonly spec?: { readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> } };
}

interface Claim extends KubeObject {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
}

/** Storage in bytes that a claim asks for. */
export function storageOf(claim: KubeObject): number {
  return Number(quantity((claim as Claim).spec?.resources?.requests?.['storage'] ?? '0'));
}

// A claim can neither shrink nor change its class; the API server would refuse the whole apply.
function asItCanBe(wanted: KubeObject, actual: KubeObject): KubeObject {
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
