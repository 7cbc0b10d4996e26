// Deletes objects by uid, so that an object that was recreated under the same name is not deleted.

import { overlayWrite, placeOf } from '../../runtime/controller/cluster.ts';
import { NotFound } from '../../runtime/errors.ts';
import type { DeleteOptions, KubeObject } from '../../runtime/kube/client.ts';
import { type ActionFailure, refTo } from '../assess/observed.ts';
import type { Cluster } from './cluster.ts';
import { failureOf } from './failures.ts';
import { settleFailures } from './settle-all.ts';

/**
 * Kinds whose data is lost on deletion. They are deleted only in the observed resourceVersion, since a person may have
 * changed them.
 */
const DELETED_AS_SEEN: ReadonlySet<string> = new Set(['Secret', 'PersistentVolumeClaim', 'Cluster']);
/**
 * Kinds that own pods. They are deleted in the foreground, so that their pods are gone before objects that the pods
 * use.
 */
const WITH_DEPENDENTS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'Job']);

/**
 * Deletes exactly these objects, by uid, and returns the requests that failed. An object that no longer exists is no
 * failure. Workloads are deleted in the foreground, all others in the background: they have no dependents that matter,
 * and the garbage collector does not handle objects of a new CRD for up to 30 s.
 */
export function deleteObjects(objects: readonly KubeObject[], cluster: Cluster): Promise<ActionFailure[]> {
  return settleFailures(
    objects.map((object) => {
      const { uid = '', resourceVersion } = object.metadata;
      const asSeen = DELETED_AS_SEEN.has(object.kind) && resourceVersion !== undefined && { resourceVersion };
      const propagationPolicy = WITH_DEPENDENTS.has(object.kind) ? 'Foreground' : 'Background';
      return remove(object, { uid, ...asSeen, propagationPolicy }, cluster);
    }),
  );
}

/**
 * Deletes these pods, each only in its observed resourceVersion, so that a pod that has started since is kept. Returns
 * the requests that failed.
 */
export function removePods(pods: readonly KubeObject[], cluster: Cluster): Promise<ActionFailure[]> {
  return settleFailures(
    pods.map((pod) => {
      const { uid = '', resourceVersion = '' } = pod.metadata;
      return remove(pod, { uid, resourceVersion }, cluster);
    }),
  );
}

async function remove(
  object: KubeObject,
  options: DeleteOptions,
  cluster: Cluster,
): Promise<ActionFailure | undefined> {
  try {
    const left = await cluster.client.remove(cluster.registry.resourceOf(object), placeOf(object), options);
    if (left) overlayWrite(cluster.caches, left);
  } catch (error) {
    if (!(error instanceof NotFound)) return failureOf(error, refTo(object), 'delete');
  }
  return undefined;
}
