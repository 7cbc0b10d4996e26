// The next step of an operation: its new status and the next action. It depends only on the observed state, so a restarted controller
// continues where the previous one stopped.
//
// 1. The operation is held: a finalizer, so that its deletion cancels it, and the record as its owner.
// 2. It waits until it is the oldest unfinished one of its deployment.
// 3. It is carried out: backup-step.ts, move-step.ts (Restore, Move, Upgrade, Return), patch-step.ts, or nextDeleteStep below.
// 4. It ends, is no longer held, and its status stays. A deletion before that takes it back where that is possible.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { rfc3339 } from '../kinds/conditions.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import { OPERATION_FINALIZER } from '../kinds/meta.ts';
import { isEnded, isPending } from '../kinds/operation-phases.ts';
import { begunBackupStep, nextBackupStep } from './backup-step.ts';
import { isMove, whyNotDeleted } from './decide-move.ts';
import { cancelMove, nextMoveStep } from './move-step.ts';
import type { ObservedOperation } from './observed.ts';
import { cancelPatch, nextPatchStep } from './patch-step.ts';
import { ended, inPhase, LOOK_AGAIN_MS, type OperationStep, waits, waitsForEarlier } from './steps.ts';

/** Whether it has Davit's finalizer. */
export function isHeld({ metadata }: DatastoreOperation): boolean {
  return metadata.finalizers?.includes(OPERATION_FINALIZER) === true;
}

export function nextOperationStep(observed: ObservedOperation): OperationStep {
  const { operation, record, isFirst, paused } = observed;
  const { metadata, spec } = operation;
  const { action } = spec;
  const held = isHeld(operation);
  if (isEnded(operation)) return held ? { act: 'release' } : {};
  if (metadata.deletionTimestamp !== undefined) return held ? cancelled(observed) : {};
  if (record === undefined || record.metadata.deletionTimestamp !== undefined)
    return ended(observed, 'Failed', {
      reason: 'DeploymentMissing',
      message: `Deployment ${spec.deployment} does not exist in this namespace.`,
    });
  if (!held) return { act: 'hold' };
  const begun = action === 'Backup' ? begunBackupStep(observed) : undefined;
  if (begun) return begun;
  if (!isFirst) return waitsForEarlier(observed);
  if (paused !== undefined && isPending(operation)) return waits(observed, { reason: 'Paused', message: paused });
  if (isMove(action)) return nextMoveStep(observed, { ...spec, action });
  if (action === 'Patch') return nextPatchStep(observed, record, spec);
  return action === 'Backup' ? nextBackupStep(observed, record) : nextDeleteStep(observed, record);
}

function cancelled(observed: ObservedOperation): OperationStep {
  const { operation, job, base } = observed;
  const back = cancelMove(observed) ?? cancelPatch(observed);
  if (back) return back;
  return operation.spec.action === 'Backup' && (job || base)
    ? { act: 'cancel', requeueAfterMs: LOOK_AGAIN_MS }
    : { act: 'release' };
}

/** The step of an operation that is the first of its deployment. */
function nextDeleteStep(observed: ObservedOperation, record: AppDeployment): OperationStep {
  const { operation, revisions: own } = observed;
  const used = observed.databases.map(({ number }) => number);
  const { spec, status } = operation;
  const { number = -1 } = spec.deletePrevious ?? {};
  // No other operation can give the deployment this database meanwhile.
  if (status?.phase === 'Running')
    return used.includes(number)
      ? { deletes: number, requeueAfterMs: LOOK_AGAIN_MS }
      : ended(observed, 'Succeeded', {
          reason: 'Deleted',
          message: `Database ${number} is deleted, with all of its data.`,
        });
  const refused = whyNotDeleted({ record, own, used }, number);
  if (refused !== undefined) return ended(observed, 'Failed', { reason: 'NotPossible', message: refused });
  const message = `Database ${number} is being deleted.`;
  return inPhase(observed, 'Running', { reason: 'Deleting', message }, { startedAt: rfc3339(observed.now) });
}
