// Writes the statuses of a record, its revisions and its tracing project after a pass.

import type { AppRevision, AppRevisionStatus } from '../kinds/app-revision.ts';
import { Conflict, NotFound } from '../runtime/errors.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { undecided } from './assess/address.ts';
import { assess, type Preconditions } from './assess/assessment.ts';
import { offersOf } from './assess/database-move.ts';
import { datastoresOf } from './assess/datastores.ts';
import type { Entry } from './assess/entry.ts';
import { migrationStatusOf } from './assess/migration.ts';
import { type ActionFailure, type Observed, refText, refTo } from './assess/observed.ts';
import { hasServed } from './assess/rollout.ts';
import { runningRevision } from './assess/workloads.ts';
import { failureOf } from './cluster/failures.ts';
import { reportRecord, reportRevision, reportTracingProject } from './cluster/report.ts';
import { unguardedDataLoss } from './guard-stores.ts';
import type { PassOutcome, ReconcilerOptions } from './pass.ts';
import { runsHere } from './record/listener-assignment.ts';
import { latestStatus, overtakenStatus, unplannedStatus } from './revision-status.ts';
import { withStableMessages } from './stable-messages.ts';
import { readyEntry, statusOf } from './status.ts';

export interface PassToReport {
  /** The record and its children as the pass found them. */
  readonly before: Observed;
  /** The observed objects after the pass. */
  readonly after: Observed;
  readonly preconditions: Preconditions;
  readonly pass: PassOutcome;
}

/** A status that was not written. */
interface Unwritten {
  readonly object: KubeObject;
  readonly error: unknown;
}

/**
 * Reports on what became of the older revisions while it can still be seen: before the newer one changes anything. If this write
 * fails, the report at the end of the pass repeats it; only a crash in between can lose it.
 */
export async function reportOvertaken(
  before: Observed,
  latest: AppRevision,
  { home, events, now }: ReconcilerOptions,
): Promise<void> {
  const at = now();
  const overtaken = before.revisions.filter(({ spec }) => spec.id !== latest.spec.id);
  await Promise.allSettled(
    overtaken.map((revision) => {
      const status = overtakenStatus(revision, () => hasServed(before, revision), at);
      return reportRevision(before.record, revision, status, home, events);
    }),
  );
}

/** Returns the errors. One of them does not prevent the other reports. */
export async function reportPass(report: PassToReport, options: ReconcilerOptions): Promise<unknown[]> {
  const { home, events, settings } = options;
  const { after, preconditions, pass } = report;
  const now = options.now();
  const { record, tracingProject } = after;
  const { latest } = pass;
  const refusals = withStableMessages([...pass.refusals, ...(after.unread ?? [])], record);
  const address = pass.address ?? undecided(after, preconditions.asked);
  const failures = [...refusals, ...(await unguardedDataLoss(after, pass, home))];
  const outcome = { latest, address, failures };
  const judged = { latest, address, assessment: assess(after, preconditions, outcome) };
  const ready = readyEntry({ ...judged, observed: after, refusals });
  const revisions = after.revisions.map((revision) => ({
    revision,
    status: revisionStatus(revision, report, judged.assessment.rollout, ready, now),
  }));

  const unwritten: Unwritten[] = [];
  const write = async (object: KubeObject, writing: Promise<void>): Promise<void> => {
    await writing.catch((error: unknown) => unwritten.push({ object, error }));
  };
  for (const { revision, status } of revisions) {
    await write(revision, reportRevision(record, revision, status, home, events));
  }
  if (tracingProject) await write(tracingProject, reportTracingProject(tracingProject, record, home, now));

  const observed: Observed = { ...after, revisions: revisions.map(withReported) };
  const unreported = withStableMessages(unwritten.flatMap(unwrittenFailure), record);
  const offers = offersOf(after, settings, latest);
  const shown = latest && (after.revisions.find(({ spec }) => spec.id === latest.spec.id) ?? latest);
  const datastores = shown && runsHere(record) ? datastoresOf(after, shown, settings) : undefined;
  const reported = { ...(offers && { offers }), ...(datastores && { datastores }) };
  const said = { ...judged, observed, refusals: [...refusals, ...unreported], ...reported };
  const status = statusOf(said, now);
  const errors = unwritten.map(({ error }) => error);
  try {
    await reportRecord(record, status, home, events);
  } catch (error) {
    // Deleted during the pass.
    if (error instanceof NotFound) return [];
    errors.push(error);
  }
  return errors;
}

type OwnStatus = Omit<AppRevisionStatus, 'build'>;

function revisionStatus(
  revision: AppRevision,
  { before, after, pass }: PassToReport,
  rollout: Entry,
  ready: Entry,
  now: Date,
): OwnStatus {
  const { id } = revision.spec;
  const migration = migrationStatusOf(after, revision);
  const withMigration = (status: OwnStatus): OwnStatus => ({ ...status, ...(migration && { migration }) });
  if (id !== pass.latest?.spec.id)
    return withMigration(overtakenStatus(revision, () => hasServed(before, revision), now));
  const status = latestStatus(revision, rollout, now, ready, runningRevision(after)?.spec.id === id);
  return withMigration(pass.address ? status : unplannedStatus(revision, status));
}

/** The revision with the status that is written now. */
function withReported({
  revision,
  status,
}: {
  readonly revision: AppRevision;
  readonly status: OwnStatus;
}): AppRevision {
  const build = revision.status?.build;
  return { ...revision, status: { ...status, ...(build && { build }) } };
}

/** Nothing if the object is gone or was changed meanwhile: the next pass reports on it. */
function unwrittenFailure({ object, error }: Unwritten): ActionFailure[] {
  if (error instanceof NotFound || error instanceof Conflict) return [];
  const ref = refTo(object);
  return [failureOf(error, ref, 'write', `the status of ${refText(ref)}`)];
}
