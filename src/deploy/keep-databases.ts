// What is done to databases that are kept: the pods of a Cluster that is not used end, and the one that was used last is marked.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { FIELD_MANAGER, HIBERNATION_ANNOTATION, USED_LAST_ANNOTATION } from '../kinds/meta.ts';
import { overlayWrite, placeOf } from '../runtime/controller/cluster.ts';
import type { EventRecorder } from '../runtime/controller/events.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { type ActionFailure, refText, refTo } from './assess/observed.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { settleFailures } from './cluster/settle-all.ts';
import type { UsedLast } from './plan/used-last.ts';

/** Asks CloudNativePG to hibernate exactly these, by uid. Returns the requests that failed. */
export function hibernateClusters(
  objects: readonly KubeObject[],
  record: AppDeployment,
  { home, events }: { readonly home: Cluster; readonly events: EventRecorder },
): Promise<ActionFailure[]> {
  return settleFailures(
    objects.map(async (object) => {
      const { uid } = object.metadata;
      const patch = { metadata: { uid, annotations: { [HIBERNATION_ANNOTATION]: 'on' } } };
      try {
        const patched = await home.client.mergePatch(home.registry.resourceOf(object), placeOf(object), patch, {
          fieldManager: FIELD_MANAGER,
        });
        overlayWrite(home.caches, patched);
      } catch (error) {
        return failureOf(error, refTo(object), 'hibernate');
      }
      events.record({
        regarding: record,
        type: 'Normal',
        reason: 'DatabaseRetained',
        action: 'Hibernate',
        note: `${refText(refTo(object))} is kept and hibernated, with its volumes and its password. Deleting it deletes its volumes.`,
      });
      return undefined;
    }),
  );
}

/** Marks exactly this Secret, by uid. Returns the request if it failed. */
export async function markUsedLast({ secret, value }: UsedLast, home: Cluster): Promise<ActionFailure[]> {
  const patch = { metadata: { uid: secret.metadata.uid, annotations: { [USED_LAST_ANNOTATION]: value } } };
  try {
    const patched = await home.client.mergePatch(home.registry.resourceOf(secret), placeOf(secret), patch, {
      fieldManager: FIELD_MANAGER,
    });
    overlayWrite(home.caches, patched);
    return [];
  } catch (error) {
    return [failureOf(error, refTo(secret), 'mark')];
  }
}
