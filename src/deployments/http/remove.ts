// Deletes a record with the caller's token.

import { Conflict, Invalid, NotFound, Unavailable } from '../../lib/errors.ts';
import { changedMeanwhile, retryOnConflict } from '../../lib/http/merge-patch.ts';
import { etagOf, type Precondition } from '../../lib/http/preconditions.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import type { Caller } from '../../organization/facade/authorization.ts';
import type { FacadeContext } from '../../organization/facade/collection.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../schema/app-deployment.ts';
import { DELETED_BY_ANNOTATION, FACADE_FIELD_MANAGER } from '../../schema/meta.ts';
import { claimOfDeletion } from '../record/requester.ts';
import { notFound } from './reading.ts';
import { needUnchanged, reread } from './update.ts';

export interface RemoveOptions extends Pick<FacadeContext, 'remember' | 'forget' | 'log'> {
  readonly withTracingProject: boolean;
  readonly precondition: Precondition | undefined;
}

/** Starts the deletion, which continues after the answer. `cached` may be outdated. */
export async function removeRecord(
  caller: Caller,
  cached: AppDeployment,
  id: string,
  options: RemoveOptions,
): Promise<void> {
  const { remember, forget, withTracingProject, precondition } = options;
  // The version that this request itself wrote.
  let ours: string | undefined;
  const removeOne = async (record: AppDeployment): Promise<void> => {
    const { namespace = '', name, uid = id, resourceVersion = '' } = record.metadata;
    if (precondition !== undefined && etagOf(record) !== ours) needUnchanged(record, cached, precondition);
    // Without If-Match any version is deleted.
    let seen = precondition && { resourceVersion };
    let current = record;
    if (withTracingProject && record.spec.tracingProjectDeletionPolicy !== 'Delete') {
      const patch = { metadata: { uid, ...seen }, spec: { tracingProjectDeletionPolicy: 'Delete' } };
      const written = await caller.kube.mergePatch<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }, patch, {
        fieldManager: FACADE_FIELD_MANAGER,
      });
      remember(written);
      ours = etagOf(written);
      seen &&= { resourceVersion: written.metadata.resourceVersion ?? '' };
      current = written;
    }
    const claimed = await claimDeletion(caller, current, options);
    if (claimed) seen &&= { resourceVersion: claimed.metadata.resourceVersion ?? '' };
    const left = await removeOrTakeBack(caller, { namespace, name, uid, ...seen }, claimed);
    if (left === undefined) forget(uid);
    else remember(left);
  };
  try {
    if (precondition === undefined) await removeOne(cached);
    else await retryOnConflict(cached, removeOne, () => reread(caller, cached, remember));
  } catch (error) {
    if (error instanceof Conflict && precondition !== undefined)
      throw changedMeanwhile(`Deployment "${cached.metadata.name}"`);
    if (!isGoneOrAnother(error)) throw error;
    forget(cached.metadata.uid ?? id);
    throw notFound(id);
  }
}

/**
 * The record with the caller's claim of its deletion (ADR 42). Undefined where it cannot be written: a deletion is not refused because
 * nobody can say who asked. Throws Conflict where the caller asks for one version, and NotFound.
 */
async function claimDeletion(
  caller: Caller,
  record: AppDeployment,
  { remember, precondition, log }: RemoveOptions,
): Promise<AppDeployment | undefined> {
  const { username, kube } = caller;
  const { namespace = '', name } = record.metadata;
  const attempt = async (current: AppDeployment): Promise<AppDeployment | undefined> => {
    const annotations = username === undefined ? undefined : claimOfDeletion(current, username);
    if (annotations === undefined) return undefined;
    const { uid, resourceVersion } = current.metadata;
    const patch = { metadata: { uid, resourceVersion, annotations } };
    const written = await kube.mergePatch<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }, patch, {
      fieldManager: FACADE_FIELD_MANAGER,
    });
    remember(written);
    return written;
  };
  try {
    if (precondition !== undefined) return await attempt(record);
    return await retryOnConflict(record, attempt, () => reread(caller, record, remember));
  } catch (error) {
    if (error instanceof NotFound || (error instanceof Conflict && precondition !== undefined)) throw error;
    log.info({ namespace, name, err: error }, 'Who asks for a deletion could not be written into the deployment');
    return undefined;
  }
}

interface Removing {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** What is left of the record, if anything. A claim of a deletion that is refused is taken back, so that it is nobody else's. */
async function removeOrTakeBack(
  { kube }: Caller,
  { namespace, name, ...precondition }: Removing,
  claimed: AppDeployment | undefined,
): Promise<KubeObject | undefined> {
  const ref = { namespace, name };
  try {
    return await kube.remove(APP_DEPLOYMENTS, ref, precondition);
  } catch (error) {
    // Without an answer it may have been deleted.
    if (claimed && !(error instanceof Unavailable || error instanceof NotFound)) {
      const { uid, resourceVersion } = claimed.metadata;
      const patch = { metadata: { uid, resourceVersion, annotations: { [DELETED_BY_ANNOTATION]: null } } };
      // Another change has taken it back, or the policy lets nobody else use it.
      await kube.mergePatch(APP_DEPLOYMENTS, ref, patch, { fieldManager: FACADE_FIELD_MANAGER }).catch(() => undefined);
    }
    throw error;
  }
}

/** The object is gone, or another object has its name. */
function isGoneOrAnother(error: unknown): boolean {
  if (error instanceof Invalid) return error.causes.some(({ field }) => field === 'metadata.uid');
  return error instanceof NotFound || error instanceof Conflict;
}
