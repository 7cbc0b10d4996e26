// The next step of an operation that gives a deployment another database: Restore, Move, Upgrade and Return.
//
// 1. Stopping: the record's passes run nothing of it (kinds/datastore-operation.ts, holds). Nothing writes to the database any more.
// 2. Running, for Move and Upgrade: a backup of the database is made.
// 3. Loading: the record's passes make a revision that has the next database, and load the backup into it.
// 4. Starting: the deployment has its scale again, and the operation ends when it serves.
//
// A failure or a deletion before step 4 leads back: Returning, in which the passes make a revision that has the database before. Each phase
// takes effect with the pass that has seen it, which the status of the record says (databaseOperation): an earlier pass may still create
// what the phase before asked for.

import { originText } from '../deploy/record/backup-consent.ts';
import { type DatabaseMove, databaseNumberOf, databaseOf, databaseText } from '../deploy/record/database-move.ts';
import { conditionOf, rfc3339 } from '../kinds/conditions.ts';
import type { DatastoreOperationSpec, DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import { COPIES, type OperationAction } from '../kinds/operation-phases.ts';
import { decideMove, type MoveAction, storeTrouble } from './decide-move.ts';
import type { ObservedOperation } from './observed.ts';
import { dumpOf, NOT_SCHEDULED, workDeleted } from './outcome.ts';
import {
  CANCELLED,
  ended,
  inPhase,
  isSeen,
  LOOK_AGAIN_MS,
  type OperationStep,
  type Said,
  said,
  waitsForPass,
  waitsForTurn,
} from './steps.ts';

type Action = DatastoreOperationSpec & { readonly action: MoveAction };

/** The next step of an operation that is the first of its deployment. */
export function nextMoveStep(observed: ObservedOperation, spec: Action): OperationStep {
  const { move, phase } = observed.operation.status ?? {};
  if (!move) return begin(observed, spec);
  switch (phase) {
    case 'Stopping':
      return stopping(observed, move);
    case 'Running':
      return backingUp(observed, move);
    case 'Loading':
      return loading(observed, move);
    case 'Returning':
      return returning(observed, move);
    default:
      return starting(observed, move);
  }
}

/** What a deletion leads to while it can be taken back. Undefined where nothing is left to do. */
export function cancelMove(observed: ObservedOperation): OperationStep | undefined {
  const { operation, job, record } = observed;
  const { move, phase } = operation.status ?? {};
  if (!move || record === undefined || record.metadata.deletionTimestamp !== undefined) return undefined;
  if (phase === 'Running' && job) return { act: 'cancel', requeueAfterMs: LOOK_AGAIN_MS };
  if (phase === 'Loading') return goesBack(observed, move, CANCELLED);
  if (phase === 'Returning')
    return isBack(observed, move) ? { act: 'release', ...withoutNext(move) } : { requeueAfterMs: LOOK_AGAIN_MS };
  return undefined;
}

function begin(observed: ObservedOperation, spec: Action): OperationStep {
  const { record, origin, restoreSource, revisions: own, numbers: used, images } = observed;
  if (!record) return {};
  const unseen = waitsForPass(observed);
  if (unseen) return unseen;
  const decided = decideMove({ record, own, used, images, origin, restoreSource }, spec);
  if ('refused' in decided) return ended(observed, 'Failed', { reason: 'NotPossible', message: decided.refused });
  if (!observed.isItsTurn) return waitsForTurn(observed);
  const { move } = decided;
  const message = `The pods of the deployment are being stopped. Database ${databaseText(move.to)} will replace ${databaseText(move.from)}.`;
  return inPhase(observed, 'Stopping', { reason: 'Stopping', message }, { move, startedAt: rfc3339(observed.now) });
}

function stopping(observed: ObservedOperation, move: DatabaseMove): OperationStep {
  const { running } = observed;
  if (!isSeen(observed) || running !== undefined) {
    const message = `The pods of the deployment are being stopped${running === undefined ? '' : `, and ${running} has not ended yet`}.`;
    return inPhase(observed, 'Stopping', { reason: 'Stopping', message });
  }
  const stoppedAt = rfc3339(observed.now);
  if (COPIES.has(observed.operation.spec.action))
    return inPhase(observed, 'Running', { reason: 'BackupRunning', message: 'A backup is being made.' }, { stoppedAt });
  return loads(observed, move, { stoppedAt });
}

function backingUp(observed: ObservedOperation, move: DatabaseMove): OperationStep {
  const { job, pods, operation, source, record, running } = observed;
  const { work } = operation.status ?? {};
  const trouble = databaseTrouble(observed);
  if (trouble) return ended(observed, 'Failed', trouble);
  if (!job) {
    if (work !== undefined) return ended(observed, 'Failed', workDeleted(work));
    // What a person or an older cache has created since would write during the dump.
    if (running !== undefined)
      return inPhase(observed, 'Running', { reason: 'Stopping', message: `${running} has not ended yet.` });
    // Backups were turned off meanwhile: nothing makes one.
    const off =
      !source.dump && record && storeTrouble(record, 'The next database begins with a backup of the current one');
    if (off) return ended(observed, 'Failed', { reason: 'BackupFailed', message: off });
    return source.dump
      ? { act: 'start', kind: 'dump', requeueAfterMs: LOOK_AGAIN_MS }
      : inPhase(observed, 'Running', NOT_SCHEDULED.dump);
  }
  const dump = dumpOf(job, pods, observed.now);
  if (dump.is === 'running') return inPhase(observed, 'Running', dump.said, { work: job.metadata.name });
  if (dump.is === 'failed') return ended(observed, 'Failed', dump.said);
  return dump.backup?.name === undefined
    ? ended(observed, 'Failed', {
        reason: 'BackupFailed',
        message: `Job ${job.metadata.name} has ended, but its pod did not report which backup it made.`,
      })
    : loads(observed, { ...move, backup: dump.backup.name });
}

function loads(
  observed: ObservedOperation,
  move: DatabaseMove,
  more: Partial<DatastoreOperationStatus> = {},
): OperationStep {
  const { backupOf: of, backupNamespace: namespace } = move;
  const whose = of === undefined ? '' : ` of ${originText({ from: of, namespace })}`;
  const what = move.backup === undefined ? '' : ` Backup ${move.backup}${whose} is loaded into it.`;
  const message = `Database ${databaseText(move.to)} is being created.${what}`;
  return inPhase(observed, 'Loading', { reason: 'Loading', message }, { ...more, move });
}

function loading(observed: ObservedOperation, move: DatabaseMove): OperationStep {
  const { record, revisions } = observed;
  const conditions = record?.status?.conditions;
  if (!isSeen(observed)) return inPhase(observed, 'Loading', said(observed));
  const [newest] = revisions;
  if (newest && !databaseOf(newest))
    return goesBack(observed, move, {
      reason: 'Overtaken',
      message: 'The deployment has no database of its own any more.',
    });
  if (newest === undefined || databaseNumberOf(newest) !== move.to.number) {
    const accepted = conditionOf(conditions, 'PolicyAccepted');
    return accepted?.status === 'False'
      ? goesBack(observed, move, accepted)
      : inPhase(observed, 'Loading', said(observed));
  }
  const isOfIt = (record?.status?.databaseNumber ?? 0) === move.to.number;
  const restored = isOfIt ? conditionOf(conditions, 'DatabaseRestored') : undefined;
  const trouble = isOfIt ? databaseTrouble(observed) : undefined;
  if (trouble) return goesBack(observed, move, trouble);
  if (restored?.reason === 'RestoreNotPossible') return goesBack(observed, move, restored);
  if (restored?.reason === 'RestoreFailed') {
    const message = `Backup ${move.backup} was not loaded. ${record?.status?.databaseRestore?.lastFailure ?? ''}.`;
    return goesBack(observed, move, { reason: restored.reason, message });
  }
  const isLoaded = move.backup === undefined || (isOfIt && record?.status?.databaseRestore?.restoredAt !== undefined);
  if (!isLoaded) return inPhase(observed, 'Loading', restored ?? said(observed));
  const message = `The deployment starts on database ${databaseText(move.to)}.`;
  return inPhase(observed, 'Starting', { reason: 'Starting', message });
}

function starting(observed: ObservedOperation, move: DatabaseMove): OperationStep {
  const { record, revisions, operation } = observed;
  const { status, metadata } = record ?? {};
  const conditions = status?.conditions;
  const isCurrent = isSeen(observed) && (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0);
  if (!isCurrent) return inPhase(observed, 'Starting', said(observed));
  const back = `To go back to database ${databaseText(move.from)}: kubectl davit database return ${operation.spec.deployment}`;
  const [newest] = revisions;
  if (newest === undefined || databaseNumberOf(newest) !== move.to.number)
    return ended(observed, 'Failed', {
      reason: 'Overtaken',
      message: `The deployment is no longer on database ${databaseText(move.to)}.`,
    });
  const ready = conditionOf(conditions, 'Ready');
  if (conditionOf(conditions, 'Stalled')?.status === 'True')
    return ended(observed, 'Failed', {
      reason: 'NotServing',
      message: `The deployment is on database ${databaseText(move.to)}, but does not serve. ${ready?.message ?? ''} ${back}`,
    });
  if (ready?.status !== 'True')
    return inPhase(observed, 'Starting', { reason: ready?.reason ?? 'Starting', message: ready?.message ?? '' });
  // Pods that end serve no more.
  const { startedAt = '' } = operation.status ?? {};
  const downtimeSeconds = Math.max(0, Math.round((observed.now.getTime() - Date.parse(startedAt)) / 1000));
  const message = `The deployment is on database ${databaseText(move.to)}. The deployment was down for ${downtimeSeconds} s. Database ${databaseText(move.from)} is kept. ${back}`;
  const end = ended(observed, 'Succeeded', { reason: DONE[operation.spec.action], message });
  return { ...end, status: { ...end.status, servingAt: rfc3339(observed.now), downtimeSeconds } };
}

const DONE = {
  Backup: 'BackupMade',
  Restore: 'Restored',
  Move: 'Moved',
  Upgrade: 'Upgraded',
  Return: 'Returned',
  DeletePrevious: 'Deleted',
  Patch: 'Patched',
} as const satisfies Record<OperationAction, string>;

function goesBack(observed: ObservedOperation, move: DatabaseMove, { reason, message }: Said): OperationStep {
  const back = `${message} The deployment returns to database ${databaseText(move.from)}, which has not changed.`;
  return inPhase(observed, 'Returning', { reason, message: back });
}

function returning(observed: ObservedOperation, move: DatabaseMove): OperationStep {
  return isBack(observed, move)
    ? { ...ended(observed, 'Failed', said(observed)), ...withoutNext(move) }
    : inPhase(observed, 'Returning', said(observed));
}

/** A next database that was made for a backup: no pod of the deployment has used it. */
function withoutNext({ to, backup }: DatabaseMove): Pick<OperationStep, 'deletes'> {
  return backup === undefined ? {} : { deletes: to.number };
}

/** Whether the deployment has the database before, and no pass gives it the next one any more. */
function isBack(observed: ObservedOperation, { from }: DatabaseMove): boolean {
  const [newest] = observed.revisions;
  return isSeen(observed) && newest !== undefined && databaseNumberOf(newest) === from.number;
}

/** What only a person can mend of the database that the record has: then the condition says it in place of the operation. */
function databaseTrouble({ record }: ObservedOperation): Said | undefined {
  const ready = conditionOf(record?.status?.conditions, 'DatabaseReady');
  return ready?.status === 'False' && ready.reason !== 'OperationRunning' ? ready : undefined;
}
