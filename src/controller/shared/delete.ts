// Deletes objects by uid, so that an object that was recreated under the same name is not deleted.

import { API_VERSION } from '../../api/meta.ts';
import { type ActionFailure, refTo } from '../../decide/observed.ts';
import { NotFound } from '../../errors.ts';
import type { DeleteOptions, KubeObject } from '../../kube/client.ts';
import { overlayWrite } from './caches.ts';
import { type Cluster, type Clusters, placeOf } from './cluster.ts';
import { failureOf } from './failures.ts';
import { settleAll, settleFailures } from './settle-all.ts';

/** What a person may have changed or put back since it was seen, and what cannot be had again: deleted only as it was seen. */
const DELETED_AS_SEEN: ReadonlySet<string> = new Set(['Secret', 'PersistentVolumeClaim']);
/** Whose dependents are pods: these must be gone before what they use is. */
const WITH_DEPENDENTS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

/**
 * Deletes exactly these objects; one that is gone already is fine. Workloads go with their dependents first. The others
 * have none that matter, and their deletion must not wait for the garbage collector: of a new CRD's objects it knows
 * nothing for up to 30 s. What failed comes back.
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

/** As deleteObjects, each in the cluster where it is. */
export async function deleteEverywhere(
  objects: readonly KubeObject[],
  { home, target }: Clusters,
): Promise<ActionFailure[]> {
  const isHome = ({ apiVersion }: KubeObject): boolean => apiVersion === API_VERSION;
  const failures = await settleAll([
    deleteObjects(objects.filter(isHome), home),
    deleteObjects(
      objects.filter((object) => !isHome(object)),
      target,
    ),
  ]);
  return failures.flat();
}

/** Deletes these pods, each only as it was seen: one that has started since is left alone, and looked at again. What failed comes back. */
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
