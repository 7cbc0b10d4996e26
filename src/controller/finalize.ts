// The finalizer of a record: put on before the first child is made, taken off when the teardown is finished.

import type { AppDeployment } from '../api/app-deployment.ts';
import { APP_DEPLOYMENTS } from '../api/app-deployment.ts';
import { DEPLOYMENT_LABEL, FIELD_MANAGER, FINALIZER, VARIABLES_LABEL } from '../api/meta.ts';
import type { Observed } from '../decide/observed.ts';
import { deletingStatus } from '../decide/status.ts';
import { nextStep } from '../decide/teardown.ts';
import { NotFound } from '../errors.ts';
import type { KubeObject } from '../kube/client.ts';
import { SECRETS } from '../kube/resources.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { removeAll, type Shell } from './apply.ts';
import { remember } from './caches.ts';
import { reportRecord } from './report.ts';

export function hasFinalizer(record: AppDeployment): boolean {
  return record.metadata.finalizers?.includes(FINALIZER) === true;
}

/** Undefined: the record has gone, and the cache does not know yet. Nothing would collect what was made for it now. */
export async function addFinalizer(record: AppDeployment, shell: Shell): Promise<AppDeployment | undefined> {
  return patchFinalizers(record, [...(record.metadata.finalizers ?? []), FINALIZER], shell);
}

/** One step of the teardown. The watch wakes the record again when what it waits for is gone. */
export async function finalize(
  observed: Observed,
  shell: Shell,
  events: EventRecorder,
  now: Date,
  paused: string | undefined,
): Promise<void> {
  const { record } = observed;
  if (!hasFinalizer(record)) return;
  // In a dying namespace our rights may be gone any moment, and the namespace takes the children with it anyway.
  const step = observed.namespaceTerminating ? undefined : nextStep(observed);
  if (paused !== undefined && !observed.namespaceTerminating) {
    await reportRecord(record, deletingStatus(observed, step?.waitsFor ?? 'it', now, paused), shell, events);
    return;
  }
  if (!step) {
    if (!observed.namespaceTerminating) await removeAll(await valuesOf(record, shell), shell);
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

/**
 * Live, once for each deletion: a change that was made a moment before it has put its values into a Secret which the
 * watch may not have brought yet. They would be collected as nobody's, a minute later.
 */
async function valuesOf({ metadata }: AppDeployment, { client }: Shell): Promise<readonly KubeObject[]> {
  const { items } = await client.listAll(SECRETS, {
    namespace: metadata.namespace ?? '',
    labelSelector: `${DEPLOYMENT_LABEL}=${metadata.name},${VARIABLES_LABEL}`,
    metadataOnly: true,
  });
  return items;
}

/** Undefined: the record has gone. */
async function patchFinalizers(
  record: AppDeployment,
  finalizers: readonly string[],
  shell: Shell,
): Promise<AppDeployment | undefined> {
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
    if (error instanceof NotFound) return undefined;
    throw error;
  }
}
