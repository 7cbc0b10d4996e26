// The teardown of a record in steps: address, workloads, Redis, database, values, revisions, tracing project. Each step waits
// until the objects of the previous one are gone.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { STORE_PARTS, VARIABLES_LABEL } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { ADDRESS_KINDS } from '../assess/address.ts';
import { clusterOutOfReach, isHibernated, isOfCluster, volumesOfCluster } from '../assess/database-cluster.ts';
import { HOLDS_DATA } from '../assess/database-move.ts';
import { isOurs, keepsDatabase, type Observed, type ObservedChildren, type Pod } from '../assess/observed.ts';
import { howToRelease, isControlled, podText, untilOverdueMs } from '../assess/terminating-pods.ts';
import { databaseNumberIn } from '../record/names.ts';
import { isArchiveOf, isOfArchive } from '../record/wal-archive.ts';
import { componentOf } from './adoption.ts';
import { valuesNamed } from './secret-garbage.ts';
import { type UsedLast, usedLastOf } from './used-last.ts';

export interface TeardownStep {
  /** The objects that the step waits for, as text for people. */
  readonly waitsFor: string;
  /** Objects of the step to delete now, without those that are already being deleted. */
  readonly remove: readonly KubeObject[];
  /** Clusters of CloudNativePG that are kept, and whose pods end. Absent if there are none. */
  readonly hibernate?: readonly KubeObject[];
  /** The Secret of the database that is retained as the one that was used last. Absent in the other steps. */
  readonly mark?: UsedLast;
  /** What a person has to do so that the teardown continues. Absent if it continues automatically. */
  readonly hindrance?: string;
}

/** Time in which an unused claim, or an object with finalizers of other controllers, should be deleted. */
const GOES_WITHIN_MS = 60_000;

/** The first step with remaining objects, or undefined if none remain and the finalizer can be removed. */
export function nextTeardownStep(observed: Observed, now: Date): TeardownStep | undefined {
  for (const [waitsFor, objects, rest] of stepsOf(observed)) {
    if (rest) return { waitsFor, remove: [], ...rest };
    if (objects.length === 0) continue;
    const pods = objects.filter(({ kind }) => kind === 'Pod') as readonly Pod[];
    const hindrance = hindranceIn(objects, pods, observed, now);
    const present = objects.filter((object) => object.kind !== 'Pod' && !object.metadata.deletionTimestamp);
    const isKept = (object: KubeObject): boolean => keepsDatabase(observed) && object.kind === 'Cluster';
    return {
      waitsFor: `${waitsFor}${namesOf(pods)}`,
      remove: present.filter((object) => !isKept(object)),
      ...(present.some(isKept) && { hibernate: present.filter(isKept) }),
      ...(hindrance !== undefined && { hindrance }),
    };
  }
  return undefined;
}

/** The pods that are deleted longest come first. */
function namesOf(pods: readonly Pod[]): string {
  const [first, ...others] = pods.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
  if (!first) return '';
  return ` (${podText(first)}${others.length > 0 ? ` and ${others.length} more` : ''})`;
}

function rank({ overdue }: Pod): number {
  return overdue ? 0 : 1;
}

function hindranceIn(
  objects: readonly KubeObject[],
  pods: readonly Pod[],
  { pods: all }: Pick<ObservedChildren, 'pods'>,
  now: Date,
): string | undefined {
  const overdue = pods.find((pod) => pod.overdue);
  if (overdue) return howToRelease(overdue);
  const claim = objects.find(({ kind }) => kind === 'PersistentVolumeClaim');
  const user = all.find((pod) =>
    pod.spec?.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === claim?.metadata.name),
  );
  if (claim?.metadata.deletionTimestamp !== undefined && user)
    return user.overdue
      ? howToRelease(user)
      : `PersistentVolumeClaim ${claim.metadata.name} is used by ${podText(user)}. Delete that pod.`;
  const late = objects.find((object) => untilLateMs(object, now) <= 0);
  if (!late) return undefined;
  const { name, namespace } = late.metadata;
  return late.kind === 'PersistentVolumeClaim'
    ? `PersistentVolumeClaim ${name} is held by its finalizers. kubectl describe pvc ${name} -n ${namespace} shows the pods that use it.`
    : `${late.kind} ${name} is held by its finalizers (${foreignFinalizers(late).slice(0, 5).join(', ')}). Check the controllers that own them.`;
}

/** Finalizers that neither the garbage collector nor Davit removes. */
function foreignFinalizers({ metadata: { finalizers = [] } }: KubeObject): readonly string[] {
  return finalizers.filter((one) => one !== 'foregroundDeletion' && !one.startsWith('davit.dev/'));
}

/** Not positive for an object that is late. Infinity if it is not held by other controllers. */
function untilLateMs(object: KubeObject, now: Date): number {
  const { kind, metadata } = object;
  const isHeld = kind === 'PersistentVolumeClaim' || (kind !== 'Pod' && foreignFinalizers(object).length > 0);
  if (!isHeld || metadata.deletionTimestamp === undefined) return Infinity;
  return Date.parse(metadata.deletionTimestamp) + GOES_WITHIN_MS + 1 - now.getTime();
}

/** Milliseconds until the cause of a slow step is reported, for which there is no watch event. */
export function untilHinderedMs(observed: ObservedChildren, now: Date): number | undefined {
  const waits = observed.children.map((child) => untilLateMs(child, now)).filter((wait) => wait > 0);
  const soonest = Math.min(...waits, untilOverdueMs(observed.pods, now) ?? Infinity);
  return soonest === Infinity ? undefined : soonest;
}

/**
 * The children to delete for a record that disappeared without a teardown, from all objects with its name label, except those to
 * be retained. The record was new, so nothing is in use and the order does not matter.
 */
export function orphanedChildren(
  left: Pick<Observed, 'record' | 'deletionDefault'>,
  named: readonly KubeObject[],
): readonly KubeObject[] {
  const { record } = left;
  const isData = isDataOf(record);
  return named.filter((object) => {
    if (!isOurs(object, left) || object.metadata.deletionTimestamp !== undefined) return false;
    if (staysAsArchive(object, left)) return false;
    if (isData(object)) return !keepsDatabase(left);
    return object.kind !== 'TracingProject' || record.spec.tracingProjectDeletionPolicy === 'Delete';
  });
}

/** Whether an object is a volume of the record, one that it was moved from included, or the password that opens it. */
function isDataOf({ metadata }: AppDeployment): (object: KubeObject) => boolean {
  return ({ kind, metadata: { name } }) => HOLDS_DATA.has(kind) && databaseNumberIn(metadata.name, name) !== undefined;
}

/**
 * What the step of PostgreSQL waits for. With a Cluster, CloudNativePG deletes its volumes: so one that is to be kept is hibernated
 * instead, and nothing waits for its pods, which end when its operator has seen that and the Cluster is healthy.
 */
function databaseObjects(observed: Observed, ours: readonly KubeObject[]): readonly KubeObject[] {
  const { name } = observed.record.metadata;
  const isData = isDataOf(observed.record);
  const clusters = ours.filter((child) => child.kind === 'Cluster' && isData(child));
  const isKept = keepsDatabase(observed);
  const isOfSome = (pod: KubeObject): boolean => clusters.some(({ metadata }) => isOfCluster(pod, metadata.name));
  return [
    ...ours.filter((child) => componentOf(child) === 'postgres' && !isData(child) && !isOfArchive(child, name)),
    ...clusters.filter((cluster) => !isKept || !isHibernated(cluster)),
    ...podsWith(observed, 'postgres').filter((pod) => !isKept || !isOfSome(pod)),
  ];
}

/** `rest`: what is left besides objects. */
type Step = readonly [
  waitsFor: string,
  objects: readonly KubeObject[],
  rest?: Pick<TeardownStep, 'hindrance' | 'mark'> | undefined,
];

function stepsOf(observed: Observed): readonly Step[] {
  const { record } = observed;
  const ours = observed.children.filter((child) => isOurs(child, observed));
  const dropsTracing = record.spec.tracingProjectDeletionPolicy === 'Delete';
  const isData = isDataOf(record);
  // The facade created the values before the record had a uid, so they are identified by name and label. Those that neither the
  // record nor a revision names may be for the next record of this name; secret-garbage.ts judges them.
  const named = valuesNamed([record], observed.revisions);
  const values = observed.children.filter(
    (child) =>
      child.kind === 'Secret' &&
      child.metadata.labels?.[VARIABLES_LABEL] !== undefined &&
      named.has(child.metadata.name) &&
      observed.namedByOthers?.has(child.metadata.name) !== true,
  );
  const mark = usedLastOf(observed);
  return [
    // While the Job that loads a backup is there, and says whether it has.
    ['the mark of the database that it used last', [], mark && { mark }],
    ['its address', ours.filter((child) => ADDRESS_KINDS.has(child.kind))],
    ['its workloads', [...ours.filter((child) => hasImage(componentOf(child))), ...podsWhere(observed, hasImage)]],
    ['Redis', [...ours.filter((child) => componentOf(child) === 'redis'), ...podsWith(observed, 'redis')]],
    ['PostgreSQL', databaseObjects(observed, ours), clusterOutOfReach(observed)],
    [
      'the PostgreSQL volume and password',
      // The garbage collector deletes those of a Cluster too, later.
      keepsDatabase(observed)
        ? []
        : [...ours.filter(isData), ...volumesOfCluster(observed, record.status?.databaseVolumeUid)],
    ],
    ['its remaining objects', ours.filter((child) => !isData(child) && !staysAsArchive(child, observed))],
    ['its secret values', values],
    ['its revisions', observed.revisions],
    ['its tracing project', dropsTracing && observed.tracingProject ? [observed.tracingProject] : []],
  ];
}

/** The archive outlives the record, as a backup does. A Cluster that is kept still names what else there is of it. */
function staysAsArchive(object: KubeObject, left: Pick<Observed, 'record' | 'deletionDefault'>): boolean {
  if (!isOfArchive(object, left.record.metadata.name)) return false;
  return isArchiveOf(object, left.record) || keepsDatabase(left);
}

function hasImage(component: string | undefined): boolean {
  return component !== undefined && !STORE_PARTS.some((store) => store === component);
}

function podsWith(observed: Pick<ObservedChildren, 'pods'>, component: string): readonly KubeObject[] {
  return podsWhere(observed, (one) => one === component);
}

function podsWhere(
  { pods }: Pick<ObservedChildren, 'pods'>,
  isMeant: (component: string | undefined) => boolean,
): readonly KubeObject[] {
  return pods.filter((pod) => isMeant(componentOf(pod)) && isControlled(pod));
}
