// Performs a plan against the API server. Nothing that isn't ours is ever merged into, overwritten or deleted.

import { createHash, randomBytes } from 'node:crypto';
import type { AppDeployment } from '../../api/app-deployment.ts';
import {
  APPLIED_ANNOTATION,
  DEPLOYMENT_UID_LABEL,
  FIELD_MANAGER,
  HAND_OVER_MANAGER,
  type StorePart,
} from '../../api/meta.ts';
import { isKnownClaim, isVolumeMissing, volumeMissing, volumeTrouble } from '../../decide/assess/database-volume.ts';
import { repairPatch } from '../../decide/children/drift-repair.ts';
import { passwordLost, passwordState } from '../../decide/children/passwords.ts';
import { type Action, nameConflict } from '../../decide/children/plan.ts';
import { type ActionFailure, isOurs, type Observed, refTo, type Workload } from '../../decide/observed.ts';
import { AlreadyExists, Conflict, Invalid, NotFound } from '../../errors.ts';
import { PERSISTENT_VOLUME_CLAIMS, PODS, type ResourceRegistry, SECRETS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject, ObjectRef, Resource } from '../../kube/client.ts';
import { names } from '../../record/names.ts';
import { postgresSecret, redisSecret } from '../../resources/secrets.ts';
import { type Caches, overlayWrite } from './caches.ts';
import { failureOf } from './failures.ts';
import { settleAll } from './settle-all.ts';

export interface Cluster {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly registry: ResourceRegistry;
}

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
  const outcomes = await settleAll(applies.map((action) => applyOne(action, record, shell)));
  const refusals = outcomes.filter((refusal) => refusal !== undefined);
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
    return await shell.client.get(resource, refOf(wanted));
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
    await shell.client.mergePatch(resource, refOf(object), patch, { fieldManager: FIELD_MANAGER });
    return apply();
  }
}

// Looked at live, and applied only to just this version: a number from before would be a dip if an autoscaler has
// raised it since.
async function handOver(wanted: KubeObject, floor: number, resource: Resource, shell: Cluster): Promise<void> {
  const there = await shell.client.get<Workload>(resource, refOf(wanted));
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

function refOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { ...(namespace !== undefined && { namespace }), name };
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
    made = await shell.client.get<T>(resource, refOf(object));
    if (made.metadata.labels?.[DEPLOYMENT_UID_LABEL] !== record.metadata.uid) return undefined;
  }
  overlayWrite(shell.caches, made);
  return made;
}

const PASSWORD_SECRETS = { postgres: postgresSecret, redis: redisSecret };

/** Makes the password Secret of a store where it was never made. A password once made is never made anew. */
export async function ensurePassword(
  store: StorePart,
  observed: Observed,
  shell: Cluster,
): Promise<ActionFailure | undefined> {
  const state = passwordState(store, observed);
  if (state === 'there') return undefined;
  const secret = PASSWORD_SECRETS[store](observed.record, randomBytes(24).toString('base64url'));
  if (state === 'foreign') return nameConflict(secret);
  if (state === 'lost') return lookForPassword(store, refOf(secret), observed, shell);
  const made = await makeOnce(secret, observed.record, shell);
  return 'reason' in made ? made : undefined;
}

// The cache of Secrets may lag behind that of what they open, and holds none without labels.
async function lookForPassword(
  store: StorePart,
  ref: ObjectRef,
  observed: Observed,
  shell: Cluster,
): Promise<ActionFailure | undefined> {
  try {
    const found = await shell.client.get(SECRETS, ref, { metadataOnly: true });
    return isOurs(found, observed) ? undefined : passwordLost(store, observed, found);
  } catch (error) {
    if (error instanceof NotFound) return passwordLost(store, observed, undefined);
    return failureOf(error, { kind: 'Secret', name: ref.name }, 'read');
  }
}

/** Why the volume of the own PostgreSQL cannot be used, or must not be replaced by an empty one. */
export async function volumeRefusals(observed: Observed, shell: Cluster): Promise<ActionFailure[]> {
  const trouble = volumeTrouble(observed);
  if (trouble) return [trouble];
  if (!isVolumeMissing(observed)) return [];
  const { namespace = '', name } = observed.record.metadata;
  const ref = { namespace, name: names(name).postgresClaim };
  try {
    // The cache of volumes may lag behind, and holds none without labels.
    const found = await shell.client.get(PERSISTENT_VOLUME_CLAIMS, ref);
    return isKnownClaim(found, observed) ? [] : [volumeMissing(observed, found)];
  } catch (error) {
    if (error instanceof NotFound) return [volumeMissing(observed, undefined)];
    return [{ ...failureOf(error, { kind: 'PersistentVolumeClaim', name: ref.name }, 'read'), absent: true }];
  }
}

/**
 * Makes objects that an earlier deployment has left this record's, one after the other. Each is changed only as it was
 * seen, by uid and version.
 */
export async function adoptObjects(
  objects: readonly KubeObject[],
  record: AppDeployment,
  shell: Cluster,
): Promise<{ readonly taken: readonly KubeObject[]; readonly refusals: readonly ActionFailure[] }> {
  const taken: KubeObject[] = [];
  for (const object of objects) {
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, labels: { [DEPLOYMENT_UID_LABEL]: record.metadata.uid } } };
    try {
      // oxlint-disable-next-line no-await-in-loop -- the password before the volume that it opens
      const now = await shell.client.mergePatch(shell.registry.resourceOf(object), refOf(object), patch, {
        fieldManager: FIELD_MANAGER,
      });
      overlayWrite(shell.caches, now);
      taken.push(now);
    } catch (error) {
      return { taken, refusals: [failureOf(error, refTo(object), 'take up')] };
    }
  }
  return { taken, refusals: [] };
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

/** Deletes these pods, each only as it was seen: one that has started since is left alone, and looked at again. What failed comes back. */
export async function removePods(pods: readonly KubeObject[], shell: Cluster): Promise<ActionFailure[]> {
  const outcomes = await settleAll(
    pods.map(async (pod): Promise<ActionFailure | undefined> => {
      const { uid = '', resourceVersion = '' } = pod.metadata;
      try {
        const left = await shell.client.remove(PODS, refOf(pod), { uid, resourceVersion });
        if (left) overlayWrite(shell.caches, left);
      } catch (error) {
        if (!(error instanceof NotFound)) return failureOf(error, refTo(pod), 'delete');
      }
      return undefined;
    }),
  );
  return outcomes.filter((refusal) => refusal !== undefined);
}

/** What a person may have changed or put back since it was seen, and what cannot be had again: deleted only as it was seen. */
const DELETED_AS_SEEN: ReadonlySet<string> = new Set(['Secret', 'PersistentVolumeClaim']);
/** Whose dependents are pods: these must be gone before what they use is. */
const WITH_DEPENDENTS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

/**
 * Deletes exactly these objects; one that is gone already is fine. Workloads go with their dependents first. The others
 * have none that matter, and their deletion must not wait for the garbage collector: of a new CRD's objects it knows
 * nothing for up to 30 s. What failed comes back.
 */
export async function deleteObjects(objects: readonly KubeObject[], shell: Cluster): Promise<ActionFailure[]> {
  const outcomes = await settleAll(
    objects.map(async (object): Promise<ActionFailure | undefined> => {
      const { uid = '', resourceVersion } = object.metadata;
      try {
        const left = await shell.client.remove(shell.registry.resourceOf(object), refOf(object), {
          uid,
          ...(DELETED_AS_SEEN.has(object.kind) && resourceVersion !== undefined && { resourceVersion }),
          propagationPolicy: WITH_DEPENDENTS.has(object.kind) ? 'Foreground' : 'Background',
        });
        if (left) overlayWrite(shell.caches, left);
      } catch (error) {
        if (!(error instanceof NotFound)) return failureOf(error, refTo(object), 'delete');
      }
      return undefined;
    }),
  );
  return outcomes.filter((refusal) => refusal !== undefined);
}
