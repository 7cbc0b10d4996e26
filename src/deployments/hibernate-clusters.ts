// Ends the pods of databases that are kept and not used, and keeps their volumes.

import { overlayWrite, placeOf } from '../lib/controller/cluster.ts';
import type { EventRecorder } from '../lib/controller/events.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { FIELD_MANAGER, HIBERNATION_ANNOTATION } from '../schema/meta.ts';
import { type ActionFailure, refText, refTo } from './assess/observed.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { settleFailures } from './cluster/settle-all.ts';

/** Asks CloudNativePG to hibernate exactly these, by uid. Returns the requests that failed. */
export function hibernateClusters(
  objects: readonly KubeObject[],
  record: AppDeployment,
  { target, events }: { readonly target: Cluster; readonly events: EventRecorder },
): Promise<ActionFailure[]> {
  return settleFailures(
    objects.map(async (object) => {
      const { uid } = object.metadata;
      const patch = { metadata: { uid, annotations: { [HIBERNATION_ANNOTATION]: 'on' } } };
      try {
        const patched = await target.client.mergePatch(target.registry.resourceOf(object), placeOf(object), patch, {
          fieldManager: FIELD_MANAGER,
        });
        overlayWrite(target.caches, patched);
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
