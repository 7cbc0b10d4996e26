// The next step of an operation: its new status and the next action. It depends only on the observed state, so a restarted controller
// continues where the previous one stopped.
//
// 1. The operation is held: a finalizer, so that its deletion cancels it, and the record as its owner.
// 2. It waits until it is the oldest unfinished one of its deployment.
// 3. Its work is created, under a name that follows from the uid of the operation, and watched.
// 4. It ends, and its status stays. A deletion before that removes the work.

import { type Job, jobEnd } from '../deployments/assess/jobs.ts';
import { podFailure } from '../deployments/assess/pod-failures.ts';
import { type BackupKind, backupToMake } from '../deployments/record/backup-request.ts';
import { conditionOf, mergeConditions, rfc3339 } from '../schema/conditions.ts';
import { type DatastoreOperationStatus, ENDED_PHASES, type OperationPhase } from '../schema/datastore-operation.ts';
import { OPERATION_FINALIZER } from '../schema/meta.ts';
import type { BaseBackup, ObservedOperation } from './observed.ts';
import { endedBase, sentBackup, wordsOfFailure } from './outcome.ts';

export interface OperationStep {
  /** The new status. Absent if it does not change. */
  readonly status?: DatastoreOperationStatus;
  /**
   * `hold`: add the finalizer and the owner. `start`: create the work if it is missing. `cancel`: delete the work. `release`: remove the
   * finalizer.
   */
  readonly act?: 'hold' | 'start' | 'cancel' | 'release';
  /** What `start` creates. */
  readonly kind?: BackupKind;
  /** Delay after which the operation is reconciled even if nothing changes. */
  readonly requeueAfterMs?: number;
}

/** Backups of CloudNativePG are not watched. */
const LOOK_AGAIN_MS = 2000;
/** A source that is missing comes with the next pass of the record. */
const WAITS_MS = 5000;

export function nextOperationStep(observed: ObservedOperation, now: Date): OperationStep {
  const { operation, record, unfinished, paused } = observed;
  const { metadata, spec, status } = operation;
  const isHeld = metadata.finalizers?.includes(OPERATION_FINALIZER) === true;
  const hasEnded = status?.phase !== undefined && ENDED_PHASES.has(status.phase);
  if (metadata.deletionTimestamp !== undefined) {
    if (!isHeld) return {};
    const hasWork = observed.job !== undefined || observed.base !== undefined;
    return !hasEnded && hasWork ? { act: 'cancel', requeueAfterMs: LOOK_AGAIN_MS } : { act: 'release' };
  }
  if (hasEnded) return {};
  if (record === undefined || record.metadata.deletionTimestamp !== undefined)
    return ended(
      observed,
      now,
      'Failed',
      'DeploymentMissing',
      `There is no deployment ${spec.deployment} in this namespace.`,
    );
  if (!isHeld) return { act: 'hold' };
  if (observed.base) return makingBase(observed, observed.base, now);
  if (observed.job) return makingDump(observed, observed.job, now);
  if (status?.work !== undefined)
    return ended(observed, now, 'Failed', 'WorkDeleted', `${status.work} was deleted before its end.`);
  const decided = backupToMake(record, spec.backup?.archive === true);
  if ('refused' in decided) return ended(observed, now, 'Failed', 'NotPossible', decided.refused);
  if (paused !== undefined) return waits(observed, now, 'Paused', paused);
  const [first] = unfinished;
  if (first && first.metadata.uid !== metadata.uid)
    return waits(observed, now, 'AnotherOperation', `${first.metadata.name} is carried out first.`);
  if (observed.otherBackup !== undefined)
    return waits(observed, now, 'AnotherBackup', `${observed.otherBackup} makes a backup of this database already.`);
  if (!observed.source[decided.kind]) return waits(observed, now, 'NotScheduled', NOT_SCHEDULED[decided.kind]);
  return { act: 'start', kind: decided.kind };
}

const NOT_SCHEDULED: Readonly<Record<BackupKind, string>> = {
  dump: 'Davit has not created the CronJob of backups yet. Condition BackupReady of the deployment says why.',
  base: 'CloudNativePG has no schedule of base backups yet. Condition ArchiveReady of the deployment says why.',
};

function makingBase(observed: ObservedOperation, base: BaseBackup, now: Date): OperationStep {
  const { name } = base.metadata;
  const end = endedBase(base);
  if (end === undefined) return runs(observed, now, name, 'CloudNativePG makes the base backup.');
  if ('failed' in end) return ended(observed, now, 'Failed', 'BackupFailed', end.failed);
  const { lastBackupAt } = observed.record?.status?.databaseArchive ?? {};
  return isReported(lastBackupAt, base.status?.startedAt, base.status?.stoppedAt, now)
    ? ended(observed, now, 'Succeeded', 'BackupMade', 'The base backup is in the store.', end.backup)
    : runs(observed, now, name, 'The base backup is in the store.');
}

function makingDump(observed: ObservedOperation, job: Job, now: Date): OperationStep {
  const { pods, record } = observed;
  const { name } = job.metadata;
  if (jobEnd(job, 'Failed')) return ended(observed, now, 'Failed', 'BackupFailed', wordsOfFailure(job, pods));
  const complete = jobEnd(job, 'Complete');
  if (complete) {
    const backup = sentBackup(pods);
    const message = backup
      ? `Backup ${backup.name} is in the store.`
      : 'The backup is in the store. Its pod does not say any more which one it made.';
    const { lastSuccessAt } = record?.status?.databaseBackup ?? {};
    return isReported(lastSuccessAt, backup?.takenAt, complete.lastTransitionTime, now)
      ? ended(observed, now, 'Succeeded', 'BackupMade', message, backup)
      : runs(observed, now, name, message);
  }
  const trouble = podFailure(pods.filter(({ status }) => status?.phase === 'Pending'));
  return trouble
    ? runs(observed, now, name, trouble.message, trouble.reason)
    : runs(observed, now, name, `Job ${name} makes the backup.`);
}

/** So long the status of the record may take to list a backup, in milliseconds. */
const REPORTED_MS = 30_000;

/** Whether the record's status lists it, so that whoever waits for the operation finds it there; or has had the time to. All in RFC 3339. */
function isReported(
  listed: string | undefined,
  taken: string | undefined,
  endedAt: string | undefined,
  now: Date,
): boolean {
  const isListed = taken === undefined || Date.parse(listed ?? '') >= Date.parse(taken);
  return isListed || !(now.getTime() - Date.parse(endedAt ?? '') < REPORTED_MS);
}

function runs(
  observed: ObservedOperation,
  now: Date,
  work: string,
  message: string,
  reason = 'BackupRunning',
): OperationStep {
  const { startedAt = rfc3339(now) } = observed.operation.status ?? {};
  const status = { ...statusOf(observed, now, 'Running', reason, message), startedAt, work };
  return { status, requeueAfterMs: LOOK_AGAIN_MS };
}

function waits(observed: ObservedOperation, now: Date, reason: string, message: string): OperationStep {
  return { status: statusOf(observed, now, 'Pending', reason, message), requeueAfterMs: WAITS_MS };
}

function ended(
  observed: ObservedOperation,
  now: Date,
  phase: Extract<OperationPhase, 'Succeeded' | 'Failed'>,
  reason: string,
  message: string,
  backup?: DatastoreOperationStatus['backup'],
): OperationStep {
  const { startedAt, work } = observed.operation.status ?? {};
  return {
    status: {
      ...statusOf(observed, now, phase, reason, message),
      ...(startedAt !== undefined && { startedAt }),
      endedAt: rfc3339(now),
      ...(work !== undefined && { work }),
      ...(backup && { backup }),
    },
  };
}

/** Complete and Failed are as those of a Job, so that `kubectl wait --for=condition=Complete` works. */
function statusOf(
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
