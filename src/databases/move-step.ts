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
import { type DatabaseMove, databaseNumberOf, databaseText } from '../deploy/record/database-move.ts';
import { conditionOf, rfc3339 } from '../kinds/conditions.ts';
import type { DatastoreOperationSpec, DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import { COPIES, type OperationAction } from '../kinds/operation-phases.ts';
import { decideMove, type MoveAction } from './decide-move.ts';
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
export function nextMoveStep(observed: ObservedOperation, spec: Action, now: Date): OperationStep {
  const { move, phase } = observed.operation.status ?? {};
  if (!move) return begin(observed, spec, now);
  switch (phase) {
    case 'Stopping':
      return stopping(observed, move, now);
    case 'Running':
      return backingUp(observed, move, now);
    case 'Loading':
      return loading(observed, move, now);
    case 'Returning':
      return returning(observed, move, now);
    default:
      return starting(observed, move, now);
  }
}

/** What a deletion leads to while it can be taken back. Undefined where nothing is left to do. */
export function cancelMove(observed: ObservedOperation, now: Date): OperationStep | undefined {
  const { operation, job, record } = observed;
  const { move, phase } = operation.status ?? {};
  if (!move || record === undefined || record.metadata.deletionTimestamp !== undefined) return undefined;
  if (phase === 'Running' && job) return { act: 'cancel', requeueAfterMs: LOOK_AGAIN_MS };
  if (phase === 'Loading') return goesBack(observed, move, now, CANCELLED);
  if (phase === 'Returning')
    return isBack(observed, move) ? { act: 'release', ...withoutNext(move) } : { requeueAfterMs: LOOK_AGAIN_MS };
  return undefined;
}

function begin(observed: ObservedOperation, spec: Action, now: Date): OperationStep {
  const { record, origin, restoreSource, revisions: own, databases, images } = observed;
  if (!record) return {};
  const used = databases.map(({ number }) => number);
  const unseen = waitsForPass(observed, now);
  if (unseen) return unseen;
  const decided = decideMove({ record, own, used, images, origin, restoreSource }, spec);
  if ('refused' in decided) return ended(observed, now, 'Failed', 'NotPossible', decided.refused);
  if (!observed.isItsTurn) return waitsForTurn(observed, now);
  const { move } = decided;
  const message = `The pods of the deployment are being stopped. Database ${databaseText(move.to)} takes the place of ${databaseText(move.from)}.`;
  return inPhase(observed, now, 'Stopping', { reason: 'Stopping', message }, { move, startedAt: rfc3339(now) });
}

function stopping(observed: ObservedOperation, move: DatabaseMove, now: Date): OperationStep {
  const { running } = observed;
  if (!isSeen(observed) || running !== undefined) {
    const message = `The pods of the deployment are being stopped${running === undefined ? '' : `, and ${running} has not ended yet`}.`;
    return inPhase(observed, now, 'Stopping', { reason: 'Stopping', message });
  }
  const stoppedAt = rfc3339(now);
  if (COPIES.has(observed.operation.spec.action))
    return inPhase(
      observed,
      now,
      'Running',
      { reason: 'BackupRunning', message: 'A backup is being made.' },
      { stoppedAt },
    );
  return loads(observed, move, now, { stoppedAt });
}

function backingUp(observed: ObservedOperation, move: DatabaseMove, now: Date): OperationStep {
  const { job, pods, operation, source } = observed;
  const { work } = operation.status ?? {};
  const trouble = databaseTrouble(observed);
  if (trouble) return fails(observed, now, trouble);
  if (!job) {
    if (work !== undefined) return fails(observed, now, workDeleted(work));
    return source.dump ? { act: 'start', kind: 'dump' } : inPhase(observed, now, 'Running', NOT_SCHEDULED.dump);
  }
  const dump = dumpOf(job, pods);
  if (dump.is === 'running') return inPhase(observed, now, 'Running', dump.said, { work: job.metadata.name });
  if (dump.is === 'failed') return fails(observed, now, dump.said);
  return dump.backup?.name === undefined
    ? fails(observed, now, {
        reason: 'BackupFailed',
        message: `Job ${job.metadata.name} has ended, and its pod does not say which backup it made.`,
      })
    : loads(observed, { ...move, backup: dump.backup.name }, now);
}

function loads(
  observed: ObservedOperation,
  move: DatabaseMove,
  now: Date,
  more: Partial<DatastoreOperationStatus> = {},
): OperationStep {
  const { backupOf: of, backupNamespace: namespace } = move;
  const whose = of === undefined ? '' : ` of ${originText({ from: of, namespace })}`;
  const what = move.backup === undefined ? '' : ` Backup ${move.backup}${whose} is loaded into it.`;
  const message = `Database ${databaseText(move.to)} is being created.${what}`;
  return inPhase(observed, now, 'Loading', { reason: 'Loading', message }, { ...more, move });
}

function loading(observed: ObservedOperation, move: DatabaseMove, now: Date): OperationStep {
  const { record, revisions } = observed;
  const conditions = record?.status?.conditions;
  if (!isSeen(observed)) return inPhase(observed, now, 'Loading', said(observed));
  const [newest] = revisions;
  if (newest === undefined || databaseNumberOf(newest) !== move.to.number) {
    const accepted = conditionOf(conditions, 'PolicyAccepted');
    return accepted?.status === 'False'
      ? goesBack(observed, move, now, { reason: accepted.reason, message: accepted.message })
      : inPhase(observed, now, 'Loading', said(observed));
  }
  const isOfIt = (record?.status?.databaseNumber ?? 0) === move.to.number;
  const restored = isOfIt ? conditionOf(conditions, 'DatabaseRestored') : undefined;
  const trouble = isOfIt ? databaseTrouble(observed) : undefined;
  if (trouble) return goesBack(observed, move, now, trouble);
  if (restored?.reason === 'RestoreNotPossible') return goesBack(observed, move, now, restored);
  if (restored?.reason === 'RestoreFailed') {
    const message = `Backup ${move.backup} was not loaded. ${record?.status?.databaseRestore?.lastFailure ?? ''}.`;
    return goesBack(observed, move, now, { reason: restored.reason, message });
  }
  const isLoaded = move.backup === undefined || (isOfIt && record?.status?.databaseRestore?.restoredAt !== undefined);
  if (!isLoaded)
    return inPhase(
      observed,
      now,
      'Loading',
      restored ? { reason: restored.reason, message: restored.message } : said(observed),
    );
  const message = `The deployment starts on database ${databaseText(move.to)}.`;
  return inPhase(observed, now, 'Starting', { reason: 'Starting', message });
}

function starting(observed: ObservedOperation, move: DatabaseMove, now: Date): OperationStep {
  const { record, revisions, operation } = observed;
  const { status, metadata } = record ?? {};
  const conditions = status?.conditions;
  const isCurrent = isSeen(observed) && (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0);
  if (!isCurrent) return inPhase(observed, now, 'Starting', said(observed));
  const back = `To go back to database ${databaseText(move.from)}: kubectl davit database return ${operation.spec.deployment}`;
  const [newest] = revisions;
  if (newest === undefined || databaseNumberOf(newest) !== move.to.number)
    return ended(
      observed,
      now,
      'Failed',
      'Overtaken',
      `The deployment is no longer on database ${databaseText(move.to)}.`,
    );
  const ready = conditionOf(conditions, 'Ready');
  if (conditionOf(conditions, 'Stalled')?.status === 'True')
    return ended(
      observed,
      now,
      'Failed',
      'NotServing',
      `The deployment is on database ${databaseText(move.to)}, and does not serve. ${ready?.message ?? ''} ${back}`,
    );
  if (ready?.status !== 'True')
    return inPhase(observed, now, 'Starting', { reason: ready?.reason ?? 'Starting', message: ready?.message ?? '' });
  // Pods that end serve no more.
  const { startedAt = '' } = operation.status ?? {};
  const downtimeSeconds = Math.max(0, Math.round((now.getTime() - Date.parse(startedAt)) / 1000));
  const message = `The deployment is on database ${databaseText(move.to)}. Nothing served for ${downtimeSeconds} s. Database ${databaseText(move.from)} is kept. ${back}`;
  const end = ended(observed, now, 'Succeeded', DONE[operation.spec.action], message);
  return { ...end, status: { ...end.status, servingAt: rfc3339(now), downtimeSeconds } };
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

function goesBack(
  observed: ObservedOperation,
  move: DatabaseMove,
  now: Date,
  { reason, message }: Said,
): OperationStep {
  const back = `${message} The deployment returns to database ${databaseText(move.from)}, which is as it was.`;
  return inPhase(observed, now, 'Returning', { reason, message: back });
}

function returning(observed: ObservedOperation, move: DatabaseMove, now: Date): OperationStep {
  const { reason, message } = said(observed);
  return isBack(observed, move)
    ? { ...fails(observed, now, { reason, message }), ...withoutNext(move) }
    : inPhase(observed, now, 'Returning', { reason, message });
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

/** Nothing was changed, or all is as it was. */
function fails(observed: ObservedOperation, now: Date, { reason, message }: Said): OperationStep {
  return ended(observed, now, 'Failed', reason, message);
}

/** What only a person can mend of the database that the record has: then the condition says it in place of the operation. */
function databaseTrouble({ record }: ObservedOperation): Said | undefined {
  const ready = conditionOf(record?.status?.conditions, 'DatabaseReady');
  if (ready?.status !== 'False' || ready.reason === 'OperationRunning') return undefined;
  return { reason: ready.reason, message: ready.message };
}
