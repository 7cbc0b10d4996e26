// What the steps of all operations have in common.

import type { BackupKind } from '../deployments/record/backup-request.ts';
import { conditionOf, mergeConditions, rfc3339 } from '../schema/conditions.ts';
import type { DatastoreOperationStatus } from '../schema/datastore-operation.ts';
import type { OperationPhase } from '../schema/operation-phases.ts';
import type { ObservedOperation } from './observed.ts';

export interface OperationStep {
  /** The new status. Absent if it does not change. */
  readonly status?: DatastoreOperationStatus;
  /**
   * `hold`: add the finalizer and the owner. `start`: create the work if it is missing. `cancel`: delete the work. `release`: remove the
   * finalizer.
   */
  readonly act?: 'hold' | 'start' | 'cancel' | 'release';
  /** Number of a database that the deployment does not use: its objects are deleted, before the status is written. */
  readonly deletes?: number;
  /** What `start` creates. */
  readonly kind?: BackupKind;
  /** Delay after which the operation is reconciled even if nothing changes. */
  readonly requeueAfterMs?: number;
}

/** Backups of CloudNativePG are not watched. */
export const LOOK_AGAIN_MS = 2000;
/** A source that is missing comes with the next pass of the record. */
const WAITS_MS = 5000;

export function waits(observed: ObservedOperation, now: Date, reason: string, message: string): OperationStep {
  return { status: statusOf(observed, now, 'Pending', reason, message), requeueAfterMs: WAITS_MS };
}

export function ended(
  observed: ObservedOperation,
  now: Date,
  phase: Extract<OperationPhase, 'Succeeded' | 'Failed'>,
  reason: string,
  message: string,
  backup?: DatastoreOperationStatus['backup'],
): OperationStep {
  const { conditions: _before, ...kept } = observed.operation.status ?? {};
  return {
    status: {
      ...kept,
      ...statusOf(observed, now, phase, reason, message),
      endedAt: rfc3339(now),
      ...(backup && { backup }),
    },
  };
}

/** Complete and Failed are as those of a Job, so that `kubectl wait --for=condition=Complete` works. */
export function statusOf(
  { operation: { metadata, status } }: ObservedOperation,
  now: Date,
  phase: OperationPhase,
  reason: string,
  message: string,
): DatastoreOperationStatus {
  const is = (holds: boolean): 'True' | 'False' => (holds ? 'True' : 'False');
  const hasFailed = phase === 'Failed';
  const conditions = mergeConditions(
    status?.conditions,
    [
      { type: 'Complete', status: is(phase === 'Succeeded'), reason, message },
      ...(hasFailed || conditionOf(status?.conditions, 'Failed')
        ? [{ type: 'Failed', status: is(hasFailed), reason, message }]
        : []),
    ],
    metadata.generation ?? 1,
    now,
  );
  return { phase, conditions };
}
