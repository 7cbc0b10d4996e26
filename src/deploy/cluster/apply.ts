// Executes a plan against the API server. Foreign objects are never changed or deleted.

import { createHash } from 'node:crypto';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision, AppRevisionSpec } from '../../kinds/app-revision.ts';
import { APPLIED_ANNOTATION, DEPLOYMENT_UID_LABEL, FIELD_MANAGER, HAND_OVER_MANAGER } from '../../kinds/meta.ts';
import { overlayWrite, placeOf } from '../../runtime/controller/cluster.ts';
import { AlreadyExists, Conflict, Invalid, undefinedIfNotFound } from '../../runtime/errors.ts';
import type { KubeObject, Resource } from '../../runtime/kube/client.ts';
import { type ActionFailure, refTo, type Workload } from '../assess/observed.ts';
import { makeRevision } from '../children/app-revision.ts';
import { repairPatch } from '../plan/drift-repair.ts';
import { type Action, nameConflict, SCALING_KINDS } from '../plan/plan.ts';
import { names } from '../record/names.ts';
import type { Cluster } from './cluster.ts';
import { deleteObjects } from './delete.ts';
import { failureOf } from './failures.ts';
import { leaveToApplies } from './own-updates.ts';
import { settleAll, settleFailures } from './settle-all.ts';

/**
 * Adds the digest of the manifest as an annotation, by which a later reconcile detects that a field was removed from
 * the manifest. The digest depends on the order of the JSON's keys, which is stable within a version of Davit. If
 * another version renders another order, every object is applied once more, which does not affect pods.
 */
export function withAppliedDigest(object: KubeObject): KubeObject {
  const digest = createHash('sha256').update(JSON.stringify(object)).digest('hex').slice(0, 16);
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [APPLIED_ANNOTATION]: digest } },
  };
}

/**
 * Applies all objects concurrently, and deletes unwanted ones only if every apply succeeded. Unwanted autoscalers and budgets are
 * deleted in any case: no pod needs them, and an autoscaler that stays undoes a fixed number of pods. Failed requests are
 * returned, not thrown, so that one failing child does not prevent the report of the others.
 */
export async function executePlan(
  actions: readonly Action[],
  record: AppDeployment,
  cluster: Cluster,
): Promise<ActionFailure[]> {
  const applies = actions.filter((action) => action.do === 'apply');
  const deletes = actions.filter((action) => action.do === 'delete').map((action) => action.object);
  const isScaling = ({ kind }: KubeObject): boolean => SCALING_KINDS.has(kind);
  const [refusals, unscaled] = await settleAll([
    settleFailures(applies.map((action) => applyOne(action, record, cluster))),
    deleteObjects(deletes.filter(isScaling), cluster),
  ]);
  if (refusals.length > 0) return [...refusals, ...unscaled];
  const others = deletes.filter((object) => !isScaling(object));
  return [...unscaled, ...(await deleteObjects(others, cluster))];
}

async function applyOne(
  { object: wanted, observed, handOverFloor }: Action & { readonly do: 'apply' },
  record: AppDeployment,
  cluster: Cluster,
): Promise<ActionFailure | undefined> {
  const resource = cluster.registry.resourceOf(wanted);
  try {
    if (handOverFloor !== undefined) await handOver(wanted, handOverFloor, resource, cluster);
    const object = observed
      ? await applyChild(wanted, observed, resource, cluster)
      : await createChild(wanted, resource, record, cluster);
    if (!object) return nameConflict(wanted);
    overlayWrite(cluster.caches, object);
    return undefined;
  } catch (error) {
    return { ...failureOf(error, refTo(wanted)), ...(!observed && { absent: true }) };
  }
}

// The cache holds only objects with Davit's label, so a foreign object may have the name. The create request detects
// that by a 409. If the record already has condition reason NameConflict, the object is read first, so that a retry
// sends no write.
async function createChild(
  wanted: KubeObject,
  resource: Resource,
  record: AppDeployment,
  cluster: Cluster,
): Promise<KubeObject | undefined> {
  const make = (): Promise<KubeObject> =>
    cluster.client.apply(resource, wanted, { fieldManager: FIELD_MANAGER, force: true, onlyCreate: true });
  if (!record.status?.conditions?.some(({ reason }) => reason === 'NameConflict')) {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
  }
  const there = await existing(wanted, resource, cluster);
  if (!there) return make();
  if (!wasMadeFor(record, there, wanted)) return undefined;
  const { uid = '' } = there.metadata;
  return applyChild({ ...wanted, metadata: { ...wanted.metadata, uid } }, undefined, resource, cluster);
}

function existing(wanted: KubeObject, resource: Resource, cluster: Cluster): Promise<KubeObject | undefined> {
  return cluster.client.get(resource, placeOf(wanted)).catch(undefinedIfNotFound);
}

// If the API server rejects a manifest that it accepted before, another field manager's change is the cause: repair it,
// then apply again. Of another manifest a dry run of the repair tells whose fault it is.
async function applyChild(
  object: KubeObject,
  observed: KubeObject | undefined,
  resource: Resource,
  { client }: Cluster,
): Promise<KubeObject> {
  const apply = (): Promise<KubeObject> => client.apply(resource, object, { fieldManager: FIELD_MANAGER, force: true });
  const made = await apply().catch(async (error: unknown) => {
    if (!(error instanceof Invalid) || !observed) throw error;
    const repair = (dryRun: boolean): Promise<KubeObject> =>
      client.mergePatch(resource, placeOf(object), repairPatch(object, observed), {
        fieldManager: FIELD_MANAGER,
        dryRun,
      });
    if (!hasDigestOf(object, observed)) await repair(true).catch(() => Promise.reject(error));
    await repair(false);
    return apply();
  });
  return (await leaveToApplies(made, resource, client)) ? apply() : made;
}

// Transfers `spec.replicas` to a separate field manager before Davit stops owning the field. The object is read live
// and applied with its resourceVersion, because an outdated number would scale down what an autoscaler has scaled up
// since.
async function handOver(wanted: KubeObject, floor: number, resource: Resource, cluster: Cluster): Promise<void> {
  const there = await cluster.client.get<Workload>(resource, placeOf(wanted));
  const { name, namespace, uid, resourceVersion } = { ...there.metadata, ...wanted.metadata };
  const replicas = Math.max(there.spec?.replicas ?? 1, floor);
  const held = {
    apiVersion: wanted.apiVersion,
    kind: wanted.kind,
    metadata: { name, namespace, uid, resourceVersion },
    spec: { replicas },
  } as KubeObject;
  await cluster.client.apply(resource, held, { fieldManager: HAND_OVER_MANAGER, force: true });
}

// If a person removed the object's labels, the cache does not have it. The owner reference still identifies it, and so
// does the digest of the manifest, which contains the record's uid.
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

/** Creates an object that is never changed afterwards. Returns undefined if a foreign object has its name. */
export async function createOnce<T extends KubeObject>(
  object: T,
  record: AppDeployment,
  cluster: Cluster,
): Promise<T | undefined> {
  const resource = cluster.registry.resourceOf(object);
  let made: T;
  try {
    made = await cluster.client.create(resource, object, { fieldManager: FIELD_MANAGER });
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
    // The cache may not show an object that Davit created just before, for example before a crash.
    made = await cluster.client.get<T>(resource, placeOf(object));
    if (made.metadata.labels?.[DEPLOYMENT_UID_LABEL] !== record.metadata.uid) return undefined;
  }
  overlayWrite(cluster.caches, made);
  return made;
}

/**
 * Creates the revision. An id is unique, but a name has only its first eight digits: if another revision of the record has that
 * name, this one gets a longer name.
 */
export async function makeRevisionOnce(
  record: AppDeployment,
  spec: AppRevisionSpec,
  cluster: Cluster,
): Promise<AppRevision | ActionFailure> {
  const made = await makeOnce(makeRevision(record, spec), record, cluster);
  if ('reason' in made || made.spec.id === spec.id) return made;
  return makeOnce(makeRevision(record, spec, names(record.metadata.name).longRevision(spec.id)), record, cluster);
}

/** Same as createOnce, but returns a failed request or a name conflict as an ActionFailure. */
export async function makeOnce<T extends KubeObject>(
  object: T,
  record: AppDeployment,
  cluster: Cluster,
): Promise<T | ActionFailure> {
  try {
    return (await createOnce(object, record, cluster)) ?? nameConflict(object);
  } catch (error) {
    return failureOf(error, refTo(object), 'create');
  }
}
