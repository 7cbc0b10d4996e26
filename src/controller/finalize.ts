// The finalizer of a record: put on before the first child is made, taken off when the teardown is finished.

import type { AppDeployment } from '../api/app-deployment.ts';
import { APP_DEPLOYMENTS } from '../api/app-deployment.ts';
import { FIELD_MANAGER, FINALIZER } from '../api/meta.ts';
import type { Observed } from '../decide/observed.ts';
import { deletingStatus } from '../decide/status.ts';
import { nextStep } from '../decide/teardown.ts';
import { NotFound } from '../errors.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { removeAll, type Shell } from './apply.ts';
import { remember } from './caches.ts';
import { reportRecord } from './report.ts';

export function hasFinalizer(record: AppDeployment): boolean {
  return record.metadata.finalizers?.includes(FINALIZER) === true;
}

export async function addFinalizer(record: AppDeployment, shell: Shell): Promise<AppDeployment> {
  return patchFinalizers(record, [...(record.metadata.finalizers ?? []), FINALIZER], shell);
}

/** One step of the teardown. The watch wakes the record again when what it waits for is gone. */
export async function finalize(observed: Observed, shell: Shell, events: EventRecorder, now: Date): Promise<void> {
  const { record } = observed;
  if (!hasFinalizer(record)) return;
  // In a dying namespace our rights may be gone any moment, and the namespace takes the children with it anyway.
  const step = observed.namespaceTerminating ? undefined : nextStep(observed);
  if (!step) {
    await patchFinalizers(
      record,
      (record.metadata.finalizers ?? []).filter((name) => name !== FINALIZER),
      shell,
    );
    return;
  }
  await reportRecord(record, deletingStatus(observed, step.waitsFor, now), shell, events);
  await removeAll(step.remove, shell);
}

async function patchFinalizers(
  record: AppDeployment,
  finalizers: readonly string[],
  shell: Shell,
): Promise<AppDeployment> {
  const { namespace = '', name, uid, resourceVersion } = record.metadata;
  try {
    // The resourceVersion makes it a compare-and-swap: another controller's finalizer is never lost.
    const patched = await shell.client.mergePatch<AppDeployment>(
      APP_DEPLOYMENTS,
      { namespace, name },
      { metadata: { uid, resourceVersion, finalizers } },
      { fieldManager: FIELD_MANAGER },
    );
    if (finalizers.length > 0 || !record.metadata.deletionTimestamp) remember(shell.caches, patched);
    return patched;
  } catch (error) {
    if (error instanceof NotFound) return record;
    throw error;
  }
}
