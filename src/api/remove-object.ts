// Deletes an object with the caller's token, and has the caches know of it before the watch does.

import { Conflict, NotFound } from '../runtime/errors.ts';
import type { KubeObject, Resource } from '../runtime/kube/client.ts';
import type { Caller } from './authorization.ts';
import type { FacadeContext } from './collection.ts';

/** `missing`: the error where the object is gone, or another one has its name. */
export async function removeObject(
  caller: Caller,
  resource: Resource,
  { metadata }: KubeObject,
  { remember, forget, missing }: Pick<FacadeContext, 'remember' | 'forget'> & { readonly missing: () => Error },
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
