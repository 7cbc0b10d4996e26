// The volume of a record's own PostgreSQL, and data that an earlier deployment of its name has left.

import type { AppDeployment } from '../../api/app-deployment.ts';
import { DEPLOYMENT_UID_LABEL, FIELD_MANAGER } from '../../api/meta.ts';
import { isKnownClaim, isVolumeMissing, volumeMissing, volumeTrouble } from '../../decide/assess/database-volume.ts';
import { type ActionFailure, type Observed, refTo } from '../../decide/observed.ts';
import { NotFound } from '../../errors.ts';
import { PERSISTENT_VOLUME_CLAIMS } from '../../kube/api-resources.ts';
import type { KubeObject } from '../../kube/client.ts';
import { names } from '../../record/names.ts';
import { overlayWrite } from '../shared/caches.ts';
import { type Cluster, placeOf } from '../shared/cluster.ts';
import { failureOf } from '../shared/failures.ts';

/** Why the volume of the own PostgreSQL cannot be used, or must not be replaced by an empty one. */
export async function volumeRefusals(observed: Observed, target: Cluster): Promise<ActionFailure[]> {
  const trouble = volumeTrouble(observed);
  if (trouble) return [trouble];
  if (!isVolumeMissing(observed)) return [];
  const { namespace = '', name } = observed.record.metadata;
  const ref = { namespace, name: names(name).postgresClaim };
  try {
    // The cache of volumes may lag behind, and holds none without labels.
    const found = await target.client.get(PERSISTENT_VOLUME_CLAIMS, ref);
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
  target: Cluster,
): Promise<{ readonly taken: readonly KubeObject[]; readonly refusals: readonly ActionFailure[] }> {
  const taken: KubeObject[] = [];
  for (const object of objects) {
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, labels: { [DEPLOYMENT_UID_LABEL]: record.metadata.uid } } };
    try {
      // oxlint-disable-next-line no-await-in-loop -- the password before the volume that it opens
      const now = await target.client.mergePatch(target.registry.resourceOf(object), placeOf(object), patch, {
        fieldManager: FIELD_MANAGER,
      });
      overlayWrite(target.caches, now);
      taken.push(now);
    } catch (error) {
      return { taken, refusals: [failureOf(error, refTo(object), 'take up')] };
    }
  }
  return { taken, refusals: [] };
}
