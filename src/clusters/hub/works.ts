// Writes the work of one record in the hub's namespace of its Listener, with copies of its Secrets of values, and removes both.

import { isDeepStrictEqual } from 'node:util';
import { withAppliedDigest } from '../../deploy/cluster/apply.ts';
import type { Cluster } from '../../deploy/cluster/cluster.ts';
import { namespaceOf, uidOf } from '../../deploy/record/metadata.ts';
import { holdsValuesOf } from '../../deploy/record/names.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { Listener } from '../../kinds/listener.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../kinds/listener-work.ts';
import { FIELD_MANAGER, LISTENER_COPY_LABEL, REMOTE_FINALIZER } from '../../kinds/meta.ts';
import { overlayWrite, placeOf } from '../../runtime/controller/cluster.ts';
import { Terminal, undefinedIfNotFound } from '../../runtime/errors.ts';
import { SECRETS } from '../../runtime/kube/api-resources.ts';
import type { SecretObject } from '../../runtime/kube/client.ts';
import { applyOrReplace } from '../../runtime/kube/immutable-secret.ts';
import { crossingSecrets, makeCopy, makeWork, pausedWork } from './objects.ts';

export interface WorkTarget {
  readonly listener: Listener;
  readonly clusterId: string;
  readonly hubId: string;
  readonly tenantId: string;
}

/** Writes the work if it is not what the record wants, after the copies of its Secrets. Steady state writes nothing. */
export async function ensureWork(
  record: AppDeployment,
  existing: ListenerWork | undefined,
  target: WorkTarget,
  home: Cluster,
): Promise<void> {
  const namespace = namespaceOf(record);
  const names = crossingSecrets(record);
  const versions = new Map(
    names.flatMap((name) => {
      const secret = home.caches.secrets.get({ namespace, name })?.metadata;
      return secret === undefined ? [] : [[name, `${secret.uid}/${secret.resourceVersion}`] as const];
    }),
  );
  const wanted = makeWork(record, { ...target, versions });
  if (existing !== undefined && isDeepStrictEqual(existing.spec, wanted.spec)) return;
  const copied = new Map(existing?.spec.secrets?.map(({ name, version }) => [name, version]));
  for (const { name, version } of wanted.spec.secrets ?? []) {
    if (copied.get(name) !== version) await copySecret(record, target.listener, name, home);
  }
  await writeWork(wanted, existing?.metadata.uid, home);
  const kept = new Set((wanted.spec.secrets ?? []).map(({ copy }) => copy));
  if (existing?.spec.secrets?.some(({ copy }) => !kept.has(copy))) await removeCopies(wanted, kept, home);
}

/** Hands over the pause of a record, and nothing else of it. */
export async function pauseWork(work: ListenerWork, home: Cluster): Promise<void> {
  if (work.spec.paused !== true) await writeWork(pausedWork(work), work.metadata.uid, home);
}

/** `uid`: of the work that is there. */
async function writeWork(wanted: ListenerWork, uid: string | undefined, home: Cluster): Promise<void> {
  const object = withAppliedDigest(wanted);
  const written = await home.client.apply(
    LISTENER_WORKS,
    uid === undefined ? object : { ...object, metadata: { ...object.metadata, uid } },
    { fieldManager: FIELD_MANAGER, force: true, ...(uid === undefined && { onlyCreate: true }) },
  );
  overlayWrite(home.caches, written);
}

async function copySecret(record: AppDeployment, listener: Listener, name: string, home: Cluster): Promise<void> {
  const secret = await home.client
    .get<SecretObject>(SECRETS, { namespace: namespaceOf(record), name })
    .catch(undefinedIfNotFound);
  if (secret === undefined) return;
  const mayNameUnread = holdsValuesOf(record.metadata.name, name);
  if ((secret.type ?? 'Opaque') !== 'Opaque' || (mayNameUnread && secret.immutable !== true))
    throw new Terminal(`copy Secret ${name}: a Secret of values is Opaque, and immutable where Davit names it`);
  const copy = makeCopy(record, listener, name, secret);
  await applyOrReplace(home.client, copy, { fieldManager: FIELD_MANAGER, force: true });
}

/** Deletes the copies of Secrets for this work, except those in `kept`. */
async function removeCopies({ metadata }: ListenerWork, kept: ReadonlySet<string>, home: Cluster): Promise<void> {
  const { namespace = '', name } = metadata;
  const labelSelector = `${LISTENER_COPY_LABEL}=${name}`;
  const { items } = await home.client.listAll(SECRETS, { namespace, labelSelector, metadataOnly: true });
  for (const { metadata: copy } of items) {
    if (kept.has(copy.name)) continue;
    await home.client
      .remove(
        SECRETS,
        { namespace, name: copy.name },
        { uid: copy.uid ?? '', resourceVersion: copy.resourceVersion ?? '' },
      )
      .catch(undefinedIfNotFound);
  }
}

/** A work that asks the cluster to delete what it has of a record, where that record's own was lost. */
export async function makeRemoval(record: AppDeployment, target: WorkTarget, home: Cluster): Promise<ListenerWork> {
  const work = makeWork(record, { ...target, versions: new Map() });
  const removal: ListenerWork = { ...work, spec: { ...work.spec, removed: true } };
  const written = await home.client.apply(LISTENER_WORKS, withAppliedDigest(removal) as ListenerWork, {
    fieldManager: FIELD_MANAGER,
    force: true,
    onlyCreate: true,
  });
  overlayWrite(home.caches, written);
  return written;
}

/** Asks the cluster to delete what it has of this work: the finalizer keeps it until the cluster has reported that. */
export async function removeWork(work: ListenerWork, home: Cluster): Promise<void> {
  if (work.spec.removed !== true) {
    const { uid, resourceVersion } = work.metadata;
    const patch = { metadata: { uid, resourceVersion }, spec: { removed: true } };
    const asked = await home.client
      .mergePatch<ListenerWork>(LISTENER_WORKS, placeOf(work), patch, { fieldManager: FIELD_MANAGER })
      .catch(undefinedIfNotFound);
    if (asked === undefined) return;
    overlayWrite(home.caches, asked);
  }
  if (work.metadata.deletionTimestamp !== undefined) return;
  const left = await home.client
    .remove(LISTENER_WORKS, placeOf(work), { uid: work.metadata.uid ?? '' })
    .catch(undefinedIfNotFound);
  if (left !== undefined) overlayWrite(home.caches, left);
}

/** Whether the cluster that the work is for has reported that it has nothing of it any more. */
export function isGone({ metadata, spec, status }: ListenerWork): boolean {
  return metadata.deletionTimestamp !== undefined && status?.gone === true && status.clusterId === spec.clusterId;
}

/** Lets go of a work that the cluster has deleted, with the copies of its Secrets. */
export async function releaseWork(work: ListenerWork, home: Cluster): Promise<void> {
  await removeCopies(work, new Set(), home);
  await dropFinalizer(work, home);
}

/** Lets go of a work that its record makes again. What the cluster has stays meanwhile. */
export async function dropFinalizer(work: ListenerWork, home: Cluster): Promise<void> {
  const { uid, resourceVersion, finalizers = [] } = work.metadata;
  const left = finalizers.filter((name) => name !== REMOTE_FINALIZER);
  // Another holds it.
  if (left.length === finalizers.length) return;
  await home.client
    .mergePatch(
      LISTENER_WORKS,
      placeOf(work),
      { metadata: { uid, resourceVersion, finalizers: left } },
      { fieldManager: FIELD_MANAGER },
    )
    .catch(undefinedIfNotFound);
}

/** The name of the work is the record's uid. */
export function workOf(
  record: AppDeployment,
  namespace: string,
): { readonly namespace: string; readonly name: string } {
  return { namespace, name: uidOf(record) };
}
