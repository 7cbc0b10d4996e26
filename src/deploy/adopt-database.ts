// The volume of a record's own PostgreSQL, and the adoption of data of an earlier deployment of its name.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { DEPLOYMENT_UID_LABEL, FIELD_MANAGER } from '../kinds/meta.ts';
import { overlayWrite, placeOf } from '../runtime/controller/cluster.ts';
import { NotFound } from '../runtime/errors.ts';
import { PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { isInCluster } from './assess/database-cluster.ts';
import { isKnownClaim, isVolumeMissing, volumeMissing, volumeTrouble } from './assess/database-volume.ts';
import { type ActionFailure, type ObservedChildren, refTo } from './assess/observed.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { NO_KEPT_DATA, planAdoption } from './plan/adoption.ts';
import { driverOf } from './record/database-driver.ts';

/** Failures if the volume of the deployment's own PostgreSQL cannot be used, or must not be replaced by an empty one. */
export async function volumeRefusals(observed: ObservedChildren, home: Cluster): Promise<ActionFailure[]> {
  const trouble = volumeTrouble(observed);
  if (trouble) return [trouble];
  if (!isVolumeMissing(observed)) return [];
  const { namespace = '' } = observed.record.metadata;
  const ref = { namespace, name: observed.names.postgresClaim };
  const resource = isInCluster(observed) ? POSTGRES_CLUSTERS : PERSISTENT_VOLUME_CLAIMS;
  try {
    // The cache of volumes may lag, and contains only labelled ones.
    const found = await home.client.get(resource, ref);
    return isKnownClaim(found, observed) ? [] : [volumeMissing(observed, found)];
  } catch (error) {
    if (error instanceof NotFound) return [volumeMissing(observed, undefined)];
    return [{ ...failureOf(error, { kind: resource.kind, name: ref.name }, 'read'), absent: true }];
  }
}

/**
 * Adopts the retained data of an earlier deployment if the revision has its own PostgreSQL and the record asks for it. Returns the
 * record's children with what was adopted, or what prevents the adoption.
 */
export async function adoptDatabase(
  observed: ObservedChildren,
  latest: AppRevision,
  home: Cluster,
): Promise<{ readonly children: readonly KubeObject[]; readonly refusals: readonly ActionFailure[] }> {
  const { record, children } = observed;
  const { postgres } = latest.spec.resolved;
  const kept = postgres ? planAdoption(observed, driverOf(postgres)) : NO_KEPT_DATA;
  if (kept.refusals.length > 0) return { children, refusals: kept.refusals };
  const { adopted, refusals } = await adoptObjects(kept.takeUp, record, home);
  const byUid = new Map(adopted.map((object) => [object.metadata.uid, object]));
  return { children: children.map((child) => byUid.get(child.metadata.uid) ?? child), refusals };
}

/** Adopts these objects one after the other, each with the observed uid and resourceVersion. */
async function adoptObjects(
  objects: readonly KubeObject[],
  record: AppDeployment,
  home: Cluster,
): Promise<{ readonly adopted: readonly KubeObject[]; readonly refusals: readonly ActionFailure[] }> {
  const adopted: KubeObject[] = [];
  for (const object of objects) {
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, labels: { [DEPLOYMENT_UID_LABEL]: record.metadata.uid } } };
    try {
      const patched = await home.client.mergePatch(home.registry.resourceOf(object), placeOf(object), patch, {
        fieldManager: FIELD_MANAGER,
      });
      overlayWrite(home.caches, patched);
      adopted.push(patched);
    } catch (error) {
      return { adopted, refusals: [failureOf(error, refTo(object), 'take up')] };
    }
  }
  return { adopted, refusals: [] };
}
