// The next step of one build: what is said of it, and what is done. A pure function of what was observed, so that whatever
// ended the process, the next look goes on where the last one was.

import type { AppRevision } from '../../api/app-revision.ts';
import { type BuildPhase, type BuildReason, type BuildStatus, FINAL_PHASES, isBegun } from '../../api/build.ts';
import { rfc3339 } from '../../api/conditions.ts';
import { INTERRUPT_ANNOTATION } from '../../api/meta.ts';
import { commitOf, isBuilt, sameBuild } from '../../record/build-source.ts';
import { buildName } from '../../record/names.ts';
import { imageOf } from '../../record/revision-image.ts';
import type { ObservedBuild } from './observed.ts';
import { type BuildOutcome, outcomeOf, patienceEndsMs } from './outcome.ts';
import { nextTurns } from './turns.ts';

export interface BuildStep {
  /** What is to be said; absent: what stands there. */
  readonly status?: BuildStatus;
  /**
   * resolve: ask the code host which commit the ref means. start: make the Job and its Secrets, as far as they are not there,
   * and let it run. removeJob: it is not needed any more. forgetCredentials: the Job stays, its Secrets go.
   */
  readonly act?: 'resolve' | 'start' | 'removeJob' | 'forgetCredentials';
  /** When to look again even if nothing changes. */
  readonly requeueAfterMs?: number;
}

/** For a record that is not being deleted. */
export function nextStep(observed: ObservedBuild, now: Date): BuildStep {
  const { revision, record, job, isPaused } = observed;
  const build = revision.status?.build;
  if (!isBuilt(revision)) return job && !isPaused ? { act: 'removeJob' } : {};
  if (build && FINAL_PHASES.has(build.phase)) return isPaused ? {} : finished(observed, build, now);
  if (isPaused) return build && job ? watched(observed, build, now) : {};
  const interrupted =
    record.metadata.annotations?.[INTERRUPT_ANNOTATION]?.toLowerCase() === revision.spec.id.toLowerCase();
  if (interrupted)
    return {
      status: ended(
        build,
        'Interrupted',
        'InterruptedByUser',
        'The build was interrupted. Ask for a new revision to build again.',
        now,
      ),
      ...(job && { act: 'removeJob' }),
    };
  if (!build) {
    const { commit } = revision.spec;
    const waiting: BuildStatus = {
      phase: 'Queued',
      reason: 'WaitingForTurn',
      message: WAITING,
      queuedAt: rfc3339(now),
    };
    return { status: { ...waiting, ...(commit !== undefined && { commit }) }, requeueAfterMs: 1 };
  }
  return build.phase === 'Queued' ? queued(observed, build, now) : begun(observed, build, now);
}

const WAITING = 'The build waits for its turn: it begins when another one ends.';

function queued(
  { revision, siblings, others, settings, record }: ObservedBuild,
  build: BuildStatus,
  now: Date,
): BuildStep {
  const newest = siblings[0];
  if (newest && newest.spec.id !== revision.spec.id)
    return {
      status: ended(build, 'Skipped', 'Superseded', 'A newer revision took its place before the build began.', now),
    };
  if (record.spec.source === 'codehost' && commitOf(revision) === undefined) return { act: 'resolve' };
  const same = siblings.filter((other) => other.spec.id !== revision.spec.id && sameBuild(other, revision));
  const built = same.find((other) => imageOf(other) !== undefined);
  if (built) return { status: reused(build, built, now) };
  const building = same.find(({ status }) => isBegun(status?.build));
  if (building) return said(build, `Revision ${building.spec.id} is building the same source: its image will be used.`);
  if (!nextTurns(others, settings.concurrency).includes(revision.spec.id)) return said(build, WAITING);
  return {
    status: {
      ...build,
      phase: 'AwaitingBuild',
      reason: 'PodStarting',
      message: 'The pod that builds is being made.',
      job: buildName(revision.spec.id),
      startedAt: rfc3339(now),
    },
    act: 'start',
  };
}

function said(build: BuildStatus, message: string): BuildStep {
  return { status: { ...build, reason: 'WaitingForTurn', message } };
}

function reused(build: BuildStatus, from: AppRevision, now: Date): BuildStatus {
  const image = imageOf(from) ?? '';
  const digest = /sha256:[0-9a-f]{64}$/.exec(image)?.[0];
  const commit = build.commit ?? commitOf(from);
  return {
    ...build,
    phase: 'Built',
    reason: 'ImageReused',
    message: `The same source was built for revision ${from.spec.id} with the same commands: its image is used.`,
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
        `Job ${buildName(revision.spec.id)} was deleted while it ran. Ask for a new revision to build again.`,
        now,
      ),
    };
  if (job !== undefined && job.spec?.suspend !== true) return watched(observed, build, now);
  const { startedAt = '' } = build;
  const isOver = now.getTime() - Date.parse(startedAt) > settings.timeoutSeconds * 1000;
  if (!isOver) return { act: 'start' };
  const { reason = 'TimedOut', message = '' } = build;
  return {
    status: ended(build, 'Failed', reason, `The build could not be started in time. ${message}`.trim(), now),
    ...(job && { act: 'removeJob' }),
  };
}

function watched({ job, pod, repository }: ObservedBuild, build: BuildStatus, now: Date): BuildStep {
  if (job === undefined) return {};
  const outcome = outcomeOf(job, pod, build, now);
  return {
    status: withOutcome(build, outcome, repository, now),
    ...(outcome.phase === 'AwaitingBuild' && { requeueAfterMs: patienceEndsMs(build, now) }),
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

/** How a build ends that no pod has ended. */
export function ended(
  before: BuildStatus | undefined,
  phase: BuildPhase & ('Failed' | 'Skipped' | 'Interrupted'),
  reason: BuildReason | (string & {}),
  message: string,
  now: Date,
): BuildStatus {
  return { ...before, phase, reason, message, finishedAt: rfc3339(now) };
}

/** A build that has ended keeps its Job for people to look at, and never its credentials. */
function finished({ job, settings }: ObservedBuild, { phase, finishedAt = '' }: BuildStatus, now: Date): BuildStep {
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return {};
  const left = Date.parse(finishedAt) + settings.keepFinishedSeconds * 1000 - now.getTime();
  if (phase === 'Interrupted' || phase === 'Skipped' || !(left > 0)) return { act: 'removeJob' };
  return { act: 'forgetCredentials', requeueAfterMs: left };
}
