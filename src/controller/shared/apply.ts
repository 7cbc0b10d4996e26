// Performs a plan against the API server. Nothing that isn't ours is ever merged into, overwritten or deleted.

import { createHash } from 'node:crypto';
import type { AppDeployment } from '../../api/app-deployment.ts';
import { APPLIED_ANNOTATION, DEPLOYMENT_UID_LABEL, FIELD_MANAGER, HAND_OVER_MANAGER } from '../../api/meta.ts';
import { repairPatch } from '../../decide/children/drift-repair.ts';
import { type Action, nameConflict } from '../../decide/children/plan.ts';
import { type ActionFailure, refTo, type Workload } from '../../decide/observed.ts';
import { AlreadyExists, Conflict, Invalid, NotFound } from '../../errors.ts';
import type { KubeObject, Resource } from '../../kube/client.ts';
import { overlayWrite } from './caches.ts';
import { type Cluster, placeOf } from './cluster.ts';
import { deleteObjects } from './delete.ts';
import { failureOf } from './failures.ts';
import { settleFailures } from './settle-all.ts';

/**
 * Adds the digest by which a later look knows that exactly this was applied, so that a dropped field is noticed. Of the
 * JSON as it is rendered: the same code makes it in the same order of the same revision, in which the API server has
 * sorted all keys. Where another version renders in another order, everything is applied once more, and no pod notices.
 */
export function withAppliedDigest(object: KubeObject): KubeObject {
  const digest = createHash('sha256').update(JSON.stringify(object)).digest('hex').slice(0, 16);
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [APPLIED_ANNOTATION]: digest } },
  };
}

/**
 * Applies everything at once, and deletes what is no longer wanted only if every apply went well. What failed comes back
 * as refusals: one child whose requests fail must not keep what is known of the others from being reported.
 */
export async function executePlan(
  actions: readonly Action[],
  record: AppDeployment,
  shell: Cluster,
): Promise<ActionFailure[]> {
  const applies = actions.filter((action) => action.do === 'apply');
  const refusals = await settleFailures(applies.map((action) => applyOne(action, record, shell)));
  if (refusals.length > 0) return refusals;
  return deleteObjects(
    actions.filter((action) => action.do === 'delete').map((action) => action.object),
    shell,
  );
}

async function applyOne(
  { object: wanted, observed, handOverFloor }: Action & { readonly do: 'apply' },
  record: AppDeployment,
  shell: Cluster,
): Promise<ActionFailure | undefined> {
  const resource = shell.registry.resourceOf(wanted);
  try {
    if (handOverFloor !== undefined) await handOver(wanted, handOverFloor, resource, shell);
    const object = observed
      ? await applied(wanted, observed, resource, shell)
      : await madeAnew(wanted, resource, record, shell);
    if (!object) return nameConflict(wanted);
    overlayWrite(shell.caches, object);
    return undefined;
  } catch (error) {
    return { ...failureOf(error, refTo(wanted)), ...(!observed && { absent: true }) };
  }
}

// The cache holds only objects with our label: another may be in the way. The API server tells, in the same request
// that would make it; only where it did before is it looked at first, so that waiting writes nothing.
async function madeAnew(
  wanted: KubeObject,
  resource: Resource,
  record: AppDeployment,
  shell: Cluster,
): Promise<KubeObject | undefined> {
  const make = (): Promise<KubeObject> =>
    shell.client.apply(resource, wanted, { fieldManager: FIELD_MANAGER, force: true, onlyCreate: true });
  if (!record.status?.conditions?.some(({ reason }) => reason === 'NameConflict')) {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
  }
  const there = await inTheWay(wanted, resource, shell);
  if (!there) return make();
  if (!wasMadeFor(record, there, wanted)) return undefined;
  const { uid = '' } = there.metadata;
  return applied({ ...wanted, metadata: { ...wanted.metadata, uid } }, undefined, resource, shell);
}

async function inTheWay(wanted: KubeObject, resource: Resource, shell: Cluster): Promise<KubeObject | undefined> {
  try {
    return await shell.client.get(resource, placeOf(wanted));
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    throw error;
  }
}

// Of what is refused though just this was applied before, it is what others have put in its place that is refused.
async function applied(
  object: KubeObject,
  observed: KubeObject | undefined,
  resource: Resource,
  shell: Cluster,
): Promise<KubeObject> {
  const apply = (): Promise<KubeObject> =>
    shell.client.apply(resource, object, { fieldManager: FIELD_MANAGER, force: true });
  try {
    return await apply();
  } catch (error) {
    if (!(error instanceof Invalid) || !observed || !hasDigestOf(object, observed)) throw error;
    const patch = repairPatch(object, observed);
    await shell.client.mergePatch(resource, placeOf(object), patch, { fieldManager: FIELD_MANAGER });
    return apply();
  }
}

// Looked at live, and applied only to just this version: a number from before would be a dip if an autoscaler has
// raised it since.
async function handOver(wanted: KubeObject, floor: number, resource: Resource, shell: Cluster): Promise<void> {
  const there = await shell.client.get<Workload>(resource, placeOf(wanted));
  const { name, namespace, uid, resourceVersion } = { ...there.metadata, ...wanted.metadata };
  const replicas = Math.max(there.spec?.replicas ?? 1, floor);
  const held = {
    apiVersion: wanted.apiVersion,
    kind: wanted.kind,
    metadata: { name, namespace, uid, resourceVersion },
    spec: { replicas },
  } as KubeObject;
  await shell.client.apply(resource, held, { fieldManager: HAND_OVER_MANAGER, force: true });
}

// A person may have taken its labels off, so that the cache has lost it. Its owner tells, or the digest of just what is
// to be applied again, in which the record's uid is.
function wasMadeFor(record: AppDeployment, there: KubeObject, wanted: KubeObject): boolean {
  const { uid } = record.metadata;
  const { labels, ownerReferences = [] } = there.metadata;
  return (
    labels?.[DEPLOYMENT_UID_LABEL] === uid ||
    ownerReferences.some((owner) => owner.uid === uid) ||
    hasDigestOf(wanted, there)
  );
}

function hasDigestOf(wanted: KubeObject, there: KubeObject): boolean {
  const digest = there.metadata.annotations?.[APPLIED_ANNOTATION];
  return digest !== undefined && digest === wanted.metadata.annotations?.[APPLIED_ANNOTATION];
}

/** Makes an object that is never changed afterwards. Undefined if one of that name is there and isn't ours. */
export async function createOnce<T extends KubeObject>(
  object: T,
  record: AppDeployment,
  shell: Cluster,
): Promise<T | undefined> {
  const resource = shell.registry.resourceOf(object);
  let made: T;
  try {
    made = await shell.client.create(resource, object, { fieldManager: FIELD_MANAGER });
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
    // Made a moment ago, by ourselves before a crash, or by somebody else.
    made = await shell.client.get<T>(resource, placeOf(object));
    if (made.metadata.labels?.[DEPLOYMENT_UID_LABEL] !== record.metadata.uid) return undefined;
  }
  overlayWrite(shell.caches, made);
  return made;
}

/** As createOnce; a failure, and a foreign object in the way, come back as a refusal. */
export async function makeOnce<T extends KubeObject>(
  object: T,
  record: AppDeployment,
  shell: Cluster,
): Promise<T | ActionFailure> {
  try {
    return (await createOnce(object, record, shell)) ?? nameConflict(object);
  } catch (error) {
    return failureOf(error, refTo(object), 'create');
  }
}
