// Whether the backups of a record's own PostgreSQL can be restored. Only the report of the container that compared a restored backup with
// its manifest is evidence; it stands in the status, because pods and Jobs go.

import { type DatabaseProofStatus, ProofReport, proofPlanOf, withBackupDefault } from '../../schema/database.ts';
import { COMPARE_CONTAINER, PROOF } from '../../schema/meta.ts';
import { beginningFails, newestFailure, reportsOf, toProveAgain } from './database-jobs.ts';
import { type Entry, entryOf, fail, firstOf, pass, unknown } from './entry.ts';
import { runsOf } from './jobs.ts';
import { type ActionFailure, failureAt, type Observed, type ObservedChildren } from './observed.ts';

/** As the status has it, with what the pods and Jobs say now. Undefined if there is nothing to say. */
export function proofStatusOf(observed: ObservedChildren): DatabaseProofStatus | undefined {
  const before = observed.record.status?.databaseProof;
  const after = {
    ...before,
    ...lastReports(observed, before),
    ...newestFailure(observed, runsOf(observed, PROOF), PROOF, before?.lastFailureAt),
  };
  return Object.keys(after).length > 0 ? after : undefined;
}

function lastReports(observed: ObservedChildren, before: DatabaseProofStatus | undefined): DatabaseProofStatus {
  const reports = reportsOf(observed, {
    component: PROOF,
    container: COMPARE_CONTAINER,
    schema: ProofReport,
    timeOf: ({ comparedAt }) => comparedAt,
  });
  const proven = reports.find(({ uncompared }) => uncompared === undefined);
  const uncompared = reports.find((report) => report.uncompared !== undefined);
  return {
    ...(proven !== undefined &&
      proven.comparedAt > (before?.provenAt ?? '') && {
        name: proven.name,
        takenAt: proven.takenAt,
        provenAt: proven.comparedAt,
        tables: proven.tables,
        rows: proven.rows,
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
  readonly status: DatabaseProofStatus;
  readonly failures: readonly ActionFailure[];
}

/** In the order in which people should hear of them. */
const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  nothingToProve,
  proofRefused,
  proofPodFails,
  lastProofFailed,
  uncompared,
  proofStale,
  proven,
];

/** Undefined if the record asks for no proofs. `failures`: what came of the last try. */
export function checkProof(
  observed: Observed,
  backup: Entry | undefined,
  failures: readonly ActionFailure[],
): Entry | undefined {
  const { metadata, spec } = observed.record;
  // The default of the platform is for own databases alone, which have BackupReady.
  const database = backup && withBackupDefault(spec.sourceConfig.database, observed.backupDefault);
  const plan = proofPlanOf(database, metadata.name, observed.backupStore?.isProven === true);
  if (plan === undefined) return undefined;
  const seen = { observed, backup, status: proofStatusOf(observed) ?? {}, failures };
  return (
    firstOf(CHECKS, seen) ?? unknown('ProofPending', `No backup has been proven yet. The schedule is ${plan.schedule}.`)
  );
}

/** A run that finds none fails, which says nothing of a backup. */
function nothingToProve({ observed: { record } }: Seen): Entry | undefined {
  if (record.status?.databaseBackup?.name !== undefined || record.status?.databaseProof?.name !== undefined)
    return undefined;
  return unknown('ProofPending', 'There is no backup yet that could be proven. Condition BackupReady says more.');
}

function proofRefused({ observed: { names }, failures }: Seen): Entry | undefined {
  const failure = failureAt({ kind: 'CronJob', name: names.proof }, failures);
  return failure && entryOf(failure);
}

function proofPodFails({ observed }: Seen): Entry | undefined {
  const trouble = beginningFails(observed, PROOF);
  return trouble && fail('ProofFailing', `A proof cannot begin. ${trouble.message}`);
}

function lastProofFailed({ observed, status }: Seen): Entry | undefined {
  const { lastFailureAt, lastFailure, provenAt = '', lastUncomparedAt = '' } = status;
  if (lastFailureAt === undefined || lastFailureAt < provenAt || lastFailureAt < lastUncomparedAt) return undefined;
  return fail(
    'ProofFailing',
    `The last proof failed at ${lastFailureAt}. ${lastFailure}. ${lastProof(status)} ${toProveAgain(observed)}`,
  );
}

function uncompared({ observed, status }: Seen): Entry | undefined {
  const { lastUncomparedAt, lastUncompared, provenAt = '' } = status;
  if (lastUncomparedAt === undefined || lastUncomparedAt < provenAt) return undefined;
  return unknown(
    'ProofWithoutCounts',
    `${lastUncompared}. It could be restored at ${lastUncomparedAt}. ${lastProof(status)} ${toProveAgain(observed)}`,
  );
}

function proofStale({ observed: { patience }, status }: Seen): Entry | undefined {
  if (patience?.proofStale !== true) return undefined;
  return fail(
    'ProofStale',
    `${lastProof(status)} That is longer ago than prove_stale_after_hours. Check the schedule and its CronJob.`,
  );
}

function proven({ status }: Seen): Entry | undefined {
  const { name, takenAt, provenAt, tables = 0, rows = 0 } = status;
  if (name === undefined) return undefined;
  return pass(
    'Proven',
    `Backup ${name}, which has the state of ${takenAt}, was restored beside at ${provenAt} and had all of its ${rows} rows in ${tables} tables.`,
  );
}

function lastProof({ name, provenAt }: DatabaseProofStatus): string {
  return name === undefined ? 'No backup has been proven yet.' : `The last proof is of ${provenAt}, of backup ${name}.`;
}
