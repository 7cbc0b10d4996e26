// The next step of action Backup: its work is created, under a name that follows from the uid of the operation, and watched.

import type { BaseBackup } from '../deploy/assess/base-backups.ts';
import type { Job } from '../deploy/assess/jobs.ts';
import { backupToMake } from '../deploy/record/backup-request.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { rfc3339 } from '../kinds/conditions.ts';
import type { ObservedOperation } from './observed.ts';
import { dumpOf, endedBase, NOT_SCHEDULED, workDeleted } from './outcome.ts';
import { ended, inPhase, type OperationStep, waits } from './steps.ts';

/** What is known of the work of a backup that has begun. Undefined before that. */
export function begunBackupStep(observed: ObservedOperation, now: Date): OperationStep | undefined {
  const { status } = observed.operation;
  if (observed.base) return makingBase(observed, observed.base, now);
  if (observed.job) return makingDump(observed, observed.job, now);
  if (status?.work === undefined) return undefined;
  const { reason, message } = workDeleted(status.work);
  return ended(observed, now, 'Failed', reason, message);
}

/** The step of a backup that is the first operation of its deployment. */
export function nextBackupStep(observed: ObservedOperation, record: AppDeployment, now: Date): OperationStep {
  const { spec } = observed.operation;
  const decided = backupToMake(record, spec.backup?.archive === true);
  if ('refused' in decided) return ended(observed, now, 'Failed', 'NotPossible', decided.refused);
  if (observed.otherBackup !== undefined)
    return waits(
      observed,
      now,
      'AnotherBackup',
      `${observed.otherBackup} is already making a backup of this database.`,
    );
  const { reason, message } = NOT_SCHEDULED[decided.kind];
  return observed.source[decided.kind] ? { act: 'start', kind: decided.kind } : waits(observed, now, reason, message);
}

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
  const dump = dumpOf(job, pods);
  if (dump.is === 'failed') return ended(observed, now, 'Failed', dump.said.reason, dump.said.message);
  if (dump.is === 'running') return runs(observed, now, name, dump.said.message, dump.said.reason);
  const { backup } = dump;
  const message = backup
    ? `Backup ${backup.name} is in the store.`
    : 'The backup is in the store. Its pod no longer reports which one.';
  const { lastSuccessAt } = record?.status?.databaseBackup ?? {};
  return isReported(lastSuccessAt, backup?.takenAt, dump.at, now)
    ? ended(observed, now, 'Succeeded', 'BackupMade', message, backup)
    : runs(observed, now, name, message);
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
  return inPhase(observed, now, 'Running', { reason, message }, { startedAt, work });
}
