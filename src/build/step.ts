// The next step of a build: its new status and the next action. It depends only on the observed state, so a restarted
// controller continues where the previous one stopped.

import type { Job } from '../deploy/assess/jobs.ts';
import { commitOf, commitWordsOf, isBuilt, lacksCommit, sameBuild } from '../deploy/record/build-source.ts';
import { buildName } from '../deploy/record/names.ts';
import { interrupterOf } from '../deploy/record/requester.ts';
import { imageOf } from '../deploy/record/revision-image.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { type BuildPhase, type BuildReason, type BuildStatus, FINAL_PHASES, isBegun } from '../kinds/build.ts';
import { rfc3339 } from '../kinds/conditions.ts';
import type { BuildSettings } from '../kinds/settings.ts';
import type { ObservedBuild } from './observed.ts';
import { type BuildOutcome, CATCH_UP_MS, isCatchingUp, outcomeOf, patienceEndsMs } from './outcome.ts';
import { isHindered, isInterrupted, nextTurns, withTurn } from './turns.ts';

export interface BuildStep {
  /** The new status. Absent if it does not change. */
  readonly status?: BuildStatus;
  /**
   * `resolve`: ask the code host for the commit of the ref. `prove`: check that what hindered the start is gone. `start`: create the Job and its Secrets if they are
   * missing, and resume the Job. `removeJob`: delete the Job. `forgetCredentials`: delete the Secrets and keep the Job.
   */
  readonly act?: 'resolve' | 'prove' | 'start' | 'removeJob' | 'forgetCredentials';
  /** Delay after which the build is reconciled even if nothing changes. */
  readonly requeueAfterMs?: number;
}

/** The record must not be in deletion. */
export function nextBuildStep(observed: ObservedBuild, now: Date): BuildStep {
  const { revision, record, job, isPaused } = observed;
  const build = revision.status?.build;
  if (!isBuilt(revision)) return job && !isPaused ? { act: 'removeJob' } : {};
  if (build && FINAL_PHASES.has(build.phase)) return isPaused ? {} : finished(observed, build, now);
  if (isPaused) return build ? paused(observed, build, now) : {};
  if (isInterrupted(record, revision))
    return { status: interrupted(build, interrupterOf(record), now), ...(job && { act: 'removeJob' }) };
  const { failure } = revision.spec.file ?? {};
  if (failure) {
    const { commit } = revision.spec;
    const before = build ?? (commit === undefined ? undefined : ({ commit } as BuildStatus));
    return { status: ended(before, 'Failed', failure.reason, failure.message, now), ...(job && { act: 'removeJob' }) };
  }
  if (!build) return { status: firstStatus(observed, now), requeueAfterMs: 1 };
  if (build.phase === 'Queued') return runs(job) ? watched(observed, build, now) : queued(observed, build, now);
  return isUnwanted(observed, build) ? cancelled(build, job, now) : begun(observed, build, now);
}

function firstStatus({ revision, record }: ObservedBuild, now: Date): BuildStatus {
  const { commit } = revision.spec;
  const reason = lacksCommit(record, revision) ? 'ReadingCommit' : 'WaitingForTurn';
  return {
    phase: 'Queued',
    reason,
    message: WAITING[reason],
    queuedAt: rfc3339(now),
    ...(commit !== undefined && { commit, ...commitWordsOf(revision) }),
  };
}

/** A build that has its turn and no pod gives it back: while it is paused it gets no pod. */
function paused(observed: ObservedBuild, build: BuildStatus, now: Date): BuildStep {
  if (runs(observed.job)) return watched(observed, build, now);
  const isWaiting = build.phase === 'Queued' && !isHindered(build);
  if (build.phase !== 'AwaitingBuild' && !isWaiting) return {};
  return stillQueued(queuedAgain(build, 'Paused', WAITING.Paused));
}

/** A build that had its turn and could not begin. It still counts as waiting since it was queued. */
export function queuedAgain(
  { job: _job, ...build }: BuildStatus,
  reason: BuildReason | (string & {}),
  message: string,
): BuildStatus {
  return { ...build, phase: 'Queued', reason, message };
}

function runs(job: Job | undefined): boolean {
  return job !== undefined && job.spec?.suspend !== true;
}

/**
 * Whether nobody wants the image of a build that has begun: a newer revision, which is not built from the same source. A pod that
 * has not begun to build is never wanted then, another one may finish by a setting.
 */
function isUnwanted({ revision, siblings, settings, record }: ObservedBuild, { phase }: BuildStatus): boolean {
  const newest = siblings[0];
  if (newest === undefined || newest.spec.id === revision.spec.id) return false;
  if (phase === 'Building' && settings.finishSkipped) return false;
  if (!isBuilt(newest)) return true;
  return !lacksCommit(record, newest) && !sameBuild(newest, revision);
}

function cancelled(build: BuildStatus, job: Job | undefined, now: Date): BuildStep {
  return {
    status: ended(
      build,
      'Skipped',
      'Superseded',
      'A newer revision replaced this one, so the build was cancelled.',
      now,
    ),
    ...(job && { act: 'removeJob' }),
  };
}

/** What a queued build says that nothing hinders. */
export const WAITING = {
  WaitingForTurn: 'The build waits for its turn: settings.builds.concurrency limits how many run at once.',
  ReadingCommit: 'Davit is reading the commit of the ref from the code host.',
  Paused:
    'No build starts while the deployment or Davit is paused. See condition Ready of the deployment for how to continue.',
} as const satisfies Partial<Record<BuildReason, string>>;

function queued(observed: ObservedBuild, build: BuildStatus, now: Date): BuildStep {
  const { revision, siblings, others, contenderOf, settings, record, job } = observed;
  const newest = siblings[0];
  if (newest && newest.spec.id !== revision.spec.id)
    return {
      status: ended(
        build,
        'Skipped',
        'Superseded',
        'A newer revision replaced this one before the build started.',
        now,
      ),
    };
  if (lacksCommit(record, revision)) return { act: 'resolve' };
  const same = siblings.filter((other) => other.spec.id !== revision.spec.id && sameBuild(other, revision));
  const built = same.find((other) => imageOf(other) !== undefined);
  if (built) return { status: reused(build, built, now) };
  const building = same.find(({ status }) => isBegun(status?.build));
  if (building)
    return stillQueued({
      ...build,
      reason: 'SameSourceBuilding',
      message: `Revision ${building.spec.id} is building the same source. This revision will use its image.`,
    });
  if (isHindered(build) && isLate(build, settings, now))
    return { status: notStarted(build, now), ...(job && { act: 'removeJob' }) };
  // It asks for a turn when that is gone.
  if (isHindered(build)) return { act: 'prove' };
  if (!nextTurns(others, settings.concurrency, contenderOf).includes(revision.spec.id))
    return stillQueued({ ...build, reason: 'WaitingForTurn', message: whoseLimit(observed) });
  return {
    status: {
      ...build,
      phase: 'AwaitingBuild',
      reason: 'PodStarting',
      message: 'The build pod is being created.',
      job: buildName(revision.spec.id),
      startedAt: build.startedAt ?? rfc3339(now),
    },
    act: 'start',
  };
}

/** Which limit a build waits for that nothing else hinders. */
function whoseLimit({ revision, others, contenderOf, settings }: ObservedBuild): string {
  const { perTenant } = settings.concurrency;
  const { namespace = '' } = revision.metadata;
  const own = withTurn(others, contenderOf).filter(({ metadata }) => metadata.namespace === namespace).length;
  if (own < perTenant)
    return 'The build waits for its turn. All turns of the platform are taken, also by other tenants (settings.builds.concurrency.total). The platform team sees them: kubectl get appr -A';
  const running = own === 1 ? '1 build of this namespace runs' : `${own} builds of this namespace run`;
  return `The build waits for its turn: ${running}, the limit of a tenant (settings.builds.concurrency.perTenant). To see them: kubectl get appr -n ${namespace}`;
}

/** The time that a build waits without a hindrance counts against no limit. */
function stillQueued({ startedAt: _tried, ...status }: BuildStatus): BuildStep {
  return { status };
}

/** Whether a build has had its turn for longer than a build may take, and has not begun. */
function isLate({ startedAt }: BuildStatus, { timeoutSeconds }: BuildSettings, now: Date): boolean {
  return now.getTime() - Date.parse(startedAt ?? '') > timeoutSeconds * 1000;
}

function notStarted(build: BuildStatus, now: Date): BuildStatus {
  const { reason, message } = build;
  const isHindered = reason !== undefined && reason !== 'PodStarting';
  const why = isHindered && message !== undefined ? ` ${message}` : ' Create a new revision to build again.';
  return ended(build, 'Failed', isHindered ? reason : 'TimedOut', `The build could not be started in time.${why}`, now);
}

function reused(build: BuildStatus, from: AppRevision, now: Date): BuildStatus {
  const image = imageOf(from) ?? '';
  const digest = /sha256:[0-9a-f]{64}$/.exec(image)?.[0];
  const commit = build.commit ?? commitOf(from);
  return {
    ...build,
    phase: 'Built',
    reason: 'ImageReused',
    message: `The same source was built for revision ${from.spec.id} with the same commands. This revision uses its image.`,
    image,
    builtBy: from.status?.build?.builtBy ?? from.spec.id,
    ...(digest !== undefined && { digest }),
    ...(commit !== undefined && { commit }),
    finishedAt: rfc3339(now),
  };
}

function begun(observed: ObservedBuild, build: BuildStatus, now: Date): BuildStep {
  const { job, revision, settings } = observed;
  if (job?.metadata.deletionTimestamp !== undefined || (job === undefined && build.phase === 'Building'))
    return {
      status: ended(
        build,
        'Failed',
        'BuilderGone',
        `Job ${buildName(revision.spec.id)} was deleted while it ran. Create a new revision to build again.`,
        now,
      ),
    };
  if (runs(job)) return watched(observed, build, now);
  if (!isLate(build, settings, now)) return { act: 'start' };
  return { status: notStarted(build, now), ...(job && { act: 'removeJob' }) };
}

function watched({ job, pod, repository, record }: ObservedBuild, build: BuildStatus, now: Date): BuildStep {
  if (job === undefined) return {};
  const found = outcomeOf(job, pod, build, now);
  const message = found.message.replace('kubectl davit logs NAME', `kubectl davit logs ${record.metadata.name}`);
  const outcome = { ...found, message };
  return {
    status: withOutcome(build, outcome, repository, now),
    ...(outcome.phase === 'AwaitingBuild' && { requeueAfterMs: patienceEndsMs(build, now) }),
    ...(isCatchingUp(job, now) && { requeueAfterMs: CATCH_UP_MS }),
    ...(FINAL_PHASES.has(outcome.phase) && { requeueAfterMs: 1 }),
  };
}

function withOutcome(before: BuildStatus, outcome: BuildOutcome, repository: string, now: Date): BuildStatus {
  const { phase, reason, message, commit, digest, line, instruction } = outcome;
  return {
    ...before,
    phase,
    reason,
    message,
    ...(commit !== undefined && { commit }),
    ...(digest !== undefined && { digest, image: `${repository}@${digest}` }),
    ...(line !== undefined && { line }),
    ...(instruction !== undefined && { instruction }),
    ...(FINAL_PHASES.has(phase) && { finishedAt: rfc3339(now) }),
  };
}

/** The status of a build that ends other than by the outcome of its pod. */
export function ended(
  before: BuildStatus | undefined,
  phase: BuildPhase & ('Failed' | 'Skipped' | 'Interrupted'),
  reason: BuildReason | (string & {}),
  message: string,
  now: Date,
): BuildStatus {
  return { ...before, phase, reason, message, finishedAt: rfc3339(now) };
}

function interrupted(before: BuildStatus | undefined, by: string | undefined, now: Date): BuildStatus {
  const message = `The build was interrupted${by === undefined ? '' : ` by ${by}`}. Create a new revision to build again.`;
  const status = ended(before, 'Interrupted', 'InterruptedByUser', message, now);
  return by === undefined ? status : { ...status, interruptedBy: by };
}

/** A finished build keeps its Job for inspection, for a time that the settings limit, but not its credentials. */
function finished({ job, settings }: ObservedBuild, { phase, finishedAt = '' }: BuildStatus, now: Date): BuildStep {
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return {};
  const left = Date.parse(finishedAt) + settings.keepFinishedSeconds * 1000 - now.getTime();
  if (phase === 'Interrupted' || phase === 'Skipped' || !(left > 0)) return { act: 'removeJob' };
  return { act: 'forgetCredentials', requeueAfterMs: left };
}
