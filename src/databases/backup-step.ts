// The next step of action Backup: its work is created, under a name that follows from the uid of the operation, and watched.

import type { BaseBackup } from '../deploy/assess/base-backups.ts';
import type { Job } from '../deploy/assess/jobs.ts';
import { backupToMake } from '../deploy/record/backup-request.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { rfc3339 } from '../kinds/conditions.ts';
import type { ObservedOperation } from './observed.ts';
import { dumpOf, endedBase, NOT_SCHEDULED, workDeleted } from './outcome.ts';
import { ended, inPhase, LOOK_AGAIN_MS, type OperationStep, waits } from './steps.ts';

/** What is known of the work of a backup that has begun. Undefined before that. */
export function begunBackupStep(observed: ObservedOperation): OperationStep | undefined {
  const { status } = observed.operation;
  if (observed.base) return makingBase(observed, observed.base);
  if (observed.job) return makingDump(observed, observed.job);
  return status?.work === undefined ? undefined : ended(observed, 'Failed', workDeleted(status.work));
}

/** The step of a backup that is the first operation of its deployment. */
export function nextBackupStep(observed: ObservedOperation, record: AppDeployment): OperationStep {
  const { spec } = observed.operation;
  const decided = backupToMake(record, spec.backup?.archive === true);
  if ('refused' in decided) return ended(observed, 'Failed', { reason: 'NotPossible', message: decided.refused });
  if (observed.otherBackup !== undefined)
    return waits(observed, {
      reason: 'AnotherBackup',
      message: `${observed.otherBackup} is already making a backup of this database.`,
    });
  const { kind } = decided;
  return observed.source[kind]
    ? { act: 'start', kind, requeueAfterMs: LOOK_AGAIN_MS }
    : waits(observed, NOT_SCHEDULED[kind]);
}

function makingBase(observed: ObservedOperation, base: BaseBackup): OperationStep {
  const { name } = base.metadata;
  const end = endedBase(base);
  if (end === undefined) return runs(observed, name, 'CloudNativePG makes the base backup.');
  if ('failed' in end) return ended(observed, 'Failed', { reason: 'BackupFailed', message: end.failed });
  const { lastBackupAt } = observed.record?.status?.databaseArchive ?? {};
  return isReported(lastBackupAt, base.status?.startedAt, base.status?.stoppedAt, observed.now)
    ? ended(observed, 'Succeeded', { reason: 'BackupMade', message: 'The base backup is in the store.' }, end.backup)
    : runs(observed, name, 'The base backup is in the store.');
}

function makingDump(observed: ObservedOperation, job: Job): OperationStep {
  const { pods, record } = observed;
  const { name } = job.metadata;
  const dump = dumpOf(job, pods, observed.now);
  if (dump.is === 'failed') return ended(observed, 'Failed', dump.said);
  if (dump.is === 'running') return runs(observed, name, dump.said.message, dump.said.reason);
  const { backup } = dump;
  const message = backup
    ? `Backup ${backup.name} is in the store.`
    : 'The backup is in the store, but its pod no longer reports the name.';
  const { lastSuccessAt } = record?.status?.databaseBackup ?? {};
  return isReported(lastSuccessAt, backup?.takenAt, dump.at, observed.now)
    ? ended(observed, 'Succeeded', { reason: 'BackupMade', message }, backup)
    : runs(observed, name, message);
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

function runs(observed: ObservedOperation, work: string, message: string, reason = 'BackupRunning'): OperationStep {
  const { startedAt = rfc3339(observed.now) } = observed.operation.status ?? {};
  return inPhase(observed, 'Running', { reason, message }, { startedAt, work });
}
