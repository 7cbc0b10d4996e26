// Changes and deletes an object with the caller's token, and has the caches know of it before the watch does.

import { Conflict, Forbidden, NotFound } from '../runtime/errors.ts';
import { changedMeanwhile, retryOnConflict } from '../runtime/http/merge-patch.ts';
import type { KubeObject, Resource } from '../runtime/kube/client.ts';
import type { Caller } from './authorization.ts';
import type { FacadeContext } from './collection.ts';

export interface Concerning extends Pick<FacadeContext, 'remember' | 'forget'> {
  /** The error where the object is gone, or another one has its name. */
  readonly missing: () => Error;
}

/**
 * Calls `attempt` again with the object of now after a Conflict, so no concurrent change is lost. `first` may be outdated. `what`: such as
 * `Deployment "shop"`.
 */
export async function changeObject<T extends KubeObject, R>(
  caller: Caller,
  [resource, what]: readonly [Resource, string],
  first: T,
  attempt: (current: T) => Promise<R>,
  { remember, forget, missing }: Concerning,
): Promise<R> {
  const { namespace = '', name, uid = '' } = first.metadata;
  async function reread(): Promise<T> {
    try {
      const found = await caller.kube.get<T>(resource, { namespace, name });
      if (found.metadata.uid !== uid) throw new NotFound(`get ${name}: another object has this name`);
      remember(found);
      return found;
    } catch (error) {
      // A caller who may write but not read cannot retry on the current object.
      if (error instanceof Forbidden) throw changedMeanwhile(what);
      throw error;
    }
  }
  try {
    return await retryOnConflict(first, attempt, reread);
  } catch (error) {
    if (error instanceof Conflict) throw changedMeanwhile(what);
    if (!(error instanceof NotFound)) throw error;
    forget(uid);
    throw missing();
  }
}

export async function removeObject(
  caller: Caller,
  resource: Resource,
  { metadata }: KubeObject,
  { remember, forget, missing }: Concerning,
): Promise<void> {
  const { namespace = '', name, uid = '' } = metadata;
  try {
    const left = await caller.kube.remove(resource, { namespace, name }, { uid });
    if (left === undefined) forget(uid);
    else remember(left);
  } catch (error) {
    if (!(error instanceof NotFound || error instanceof Conflict)) throw error;
    forget(uid);
    throw missing();
  }
}
