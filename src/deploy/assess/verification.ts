// Whether the backups of a record's own PostgreSQL can be restored. Only the report of the container that compared a restored backup with
// its manifest is evidence; it stands in the status, because pods and Jobs go.

import {
  type DatabaseVerificationStatus,
  VerificationReport,
  verificationPlanOf,
  withBackupDefault,
} from '../../kinds/database.ts';
import { COMPARE_CONTAINER, VERIFY } from '../../kinds/meta.ts';
import { beginningFails, databaseJobPods, newestFailure, reportsOf, toVerifyAgain } from './database-jobs.ts';
import { type Entry, fail, firstOf, pass, refusalAt, unknown } from './entry.ts';
import { runsOf } from './jobs.ts';
import { type ActionFailure, type Observed, type ObservedChildren } from './observed.ts';

/** As the status has it, with what the pods and Jobs say now. Undefined if there is nothing to say. */
export function verificationStatusOf(observed: ObservedChildren): DatabaseVerificationStatus | undefined {
  const before = observed.record.status?.databaseVerification;
  const after = {
    ...before,
    ...lastReports(observed, before),
    ...newestFailure(observed, runsOf(observed, VERIFY), VERIFY, before?.lastFailureAt),
  };
  return Object.keys(after).length > 0 ? after : undefined;
}

function lastReports(
  observed: ObservedChildren,
  before: DatabaseVerificationStatus | undefined,
): DatabaseVerificationStatus {
  const reports = reportsOf(observed, {
    component: VERIFY,
    container: COMPARE_CONTAINER,
    schema: VerificationReport,
    timeOf: ({ comparedAt }) => comparedAt,
  });
  const verified = reports.find(({ uncompared }) => uncompared === undefined);
  const uncompared = reports.find((report) => report.uncompared !== undefined);
  return {
    ...(verified !== undefined &&
      verified.comparedAt > (before?.verifiedAt ?? '') && {
        name: verified.name,
        takenAt: verified.takenAt,
        verifiedAt: verified.comparedAt,
        tables: verified.tables,
        rows: verified.rows,
      }),
    ...(uncompared?.uncompared !== undefined &&
      uncompared.comparedAt > (before?.lastUncomparedAt ?? '') && {
        lastUncomparedAt: uncompared.comparedAt,
        lastUncompared: uncompared.uncompared,
      }),
  };
}

interface Seen {
  readonly observed: Observed;
  /** What is said of the backups. */
  readonly backup: Entry | undefined;
  readonly status: DatabaseVerificationStatus;
  readonly failures: readonly ActionFailure[];
}

/** In the order in which people should hear of them. */
const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  nothingToVerify,
  ({ observed: { names }, failures }) => refusalAt({ kind: 'CronJob', name: names.verification }, failures),
  verificationPodFails,
  lastVerificationFailed,
  uncompared,
  verificationStale,
  verified,
];

/** Undefined if verification is off. `failures`: what came of the last try. */
export function checkVerification(
  observed: Observed,
  backup: Entry | undefined,
  failures: readonly ActionFailure[],
): Entry | undefined {
  const { metadata, spec } = observed.record;
  // The default of the platform is for own databases alone, which have BackupReady.
  const database = backup && withBackupDefault(spec.sourceConfig.database, observed.backupDefault);
  const plan = verificationPlanOf(database, metadata.name, observed.backupStore?.isVerified === true);
  if (plan === undefined) return undefined;
  const seen = { observed, backup, status: verificationStatusOf(observed) ?? {}, failures };
  return (
    firstOf(CHECKS, seen) ??
    unknown('VerificationPending', `No backup has been verified yet. The schedule is ${plan.schedule}.`)
  );
}

/** A run that finds none fails, which says nothing of a backup. */
function nothingToVerify({ observed: { record } }: Seen): Entry | undefined {
  if (record.status?.databaseBackup?.name !== undefined || record.status?.databaseVerification?.name !== undefined)
    return undefined;
  return unknown('VerificationPending', 'There is no backup to verify yet. See condition BackupReady.');
}

function verificationPodFails({ observed }: Seen): Entry | undefined {
  const trouble = beginningFails(databaseJobPods(observed, VERIFY));
  return trouble && fail('VerificationFailing', `A verification cannot begin. ${trouble.message}`);
}

function lastVerificationFailed({ observed, status }: Seen): Entry | undefined {
  const { lastFailureAt, lastFailure, verifiedAt = '', lastUncomparedAt = '' } = status;
  if (lastFailureAt === undefined || lastFailureAt < verifiedAt || lastFailureAt < lastUncomparedAt) return undefined;
  return fail(
    'VerificationFailing',
    `The last verification failed at ${lastFailureAt}. ${lastFailure}. ${lastVerification(status)} ${toVerifyAgain(observed)}`,
  );
}

function uncompared({ observed, status }: Seen): Entry | undefined {
  const { lastUncomparedAt, lastUncompared, verifiedAt = '' } = status;
  if (lastUncomparedAt === undefined || lastUncomparedAt < verifiedAt) return undefined;
  return unknown(
    'VerificationWithoutCounts',
    `${lastUncompared}. It was restored at ${lastUncomparedAt}. ${lastVerification(status)} ${toVerifyAgain(observed)}`,
  );
}

function verificationStale({ observed: { patience }, status }: Seen): Entry | undefined {
  if (patience?.verificationStale !== true) return undefined;
  return fail(
    'VerificationStale',
    `No backup was verified within verify_stale_after_hours.${status.name === undefined ? '' : ` ${lastVerification(status)}`} Check the schedule and its CronJob.`,
  );
}

function verified({ status }: Seen): Entry | undefined {
  const { name, takenAt, verifiedAt, tables = 0, rows = 0 } = status;
  if (name === undefined) return undefined;
  return pass(
    'Verified',
    `Backup ${name}, which has the state of ${takenAt}, was restored into a temporary server at ${verifiedAt} and had all of its ${rows} rows in ${tables} tables.`,
  );
}

function lastVerification({ name, verifiedAt }: DatabaseVerificationStatus): string {
  return name === undefined
    ? 'No backup has been verified yet.'
    : `Backup ${name} was verified last, at ${verifiedAt}.`;
}
