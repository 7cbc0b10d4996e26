// Marks the database that a deployment retains as the one that it used last.

import { overlayWrite, placeOf } from '../lib/controller/cluster.ts';
import { FIELD_MANAGER, USED_LAST_ANNOTATION } from '../schema/meta.ts';
import { type ActionFailure, refTo } from './assess/observed.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import type { UsedLast } from './plan/used-last.ts';

/** Marks exactly this Secret, by uid. Returns the request if it failed. */
export async function markUsedLast({ secret, value }: UsedLast, target: Cluster): Promise<ActionFailure[]> {
  const patch = { metadata: { uid: secret.metadata.uid, annotations: { [USED_LAST_ANNOTATION]: value } } };
  try {
    const patched = await target.client.mergePatch(target.registry.resourceOf(secret), placeOf(secret), patch, {
      fieldManager: FIELD_MANAGER,
    });
    overlayWrite(target.caches, patched);
    return [];
  } catch (error) {
    return [failureOf(error, refTo(secret), 'mark')];
  }
}
