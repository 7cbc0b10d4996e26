// Deletes a record with the caller's token.

import type { Caller } from '../../api/authorization.ts';
import { changeObject } from '../../api/change-object.ts';
import type { FacadeContext } from '../../api/collection.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { FACADE_FIELD_MANAGER } from '../../kinds/meta.ts';
import { Conflict, Invalid, NotFound } from '../../runtime/errors.ts';
import type { HttpError } from '../../runtime/http/http-error.ts';
import { etagOf, type Precondition } from '../../runtime/http/preconditions.ts';
import { notFound } from './reading.ts';
import { needUnchanged } from './update.ts';

export interface RemoveOptions extends Pick<FacadeContext, 'remember' | 'forget'> {
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
    if (withTracingProject && record.spec.tracingProjectDeletionPolicy !== 'Delete') {
      const patch = { metadata: { uid, ...seen }, spec: { tracingProjectDeletionPolicy: 'Delete' } };
      const written = await caller.kube.mergePatch<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }, patch, {
        fieldManager: FACADE_FIELD_MANAGER,
      });
      remember(written);
      ours = etagOf(written);
      seen &&= { resourceVersion: written.metadata.resourceVersion ?? '' };
    }
    const left = await caller.kube.remove(APP_DEPLOYMENTS, { namespace, name }, { uid, ...seen });
    if (left === undefined) forget(uid);
    else remember(left);
  };
  const missing = (): HttpError => notFound(id);
  try {
    if (precondition === undefined) await removeOne(cached);
    else {
      const concerning = { remember, forget, missing };
      await changeObject(
        caller,
        [APP_DEPLOYMENTS, `Deployment "${cached.metadata.name}"`],
        cached,
        removeOne,
        concerning,
      );
    }
  } catch (error) {
    if (!isGoneOrAnother(error)) throw error;
    forget(cached.metadata.uid ?? id);
    throw missing();
  }
}

/** The object is gone, or another object has its name. */
function isGoneOrAnother(error: unknown): boolean {
  if (error instanceof Invalid) return error.causes.some(({ field }) => field === 'metadata.uid');
  return error instanceof NotFound || error instanceof Conflict;
}
