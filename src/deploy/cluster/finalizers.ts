// Writes the finalizers of a record.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { FIELD_MANAGER } from '../../kinds/meta.ts';
import { overlayWrite, placeOf } from '../../runtime/controller/cluster.ts';
import { undefinedIfNotFound } from '../../runtime/errors.ts';
import type { Cluster } from './cluster.ts';

/** Resolves to the record with this finalizer. Undefined if the record is gone. */
export function putFinalizer(
  record: AppDeployment,
  finalizer: string,
  home: Cluster,
): Promise<AppDeployment | undefined> {
  return patchFinalizers(record, [...(record.metadata.finalizers ?? []), finalizer], home);
}

/** Releases the record from this finalizer. Does nothing if the record is gone. */
export async function removeFinalizer(record: AppDeployment, finalizer: string, home: Cluster): Promise<void> {
  const { finalizers = [] } = record.metadata;
  await patchFinalizers(
    record,
    finalizers.filter((name) => name !== finalizer),
    home,
  );
}

async function patchFinalizers(
  record: AppDeployment,
  finalizers: readonly string[],
  home: Cluster,
): Promise<AppDeployment | undefined> {
  const { uid, resourceVersion, deletionTimestamp } = record.metadata;
  // The resourceVersion makes this a compare-and-swap, so that another controller's finalizer is not lost.
  const patched = await home.client
    .mergePatch<AppDeployment>(
      APP_DEPLOYMENTS,
      placeOf(record),
      { metadata: { uid, resourceVersion, finalizers } },
      { fieldManager: FIELD_MANAGER },
    )
    .catch(undefinedIfNotFound);
  if (patched && (finalizers.length > 0 || !deletionTimestamp)) overlayWrite(home.caches, patched);
  return patched;
}
