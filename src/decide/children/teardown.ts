// The visible end of a record: what is deleted next. Address, workloads, Redis, database, values, revisions, tracing
// project; each step waits until the one before it is really gone.

import type { AppDeployment } from '../../api/app-deployment.ts';
import { COMPONENT_LABEL, ROLES, VARIABLES_LABEL } from '../../api/meta.ts';
import type { KubeObject } from '../../kube/client.ts';
import { names } from '../../record/names.ts';
import { ADDRESS_KINDS } from '../assess/address.ts';
import { isOurs, type Observed, type Pod } from '../observed.ts';
import { howToRelease, isControlled, said, untilOverdueMs } from '../terminating-pods.ts';

export interface TeardownStep {
  /** What is being waited for, for people. */
  readonly waitsFor: string;
  /** To be deleted now: those of the step that are not going already. */
  readonly remove: readonly KubeObject[];
  /** What a person has to do so that the teardown continues. Absent if it continues automatically. */
  readonly hindrance?: string;
}

/** A claim that nothing uses goes within moments. */
const CLAIM_GOES_WITHIN_MS = 60_000;

/** The first step with something left, or undefined when nothing is left and the finalizer can go. */
export function nextStep(observed: Observed, now: Date): TeardownStep | undefined {
  for (const [waitsFor, objects] of stepsOf(observed)) {
    if (objects.length === 0) continue;
    const pods = objects.filter(({ kind }) => kind === 'Pod') as readonly Pod[];
    const hindrance = hindranceOf(objects, pods, observed, now);
    return {
      waitsFor: `${waitsFor}${namesOf(pods)}`,
      remove: objects.filter((object) => object.kind !== 'Pod' && !object.metadata.deletionTimestamp),
      ...(hindrance !== undefined && { hindrance }),
    };
  }
  return undefined;
}

/** Those that take longest to go first: whoever reads this has been waiting. */
function namesOf(pods: readonly Pod[]): string {
  const [first, ...others] = pods.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
  if (!first) return '';
  return ` (${said(first)}${others.length > 0 ? ` and ${others.length} more` : ''})`;
}

function rank({ overdue }: Pod): number {
  return overdue ? 0 : 1;
}

function hindranceOf(
  objects: readonly KubeObject[],
  pods: readonly Pod[],
  { pods: all }: Observed,
  now: Date,
): string | undefined {
  const overdue = pods.find((pod) => pod.overdue);
  if (overdue) return howToRelease(overdue);
  const claim = objects.find(({ kind }) => kind === 'PersistentVolumeClaim');
  if (claim?.metadata.deletionTimestamp === undefined) return undefined;
  const { name, namespace, deletionTimestamp } = claim.metadata;
  const user = all.find((pod) =>
    pod.spec?.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === name),
  );
  if (user)
    return user.overdue
      ? howToRelease(user)
      : `PersistentVolumeClaim ${name} is used by ${said(user)}. Delete that pod.`;
  const isLate = now.getTime() - Date.parse(deletionTimestamp) > CLAIM_GOES_WITHIN_MS;
  return isLate
    ? `PersistentVolumeClaim ${name} is held by its finalizers. kubectl describe pvc ${name} -n ${namespace} shows the pods that use it.`
    : undefined;
}

/** Milliseconds until it is time to say why a step takes so long: no watch tells. */
export function untilHinderedMs(observed: Observed, now: Date): number | undefined {
  const claims = observed.children.filter((child) => child.kind === 'PersistentVolumeClaim' && isOurs(child, observed));
  const waits = claims.flatMap(({ metadata: { deletionTimestamp } }) => {
    const wait = Date.parse(deletionTimestamp ?? '') + CLAIM_GOES_WITHIN_MS - now.getTime();
    return wait >= 0 ? [wait + 1] : [];
  });
  const pods = untilOverdueMs(observed.pods, now);
  return Math.min(...waits, pods ?? Infinity) === Infinity ? undefined : Math.min(...waits, pods ?? Infinity);
}

/**
 * What is to be deleted, all at once, of a record that went without its teardown, out of all that bears its name: what was
 * made for it and is not kept. It was moments old, so nothing of it is in use, and nothing comes before anything.
 */
export function orphanedChildren(record: AppDeployment, named: readonly KubeObject[]): readonly KubeObject[] {
  const { spec } = record;
  const isData = dataOf(record);
  return named.filter((object) => {
    if (!isOurs(object, { record }) || object.metadata.deletionTimestamp !== undefined) return false;
    if (isData(object)) return spec.databaseDeletionPolicy !== 'Retain';
    return object.kind !== 'TracingProject' || spec.tracingProjectDeletionPolicy === 'Delete';
  });
}

/** Whether an object is the record's volume or the password that opens it. */
function dataOf({ metadata }: AppDeployment): (object: KubeObject) => boolean {
  const { postgresSecret, postgresClaim } = names(metadata.name);
  return ({ kind, metadata: { name } }) =>
    (kind === 'Secret' && name === postgresSecret) || (kind === 'PersistentVolumeClaim' && name === postgresClaim);
}

function stepsOf(observed: Observed): readonly (readonly [string, readonly KubeObject[]])[] {
  const { record } = observed;
  const ours = observed.children.filter((child) => isOurs(child, observed));
  const keepsDatabase = record.spec.databaseDeletionPolicy === 'Retain';
  const dropsTracing = record.spec.tracingProjectDeletionPolicy === 'Delete';
  const isData = dataOf(record);
  const database = [
    ...ours.filter((child) => componentOf(child) === 'postgres' && !isData(child)),
    ...podsWith(observed, 'postgres'),
  ];
  // Values were put there by the facade before the record had a uid: they are told by name and label alone.
  const values = observed.children.filter(
    (child) =>
      child.kind === 'Secret' &&
      child.metadata.labels?.[VARIABLES_LABEL] !== undefined &&
      observed.namedByOthers?.has(child.metadata.name) !== true,
  );
  return [
    ['its address', ours.filter((child) => ADDRESS_KINDS.has(child.kind))],
    [
      'its workloads',
      [...ours.filter((child) => isRole(componentOf(child))), ...ROLES.flatMap((role) => podsWith(observed, role))],
    ],
    ['Redis', [...ours.filter((child) => componentOf(child) === 'redis'), ...podsWith(observed, 'redis')]],
    ['PostgreSQL', database],
    ['the PostgreSQL volume and password', keepsDatabase ? [] : ours.filter(isData)],
    ['its remaining objects', ours.filter((child) => !isData(child))],
    ['its secret values', values],
    ['its revisions', observed.revisions],
    ['its tracing project', dropsTracing && observed.tracingProject ? [observed.tracingProject] : []],
  ];
}

function componentOf(child: KubeObject): string | undefined {
  return child.metadata.labels?.[COMPONENT_LABEL];
}

function isRole(component: string | undefined): boolean {
  return ROLES.some((role) => role === component);
}

function podsWith(observed: Observed, component: string): readonly KubeObject[] {
  return observed.pods.filter((pod) => componentOf(pod) === component && isControlled(pod));
}
