// Reconciles one AppDeployment: observe, decide, apply, report.

import { until } from '../runtime/controller/cluster.ts';
import type { Reconcile } from '../runtime/controller/controller.ts';
import { refOf } from '../runtime/controller/keys.ts';
import { earliestRequeue } from '../runtime/controller/requeue.ts';
import { adoptDatabase } from './adopt-database.ts';
import { applyChildren } from './apply-children.ts';
import { applyCronJobs } from './apply-cron-jobs.ts';
import { checkPreconditions, type Preconditions } from './assess/assessment.ts';
import { type Observed, type ObservedRecord, refTo } from './assess/observed.ts';
import { pausedBy } from './assess/pause.ts';
import { claimAddress } from './claim-address.ts';
import { cleanUp } from './clean-up.ts';
import { areConflicts, causesOf, decisiveOf, failureOf, wasLost } from './cluster/failures.ts';
import { ensureRevision } from './ensure-revision.ts';
import { addFinalizer, finalize, hasFinalizer } from './finalize.ts';
import { atScaleInForce } from './in-force.ts';
import { keepLogs } from './keep-logs.ts';
import { waitsOf } from './next-pass.ts';
import { observeForReport, observeWithSecrets } from './observe.ts';
import type { PassOutcome, ReconcilerOptions } from './pass.ts';
import { makePodEvents } from './pod-events.ts';
import { runsHere } from './record/listener-assignment.ts';
import { replacePods } from './replace-pods.ts';
import { reportOvertaken, reportPass } from './report-pass.ts';
import { checkLostMigration, startMigration } from './run-jobs.ts';
import { makeServerVersions } from './server-versions.ts';

/**
 * Makes the reconcile function. It is level-triggered: it reads the current state of the record, whatever enqueued it. A
 * failure is reported in the status before it is thrown.
 */
export function makeReconciler(options: ReconcilerOptions): Reconcile {
  const { contents, hosts, vanished, settings, events, now } = options;
  const { caches } = options.home;
  const podEvents = makePodEvents(now);
  const versions = makeServerVersions(now);
  const conflicts = makeConflictStreaks();

  return async function reconcile(key, signal, log) {
    const within = { ...options, home: until(options.home, signal) };
    const { failed: unswept = [], ...swept } = await vanished.sweep(key);
    const found = caches.records.get(refOf(key));
    if (!found) {
      conflicts.forget(key);
      if (unswept.length > 0) throw decisiveOf(unswept);
      return swept;
    }
    const observed = await observeWithSecrets(found, options, contents, signal);
    if (found.metadata.deletionTimestamp) {
      const paused = pausedBy(found, settings);
      const teardown = { home: within.home, lasting: options.home, events, now: now(), paused };
      return earliestRequeue(swept.requeueAfterMs, (await finalize(observed, teardown, signal)).requeueAfterMs);
    }

    const preconditions = checkPreconditions(observed, settings);
    const before = atScaleInForce(observed, preconditions);
    const pass = await applyRecord(before, preconditions, within).catch((error) => unexpected(error, before));
    if (pass === 'gone') return {};
    const causes = causesOf([...(before.unread ?? []), ...pass.refusals]);
    if (wasLost(signal) || conflicts.isUnreported(key, causes)) throw decisiveOf(causes) ?? signal.reason;
    // A failed pass may have created objects that the caches do not show yet, so its host stays claimed until a pass succeeds.
    if (causes.length === 0) hosts.settled(found);

    const record = caches.records.get(refOf(key));
    if (!record || record.metadata.uid !== found.metadata.uid) return {};
    // This pass was for the generation that it found. A newer generation is in the queue and not reported on yet.
    if (record.metadata.generation !== found.metadata.generation) return {};
    const after = await observeForReport(record, { before, preconditions, podEvents, versions, log }, within);
    // A pass that exceeded its time limit is aborted and reported, with requests that have their own time limits.
    const reporting = signal.aborted ? options : within;
    const unreported = await reportPass({ before, after, preconditions, pass }, reporting);
    const failed = [...causes, ...(pass.housekeeping ?? []), ...unswept, ...unreported];
    if (failed.length > 0) throw decisiveOf(failed);
    return earliestRequeue(swept.requeueAfterMs, pass.requeueAfterMs, ...waitsOf(before, after, pass, options));
  };
}

/** An exception is a failure that is reported. */
function unexpected(error: unknown, { record, revisions }: ObservedRecord): PassOutcome {
  return { latest: revisions[0], refusals: [failureOf(error, refTo(record), 'reconcile')] };
}

/**
 * The steps of a pass, which apply the record to the cluster as far as it is allowed and possible. 'gone' if the record was deleted
 * meanwhile.
 */
async function applyRecord(
  observed: Observed,
  { policy, mayApply, paused, references, asked }: Preconditions,
  options: ReconcilerOptions,
): Promise<PassOutcome | 'gone'> {
  const { home } = options;
  const untouched = { latest: observed.revisions[0], refusals: [] };
  // Everything in it is about to be deleted, and nothing can be created.
  if (observed.namespaceTerminating) return untouched;
  if (!mayApply || paused !== undefined || !runsHere(observed.record)) return untouched;

  const record = hasFinalizer(observed.record) ? observed.record : await addFinalizer(observed.record, home);
  if (!record) return 'gone';
  if ('reason' in record) return { ...untouched, refusals: [record] };

  const [isAccepted, isComplete] = [policy.is === 'pass', references.is === 'pass'];
  const revision = await ensureRevision({ ...observed, record }, { isAccepted, isComplete }, options);
  if ('ended' in revision) return revision.ended;
  const { latest } = revision;
  await reportOvertaken(observed, latest, options);
  // Before anything deletes their pods.
  const unkept = await keepLogs({ ...observed, record }, options);

  const adopted = await adoptDatabase({ ...observed, record }, latest, home);
  if (adopted.refusals.length > 0) return { latest, refusals: [...revision.failures, ...adopted.refusals] };
  const now: Observed = { ...observed, record, children: adopted.children };
  // The address comes first and is independent of later failures, because the host may belong to another record by now.
  const address = await claimAddress(now, asked, latest, options);
  const failures = [...revision.failures, ...address.failures];
  const children = await applyChildren(now, { ...revision, failures, isComplete, host: address.host }, options);
  const migration = children.migrates
    ? await startMigration(now, latest, options)
    : await checkLostMigration(now, latest, home);
  const pods = children.mayReplacePods ? await replacePods(now, children.changed, options) : [];
  const cronJobs = await applyCronJobs(now, latest, options);
  const housekeeping = await cleanUp(now, latest, options);
  const { waitMs } = revision.rotation;
  return {
    latest,
    refusals: [...children.failures, ...migration, ...pods, ...cronJobs],
    address: address.outcome,
    housekeeping: [...unkept, ...housekeeping],
    ...(waitMs !== undefined && { requeueAfterMs: waitMs }),
  };
}

/** Number of consecutive conflicts after which they are reported. */
const REPORTED_FROM = 3;

/** Conflicts in a row. One is repeated without a report, because by then the caches show the concurrent write. */
interface ConflictStreaks {
  /** Counts the failures of a pass. Returns whether they are conflicts that are not reported yet. */
  isUnreported(key: string, causes: readonly unknown[]): boolean;
  forget(key: string): void;
}

function makeConflictStreaks(): ConflictStreaks {
  /** Key → number of consecutive conflicts. */
  const streaks = new Map<string, number>();
  return {
    isUnreported(key, causes) {
      const inARow = areConflicts(causes) ? (streaks.get(key) ?? 0) + 1 : 0;
      if (inARow === 0) streaks.delete(key);
      else streaks.set(key, inARow);
      return inARow > 0 && inARow < REPORTED_FROM;
    },
    forget: (key) => void streaks.delete(key),
  };
}
