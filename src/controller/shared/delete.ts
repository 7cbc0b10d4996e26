// Deletes objects, each by its uid: never one that was made anew under the same name.

import { type ActionFailure, refTo } from '../../decide/observed.ts';
import { NotFound } from '../../errors.ts';
import type { DeleteOptions, KubeObject } from '../../kube/client.ts';
import { overlayWrite } from './caches.ts';
import { type Cluster, placeOf } from './cluster.ts';
import { failureOf } from './failures.ts';
import { settleFailures } from './settle-all.ts';

/** What a person may have changed or put back since it was seen, and what cannot be had again: deleted only as it was seen. */
const DELETED_AS_SEEN: ReadonlySet<string> = new Set(['Secret', 'PersistentVolumeClaim']);
/** Whose dependents are pods: these must be gone before what they use is. */
const WITH_DEPENDENTS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

/**
 * Deletes exactly these objects; one that is gone already is fine. Workloads go with their dependents first. The others
 * have none that matter, and their deletion must not wait for the garbage collector: of a new CRD's objects it knows
 * nothing for up to 30 s. What failed comes back.
 */
export function deleteObjects(objects: readonly KubeObject[], shell: Cluster): Promise<ActionFailure[]> {
  return settleFailures(
    objects.map((object) => {
      const { uid = '', resourceVersion } = object.metadata;
      const asSeen = DELETED_AS_SEEN.has(object.kind) && resourceVersion !== undefined && { resourceVersion };
      const propagationPolicy = WITH_DEPENDENTS.has(object.kind) ? 'Foreground' : 'Background';
      return remove(object, { uid, ...asSeen, propagationPolicy }, shell);
    }),
  );
}

/** Deletes these pods, each only as it was seen: one that has started since is left alone, and looked at again. What failed comes back. */
export function removePods(pods: readonly KubeObject[], shell: Cluster): Promise<ActionFailure[]> {
  return settleFailures(
    pods.map((pod) => {
      const { uid = '', resourceVersion = '' } = pod.metadata;
      return remove(pod, { uid, resourceVersion }, shell);
    }),
  );
}

async function remove(object: KubeObject, options: DeleteOptions, shell: Cluster): Promise<ActionFailure | undefined> {
  try {
    const left = await shell.client.remove(shell.registry.resourceOf(object), placeOf(object), options);
    if (left) overlayWrite(shell.caches, left);
  } catch (error) {
    if (!(error instanceof NotFound)) return failureOf(error, refTo(object), 'delete');
  }
  return undefined;
}
