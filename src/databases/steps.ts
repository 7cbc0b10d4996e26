// What the steps of all operations have in common.

import type { BackupKind } from '../deploy/record/backup-request.ts';
import { conditionOf, mergeConditions, rfc3339 } from '../kinds/conditions.ts';
import type { DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import type { OperationPhase } from '../kinds/operation-phases.ts';
import { quoted, shortened } from '../kinds/text.ts';
import type { ServerError } from '../runtime/errors.ts';
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

export function waits(observed: ObservedOperation, why: Said): OperationStep {
  return { status: statusOf(observed, 'Pending', why), requeueAfterMs: WAITS_MS };
}

/** The end of the earlier operation wakes this one, so there is no timer. Its name is left out: a thousand that wait would be rewritten at each end. */
export function waitsForEarlier(observed: ObservedOperation): OperationStep {
  const message =
    'An earlier operation of this deployment has not ended. To see which: kubectl get datastoreoperations';
  return { status: statusOf(observed, 'Pending', { reason: 'AnotherOperation', message }) };
}

/** For an operation that has not begun: it is decided by a status that is as new as the record. Undefined where it is. */
export function waitsForPass(observed: ObservedOperation): OperationStep | undefined {
  const { metadata, status } = observed.record ?? {};
  if ((status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0)) return undefined;
  return waits(observed, {
    reason: 'NotObserved',
    message: 'Davit has not observed the latest change of the deployment yet.',
  });
}

/** Reason of an operation that waits for its turn on the platform. */
export const AT_ONCE = 'AtOnce';

export function waitsForTurn(observed: ObservedOperation): OperationStep {
  const message =
    'The limit of running operations (settings.datastores.atOnce) is reached. This one starts when an earlier one has ended.';
  return waits(observed, { reason: AT_ONCE, message });
}

export const CANCELLED: Said = { reason: 'Cancelled', message: 'The operation was deleted.' };

/** Whether a pass over the record has seen the phase of the operation, and every pass before that one is over. */
export function isSeen({ operation, record }: ObservedOperation): boolean {
  const { name, phase } = record?.status?.databaseOperation ?? {};
  return name === operation.metadata.name && phase === operation.status?.phase;
}

export function ended(
  observed: ObservedOperation,
  phase: Extract<OperationPhase, 'Succeeded' | 'Failed'>,
  why: Said,
  backup?: DatastoreOperationStatus['backup'],
): OperationStep {
  const { conditions: _before, ...kept } = observed.operation.status ?? {};
  return {
    status: {
      ...kept,
      ...statusOf(observed, phase, why),
      endedAt: rfc3339(observed.now),
      ...(backup && { backup }),
    },
  };
}

/** What a condition says, for programs and for people. */
export interface Said {
  readonly reason: string;
  readonly message: string;
}

/** What the operation says of itself. */
export function said({ operation: { status } }: ObservedOperation): Said {
  const { reason = '', message = '' } = conditionOf(status?.conditions, 'Complete') ?? {};
  return { reason, message };
}

/** The operation is not over. `more`: what else of its status changes. */
export function inPhase(
  observed: ObservedOperation,
  phase: OperationPhase,
  why: Said,
  more: Partial<DatastoreOperationStatus> = {},
): OperationStep {
  const { conditions: _before, ...kept } = observed.operation.status ?? {};
  const status = { ...kept, ...more, ...statusOf(observed, phase, why) };
  return { status, requeueAfterMs: LOOK_AGAIN_MS };
}

/** What the API server says against what the step does. The operation stays where it is, and the step is tried again. */
export function refusedStep(observed: ObservedOperation, refusal: ServerError): DatastoreOperationStatus {
  const { phase = 'Pending' } = observed.operation.status ?? {};
  const message = `The API server refuses what the operation needs: ${quoted(refusal.words)}. Davit tries again.`;
  const { status = {} } = inPhase(observed, phase, { reason: 'RequestRefused', message });
  return status;
}

/** The end of an operation whose next database the API server does not delete: it stays as one that is kept. */
export function withLeft(
  status: DatastoreOperationStatus,
  deployment: string,
  number: number,
  { words }: ServerError,
): DatastoreOperationStatus {
  const left = ` Database ${number} was not deleted: ${quoted(words)}. To delete it: kubectl davit database delete-previous ${deployment} --number ${number}`;
  const conditions = (status.conditions ?? []).map((one) => ({ ...one, message: shortened(`${one.message}${left}`) }));
  return { ...status, conditions };
}

/** Complete and Failed are as those of a Job, so that `kubectl wait --for=condition=Complete` works. */
function statusOf(
  { operation: { metadata, status }, now }: ObservedOperation,
  phase: OperationPhase,
  { reason, message }: Said,
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
