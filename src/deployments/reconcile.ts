// Reconciles one AppDeployment: observe, decide, apply, report.

import { overlayWrite, until } from '../lib/controller/cluster.ts';
import type { Reconcile } from '../lib/controller/controller.ts';
import type { EventRecorder } from '../lib/controller/events.ts';
import { refOf } from '../lib/controller/keys.ts';
import { earliestRequeue } from '../lib/controller/requeue.ts';
import { Conflict, NotFound } from '../lib/errors.ts';
import { JOBS } from '../lib/kube/api-resources.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import type { StorePart } from '../schema/meta.ts';
import type { Settings } from '../schema/settings.ts';
import { adoptObjects, volumeRefusals } from './adopt-database.ts';
import { type AddressOutcome, addressOf, keepsAddress, undecided } from './assess/address.ts';
import { assess, assessRecord, type RecordAssessment } from './assess/assessment.ts';
import { migrationLost, migrationOf, migrationStatusOf, obsoleteMigrations } from './assess/migration.ts';
import { type ActionFailure, type Observed, refTo, said } from './assess/observed.ts';
import { patienceOf, untilExhaustedMs } from './assess/patience.ts';
import { pausedBy } from './assess/pause.ts';
import { contractUnknown } from './assess/pod-contract.ts';
import { mayStartPods } from './assess/pod-starts.ts';
import { recheckAfterMs, withJustStarted } from './assess/pod-startup.ts';
import { retryAfterMs } from './assess/retry.ts';
import { hasServed } from './assess/rollout.ts';
import { isOwn } from './assess/stores.ts';
import { untilOverdueMs, withOverdue } from './assess/terminating-pods.ts';
import { heldRevision, revisionOfStore, runningRevision } from './assess/workloads.ts';
import type { Vanished } from './bypassed-finalizers.ts';
import { makeRevision } from './children/app-revision.ts';
import type { PodContracts } from './children/contracts/contract.ts';
import { newestOf } from './children/contracts.ts';
import { migrationJob } from './children/desired.ts';
import { makeTracingProject } from './children/tracing-project.ts';
import { executePlan, makeOnce, makeRevisionOnce, withAppliedDigest } from './cluster/apply.ts';
import type { Cluster, Clusters } from './cluster/cluster.ts';
import { deleteObjects, removePods } from './cluster/delete.ts';
import { areRaces, causesOf, decisiveOf, failureOf, wasLost } from './cluster/failures.ts';
import { reportRecord, reportRevision, reportTracingProject } from './cluster/report.ts';
import { settleAll } from './cluster/settle-all.ts';
import { addFinalizer, finalize, hasFinalizer } from './finalize.ts';
import { hideFromArgoCd } from './hide-from-argo-cd.ts';
import type { HostRegistry } from './host-registry.ts';
import { look, observe } from './observe.ts';
import { ensurePasswords, lostPassword } from './passwords.ts';
import { dataThere, NO_KEPT_DATA, planAdoption } from './plan/adoption.ts';
import { correctionsOf } from './plan/corrections.ts';
import { partitionByData, withoutUnsafe } from './plan/plan.ts';
import { untilStuckMs } from './plan/pod-dry-run.ts';
import { type Rotation, rotationOf } from './plan/rotation.ts';
import { sharingPods } from './plan/shared-pods.ts';
import { resizeSteps, untilGivenUpMs } from './plan/store-resize.ts';
import { stuckPods } from './plan/stuck-pods.ts';
import { changedSets, childrenOf, planAllowed, prefetchDryRuns, type Wanted } from './plan-children.ts';
import type { DryRunResult } from './pod-dry-run.ts';
import { makePodEvents } from './pod-events.ts';
import { collectRevisions } from './prune-revisions.ts';
import { runsHere } from './record/listener-assignment.ts';
import { imageOf } from './record/revision-image.ts';
import { scaledBy, scaledTo } from './record/scaled.ts';
import { wantedRevision } from './record/wanted-revision.ts';
import { latestStatus, overtakenStatus, unplannedStatus } from './revision-status.ts';
import type { SecretFingerprints } from './secret-fingerprints.ts';
import { withStableMessages } from './stable-messages.ts';
import { readyEntry, statusOf } from './status.ts';
import { takeResizeSteps } from './store-resize.ts';

export interface ReconcilerOptions extends Clusters {
  readonly contents: SecretFingerprints;
  readonly hosts: HostRegistry;
  readonly vanished: Vanished;
  readonly settings: Settings;
  readonly events: EventRecorder;
  readonly now: () => Date;
  /** The commit that the record's branch has now, as far as it was asked for. */
  readonly pushedCommit: (record: AppDeployment) => string | undefined;
  /** All known contracts, except in tests. */
  readonly contracts: PodContracts;
}

/** The result of a pass: the revision, and failures of actions. */
interface ReconcileOutcome {
  readonly latest: AppRevision | undefined;
  readonly refusals: readonly ActionFailure[];
  /** Absent if nothing could be decided. */
  readonly address?: AddressOutcome;
  /** Delay until the next reconcile if nothing changes. */
  readonly requeueAfterMs?: number;
  /** Failures that are retried and not reported in the status. */
  readonly housekeeping?: readonly unknown[];
  /** What others have added to the children; absent if that is not known. */
  readonly foreign?: readonly string[];
}

const NOTHING: ReconcileOutcome = { latest: undefined, refusals: [] };

/** Number of consecutive conflicts after which they are reported. */
const RACES_UNSAID = 3;

/**
 * Makes the reconcile function. It is level-triggered: it reads the current state of the record, whatever enqueued it. A
 * failure is reported in the status before it is thrown.
 */
export function makeReconciler(options: ReconcilerOptions): Reconcile {
  const { contents, hosts, vanished, events, now } = options;
  const { caches } = options.home;
  const podEvents = makePodEvents(now);
  /** Key → number of consecutive conflicts. */
  const races = new Map<string, number>();

  /** Whether this is a conflict that is not reported yet. */
  function isUnsaid(key: string, causes: readonly unknown[]): boolean {
    const inARow = areRaces(causes) ? (races.get(key) ?? 0) + 1 : 0;
    if (inARow === 0) races.delete(key);
    else races.set(key, inARow);
    return inARow > 0 && inARow < RACES_UNSAID;
  }

  return async function reconcile(key, signal, log) {
    const home = until(options.home, signal);
    const target = until(options.target, signal);
    const within = { ...options, home, target };
    const { namespace, name } = refOf(key);
    const swept = await vanished.sweep(key);
    const found = caches.records.get({ namespace, name });
    if (!found) {
      races.delete(key);
      return swept;
    }
    const observed = await observe(found, options, contents, signal);
    if (found.metadata.deletionTimestamp) {
      const teardown = {
        home,
        target,
        lasting: options.home,
        events,
        now: now(),
        paused: pausedBy(found, options.settings),
      };
      return earliestRequeue(swept.requeueAfterMs, (await finalize(observed, teardown, signal)).requeueAfterMs);
    }
    const assessed = assessRecord(observed, options.settings);
    const first = atScaleInForce(observed, assessed);
    const pass = await attempt(first, assessed, within);
    if (pass === 'gone') return {};
    const causes = causesOf([...(first.unread ?? []), ...pass.refusals]);
    if (wasLost(signal) || isUnsaid(key, causes)) throw decisiveOf(causes) ?? signal.reason;
    // A failed pass may have created objects that the caches do not show yet, so its host stays claimed until a pass succeeds.
    if (causes.length === 0) hosts.settled(found);
    const record = caches.records.get({ namespace, name });
    if (!record || record.metadata.uid !== found.metadata.uid) return {};
    // This pass was for the generation that it found. A newer generation is in the queue and not reported on yet.
    if (record.metadata.generation !== found.metadata.generation) return {};
    // What it names was judged above, and a change of that wakes the record again.
    const after = atScaleInForce({ ...first, ...look(record, options) }, assessed);
    // Events are listed live, and only for the report on pods; no decision depends on them.
    const pods = await podEvents.addTo(withJustStarted(withOverdue(after.pods, now()), now()), target.client, log);
    // A pass that exceeded its time limit is aborted and reported, with requests that have their own time limits.
    const reporting = signal.aborted ? options : within;
    const unreported = await report(
      first,
      { ...after, pods, patience: patienceOf(record, options.settings, now()) },
      assessed,
      pass,
      reporting,
    );
    const failed = [...causes, ...(pass.housekeeping ?? []), ...unreported];
    if (failed.length > 0) throw decisiveOf(failed);
    return earliestRequeue(
      swept.requeueAfterMs,
      pass.requeueAfterMs,
      retryAfterMs(record, [...pass.refusals, ...(first.unread ?? [])], now()),
      recheckAfterMs(after.pods, now()),
      untilExhaustedMs(record, options.settings, now()),
      untilStuckMs(after, now()),
      untilGivenUpMs(after, now()),
      untilOverdueMs(after.pods, now()),
    );
  };
}

/** A scale that is refused, or asked for in a pause, is not in force: the one that was reported before it is. */
function atScaleInForce(observed: Observed, { policy, paused }: RecordAssessment): Observed {
  const before = observed.record.status?.resourceSpec;
  if ((policy.is === 'pass' && paused === undefined) || before === undefined) return observed;
  return { ...observed, revisions: observed.revisions.map((revision) => scaledTo(before, revision)) };
}

/** Calls reconcileSpec, and turns an unexpected exception into a failure that is reported. */
async function attempt(
  observed: Observed,
  assessed: RecordAssessment,
  options: ReconcilerOptions,
): Promise<ReconcileOutcome | 'gone'> {
  try {
    return await reconcileSpec(observed, assessed, options);
  } catch (error) {
    return { latest: observed.revisions[0], refusals: [failureOf(error, refTo(observed.record), 'reconcile')] };
  }
}

/** Applies the record to the cluster, as far as it is allowed and possible. */
async function reconcileSpec(
  observed: Observed,
  assessed: RecordAssessment,
  options: ReconcilerOptions,
): Promise<ReconcileOutcome | 'gone'> {
  const { home, target, settings } = options;
  // Everything in it is about to be deleted, and nothing can be created.
  if (observed.namespaceTerminating) return { ...NOTHING, latest: observed.revisions[0] };
  if (assessed.policy.is !== 'pass' || assessed.paused !== undefined || !runsHere(observed.record))
    return { ...NOTHING, latest: observed.revisions[0] };

  const record = hasFinalizer(observed.record) ? observed.record : await addFinalizer(observed.record, home);
  if (!record) return 'gone';
  if ('reason' in record) return { latest: observed.revisions[0], refusals: [record] };
  const newest = newestOf(options.contracts);
  const pushed = options.pushedCommit(record);
  const wanted = wantedRevision(record, observed.revisions, settings, dataThere(observed), newest, pushed);
  const lacksProject = observed.tracingProject === undefined;
  if ('none' in wanted) return { ...NOTHING, refusals: lacksProject ? await ensureTracingProject(record, home) : [] };
  const draft =
    'create' in wanted
      ? sharingPods(observed, makeRevision(record, wanted.create), (revision) =>
          childrenOf({ ...observed, record }, revision, rotationOf(observed, revision).digests, options).map(
            withAppliedDigest,
          ),
        )
      : undefined;
  const rotation = rotationOf(observed, 'create' in wanted ? (draft ?? { spec: wanted.create }) : wanted.current);
  // These run concurrently: the result of a pod's dry run does not depend on whether its revision exists.
  const [project, made, answers] = await settleAll([
    lacksProject ? ensureTracingProject(record, home) : [],
    draft && makeRevisionOnce(record, draft.spec, home),
    draft && assessed.references.is === 'pass' ? prefetchDryRuns(observed, draft, rotation.digests, options) : [],
  ]);
  const there = 'current' in wanted ? wanted.current : made;
  if (!there) return { ...NOTHING, refusals: project };
  if ('reason' in there) return { latest: observed.revisions[0], refusals: [...project, there] };
  const latest = scaledBy(record.spec, there, settings);
  if ('create' in wanted && wanted.ignoredRollback !== undefined)
    warnIgnoredRollback(record, wanted.ignoredRollback, options.events);
  const unknown = contractUnknown(latest, newest);
  if (unknown) return { latest, refusals: [...project, unknown] };

  await reportOvertaken(observed, latest, options);
  const kept = latest.spec.resolved.postgres ? planAdoption(observed) : NO_KEPT_DATA;
  if (kept.refusals.length > 0) return { latest, refusals: [...project, ...kept.refusals] };
  const { taken, refusals: untaken } = await adoptObjects(kept.takeUp, record, target);
  if (untaken.length > 0) return { latest, refusals: [...project, ...untaken] };
  const now: Observed = { ...observed, record, children: replaceByUid(observed.children, taken) };
  return bringChildren(now, { assessed, latest, rotation, refusals: project, answers }, options);
}

/** Results of a pass before the children are applied. */
interface Prepared {
  readonly assessed: RecordAssessment;
  readonly latest: AppRevision;
  readonly rotation: Rotation;
  readonly refusals: readonly ActionFailure[];
  /** Results of pods that were dry-run meanwhile. */
  readonly answers: readonly DryRunResult[];
}

/** Applies the children of the revision. */
async function bringChildren(
  observed: Observed,
  { assessed, latest, rotation, refusals: earlier, answers }: Prepared,
  options: ReconcilerOptions,
): Promise<ReconcileOutcome> {
  const { home, target, settings } = options;
  const { record } = observed;
  const address = takeAddress(observed, assessed.asked, latest, options);
  // First and independent of later failures, because the host may belong to another record by now.
  const lost = keepsAddress(address) ? [] : await removeAddress(observed, target);
  const host = address.is === 'held' && !observed.addressKindMissing ? address.host : undefined;
  const made: Wanted['made'] = (revision, digests) =>
    childrenOf(observed, revision, digests, options, host).map(withAppliedDigest);
  const planned = await planAllowed(
    {
      observed,
      latest,
      isComplete: assessed.references.is === 'pass',
      guard: (stores) => guardStores(stores, observed, target),
      digests: rotation.digests,
      made,
      answers,
    },
    options,
  );
  const [data, rest] = partitionByData(planned.actions);
  const { lost: unusable } = planned;
  const volumes = unusable.length > 0 ? [] : await executePlan(data, record, target);
  const before = [...earlier, ...lost, ...unusable, ...planned.refusals, ...volumes];
  const performed = await executePlan(withoutUnsafe(rest, before), record, target);
  reportCorrections(observed, latest, [...planned.actions], [...volumes, ...performed], options.events);
  const changed = changedSets(planned.actions, target);
  // What stops no rollout stops no migration.
  const migration =
    planned.migrates === true && changed.size === 0 && mayStartPods([...before, ...performed])
      ? await startMigration(observed, latest, options)
      : await lostMigration(observed, latest, target);
  const mayReplace = mayStartPods(before);
  const removed = mayReplace ? await removePods(stuckPods(observed, changed), target) : [];
  const resized = mayReplace ? await takeResizeSteps(resizeSteps(observed, changed, options.now()), target) : [];
  const housekeeping = [
    ...(await collectRevisions(observed, settings.revisions.kept, home)),
    ...causesOf(await deleteObjects(obsoleteMigrations(observed, latest), target)),
    ...causesOf(await hideFromArgoCd(observed, options)),
  ];
  return {
    latest,
    refusals: [...before, ...performed, ...migration, ...removed, ...resized],
    address,
    housekeeping,
    ...(planned.foreign && { foreign: planned.foreign }),
    ...(rotation.waitMs !== undefined && { requeueAfterMs: rotation.waitMs }),
  };
}

/** Tells people whose change was put back. */
function reportCorrections(
  { record }: Observed,
  { status }: AppRevision,
  actions: Parameters<typeof correctionsOf>[0],
  failures: readonly ActionFailure[],
  events: EventRecorder,
): void {
  const isObserved = record.status?.observedGeneration === record.metadata.generation;
  const isDeployed = status?.state === 'DEPLOYED' && isObserved;
  for (const note of correctionsOf(actions, failures, isDeployed))
    events.record({ regarding: record, type: 'Normal', reason: 'DriftCorrected', action: 'Repair', note });
}

/** What makes own stores unusable. Their passwords come first: a volume without one means that the password was lost. */
async function guardStores(
  stores: readonly StorePart[],
  observed: Observed,
  target: Cluster,
): Promise<readonly ActionFailure[]> {
  const passwords = await ensurePasswords(observed, stores, target);
  return [...passwords, ...(stores.includes('postgres') ? await volumeRefusals(observed, target) : [])];
}

async function startMigration(
  observed: Observed,
  revision: AppRevision,
  { target, settings, contracts }: ReconcilerOptions,
): Promise<ActionFailure[]> {
  const { record, tenantId = '' } = observed;
  const job = migrationJob({ record, revision, tenantId, settings }, contracts);
  const made = job && (await makeOnce(job, record, target));
  return made && 'reason' in made ? [made] : [];
}

/** A Job that the cache does not show is asked for: the cache may be older than the status that names it. */
async function lostMigration(observed: Observed, revision: AppRevision, target: Cluster): Promise<ActionFailure[]> {
  if (migrationOf(observed, revision).is !== 'lost') return [];
  const lost = migrationLost(observed, revision);
  const place = { namespace: observed.record.metadata.namespace ?? '', name: lost.ref.name };
  try {
    overlayWrite(target.caches, await target.client.get(JOBS, place));
    return [];
  } catch (error) {
    return [error instanceof NotFound ? lost : failureOf(error, lost.ref, 'read')];
  }
}

async function removeAddress(observed: Observed, target: Cluster): Promise<ActionFailure[]> {
  const object = addressOf(observed);
  return object && object.metadata.deletionTimestamp === undefined ? deleteObjects([object], target) : [];
}

/** The address that the record may have. Decided synchronously, so that exactly one of several concurrent claims succeeds. */
function takeAddress(
  observed: Observed,
  asked: RecordAssessment['asked'],
  latest: AppRevision,
  { hosts }: ReconcilerOptions,
): AddressOutcome {
  if (asked.is !== 'allowed') return asked;
  if (imageOf(latest) === undefined && !heldRevision(observed, latest)) return undecided(observed, asked);
  const { host } = asked;
  const holder = hosts.take(observed.record, host);
  if (holder.uid === observed.record.metadata.uid) return { is: 'held', host };
  const isOwnTenant = holder.namespace === observed.record.metadata.namespace;
  return { is: 'taken', host, ...(isOwnTenant && { by: holder.name }) };
}

/** Tells people who set rollbackTo without the old values that no rollback happens. */
function warnIgnoredRollback(record: AppDeployment, note: string, events: EventRecorder): void {
  events.record({ regarding: record, type: 'Warning', reason: 'RollbackIgnored', action: 'Deploy', note });
}

/** `objects` with those in `written` replaced by uid. */
function replaceByUid(objects: readonly KubeObject[], written: readonly KubeObject[]): readonly KubeObject[] {
  const later = new Map(written.map((object) => [object.metadata.uid, object]));
  return objects.map((object) => later.get(object.metadata.uid) ?? object);
}

// An existing project of that name is reused, whoever created it.
async function ensureTracingProject(record: AppDeployment, home: Cluster): Promise<ActionFailure[]> {
  const made = await makeOnce(makeTracingProject(record), record, home);
  return 'reason' in made && made.reason !== 'NameConflict' ? [made] : [];
}

/**
 * Reports what became of the older revisions while it can still be seen: before the newer one touches anything. If this write
 * fails, the report at the end of the pass repeats it; only a crash in between can lose it.
 */
async function reportOvertaken(before: Observed, latest: AppRevision, options: ReconcilerOptions): Promise<void> {
  const now = options.now();
  const overtaken = before.revisions.filter(({ spec }) => spec.id !== latest.spec.id);
  await Promise.allSettled(
    overtaken.map((revision) => {
      const status = overtakenStatus(revision, () => hasServed(before, revision), now);
      return reportRevision(before.record, revision, status, options.home, options.events);
    }),
  );
}

/**
 * What is lost of the own PostgreSQL, where the pass did not come to it: the record is paused, refused, or waits, or only pods that
 * are being replaced need it. It stands in DatabaseReady, and Ready keeps its reason.
 */
async function unseenDataLoss(
  observed: Observed,
  { latest, address }: ReconcileOutcome,
  { target }: ReconcilerOptions,
): Promise<ActionFailure[]> {
  const judged = latest && revisionOfStore('postgres', observed, latest);
  const isOwnHere = judged !== undefined && isOwn('postgres', judged) && runsHere(observed.record);
  const isPlanned = address !== undefined && judged === latest;
  if (isPlanned || !isOwnHere || planAdoption(observed).refusals.length > 0) return [];
  const found = await settleAll([lostPassword(observed, target), volumeRefusals(observed, target)]);
  return found.flat().filter(({ reason }) => reason === 'PasswordMissing' || reason === 'VolumeMissing');
}

/** Reports the status of revisions, tracing project and record. Returns failures; one failure does not prevent the other reports. */
async function report(
  before: Observed,
  after: Observed,
  assessed: RecordAssessment,
  pass: ReconcileOutcome,
  options: ReconcilerOptions,
): Promise<unknown[]> {
  const { home, events } = options;
  const now = options.now();
  const { record } = after;
  const { latest } = pass;
  const refusals = withStableMessages([...pass.refusals, ...(after.unread ?? [])], record);
  const address = pass.address ?? undecided(after, assessed.asked);
  const failures = [...refusals, ...(await unseenDataLoss(after, pass, options))];
  const assessment = assess(after, assessed, {
    latest,
    address,
    failures,
    ...(pass.foreign && { foreign: pass.foreign }),
  });
  const unsaid: ActionFailure[] = [];
  const errors: unknown[] = [];
  const say = async (object: KubeObject, saying: () => Promise<void>): Promise<void> => {
    try {
      await saying();
    } catch (error) {
      errors.push(error);
      const isGone = error instanceof NotFound || error instanceof Conflict;
      if (!isGone) unsaid.push(failureOf(error, refTo(object), 'write', `the status of ${said(refTo(object))}`));
    }
  };
  const judged = { latest, assessment, address };
  const ready = readyEntry({ ...judged, observed: after, refusals });
  const statuses = after.revisions.map((revision) => {
    const { id } = revision.spec;
    const migration = migrationStatusOf(after, revision);
    if (id !== latest?.spec.id)
      return { ...overtakenStatus(revision, () => hasServed(before, revision), now), ...(migration && { migration }) };
    const status = latestStatus(revision, assessment.rollout, now, ready, runningRevision(after)?.spec.id === id);
    return { ...(pass.address ? status : unplannedStatus(revision, status)), ...(migration && { migration }) };
  });
  for (const [index, revision] of after.revisions.entries()) {
    const status = statuses[index] ?? {};
    // oxlint-disable-next-line no-await-in-loop -- newest first, so that a crash in between leaves the older ones to the next pass
    await say(revision, () => reportRevision(record, revision, status, home, events));
  }
  const revisions = after.revisions.map((revision, index) => ({
    ...revision,
    status: { ...statuses[index], ...(revision.status?.build && { build: revision.status.build }) },
  }));
  const observed: Observed = { ...after, revisions };
  const { tracingProject } = observed;
  if (tracingProject) await say(tracingProject, () => reportTracingProject(tracingProject, record, home, now));
  const status = statusOf({ ...judged, observed, refusals: [...refusals, ...withStableMessages(unsaid, record)] }, now);
  try {
    await reportRecord(record, status, home, events);
  } catch (error) {
    // Deleted during the pass.
    if (error instanceof NotFound) return [];
    errors.push(error);
  }
  return errors;
}
