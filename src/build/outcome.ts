// Derives the progress of a build from its Job, its pod and its last status only, so that a restart loses nothing.

import { failsToPull, pullFailureOf } from '../deploy/assess/image-pull.ts';
import type { Job } from '../deploy/assess/jobs.ts';
import type { ContainerStatus, ObservedCondition, Pod } from '../deploy/assess/observed.ts';
import { isBuilt } from '../deploy/record/build-source.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { type BuildPhase, type BuildReason, type BuildStatus, FINAL_PHASES } from '../kinds/build.ts';
import { quoted, shortened } from '../kinds/text.ts';
import { type BuildFailure, buildFailure, fetchFailure, planFailure } from './failures.ts';

export interface BuildOutcome {
  readonly phase: BuildPhase & ('AwaitingBuild' | 'Building' | 'Built' | 'Failed');
  readonly reason: string;
  readonly message: string;
  readonly commit?: string;
  readonly digest?: string;
  readonly line?: number;
  readonly instruction?: string;
}

/** Conditions of a failed Job. The first is there while its pods are ending. */
const FAILED: ReadonlySet<string> = new Set(['FailureTarget', 'Failed']);

/**
 * After this time without a pod or with an image that cannot be pulled, the obstacle is reported as one that a person
 * must remove.
 */
const PATIENCE_MS = 120_000;

/** Time that the watch of pods has to show the end of the pod of a failed Job. Afterwards the pod counts as gone. */
export const CATCH_UP_MS = 10_000;

/** `before` is the last status of the build. Its `startedAt` is the time at which the Job was created. */
export function outcomeOf(job: Job, pod: Pod | undefined, before: BuildStatus, now: Date): BuildOutcome {
  const commit = commitFrom(containerOf(pod, 'fetch'));
  const progress = progressOf(job, pod, before, now);
  // A build that runs cannot wait for its pod again: its pod or its Job was deleted, and the other's end is observed soon.
  const isPodGone = before.phase === 'Building' && progress.phase === 'AwaitingBuild';
  return {
    ...(isPodGone ? buildOutcome('Building', 'Running', 'The build pod no longer exists.') : progress),
    ...(commit !== undefined && { commit }),
  };
}

function progressOf(job: Job, pod: Pod | undefined, before: BuildStatus, now: Date): BuildOutcome {
  const fetch = containerOf(pod, 'fetch');
  const plan = containerOf(pod, 'plan');
  const build = containerOf(pod, 'build');
  const fetched = fetch?.state?.terminated;
  const planned = plan?.state?.terminated;
  const built = build?.state?.terminated;
  if (built?.exitCode === 0) {
    const digest = /sha256:[0-9a-f]{64}/.exec(built.message ?? '')?.[0];
    if (digest === undefined)
      return failed({
        reason: 'BuilderFailed',
        message: 'The builder did not report which image it pushed. Create a new revision.',
      });
    return { ...buildOutcome('Built', 'ImageBuilt', 'The image was built and pushed.'), digest };
  }
  // What ended the pod from outside comes first: its containers then ended by a signal, whatever they were doing.
  const lost = evicted(pod);
  if (lost) return failed(lost);
  const failure = failedCondition(job);
  if (failure?.reason === 'DeadlineExceeded') return failed(overdue(before));
  if (fetched && fetched.exitCode !== 0) return failed(fetchFailure(fetched));
  if (planned && planned.exitCode !== 0) return failed(planFailure(planned));
  if (built && built.exitCode !== 0) return failed(buildFailure(built, planned?.message));
  if (failure && !isCatchingUp(job, now))
    return failed({
      reason: 'BuilderGone',
      message: `The build pod no longer exists: ${quoted(failure.message)}. Create a new revision to build again.`,
    });
  if (pod === undefined) return withoutPod(job, before, now);
  const stuck = hindrance(pod, [fetch, plan, build], before, now);
  if (stuck) return stuck;
  if (build?.state?.running || planned) return buildOutcome('Building', 'Running', 'The image is being built.');
  if (plan?.state?.running || fetched)
    return buildOutcome('Building', 'Planning', 'The configuration file is being turned into a Dockerfile.');
  if (fetch?.state?.running) return buildOutcome('Building', 'Fetching', 'The source is being fetched.');
  return buildOutcome('AwaitingBuild', 'PodStarting', `Pod ${pod.metadata.name} is being started.`);
}

/** Whether the Job has failed so recently that its pod may not have been observed as it is. */
export function isCatchingUp(job: Job, now: Date): boolean {
  return Math.abs(now.getTime() - Date.parse(failedCondition(job)?.lastTransitionTime ?? '')) < CATCH_UP_MS;
}

function failedCondition({ status }: Job): ObservedCondition | undefined {
  return status?.conditions?.find((condition) => FAILED.has(condition.type) && condition.status === 'True');
}

/** Milliseconds until PATIENCE_MS has passed, at least 1,000. Afterwards only a change of Job or pod has news. */
export function patienceEndsMs({ startedAt }: BuildStatus, now: Date): number {
  const left = Date.parse(startedAt ?? '') + PATIENCE_MS - now.getTime();
  return left > 0 ? Math.max(1000, left) : PATIENCE_MS;
}

function buildOutcome(phase: BuildOutcome['phase'], reason: BuildReason, message: string): BuildOutcome {
  return { phase, reason, message };
}

function failed(failure: BuildFailure): BuildOutcome {
  return { phase: 'Failed', ...failure };
}

function containerOf(pod: Pod | undefined, name: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].find((container) => container.name === name);
}

function commitFrom(fetch: ContainerStatus | undefined): string | undefined {
  const { exitCode, message = '' } = fetch?.state?.terminated ?? {};
  return exitCode === 0 ? /^[0-9a-f]{40,64}$/.exec(message.trim())?.[0] : undefined;
}

function evicted(pod: Pod | undefined): BuildFailure | undefined {
  const { reason, message, phase } = pod?.status ?? {};
  if (
    phase !== 'Failed' ||
    (reason !== 'Evicted' && reason !== 'Preempting' && reason !== 'NodeLost' && reason !== 'Terminated')
  )
    return undefined;
  if (/ephemeral|emptydir|local storage/i.test(message ?? ''))
    return {
      reason: 'OutOfDisk',
      message: `The build was stopped: ${quoted(message)}. Use less disk, or ask the platform team to raise settings.builds.resources.storageGi.`,
    };
  return {
    reason: 'BuilderGone',
    message: `The build pod was stopped: ${quoted(message ?? reason)}. Create a new revision to build again.`,
  };
}

/** For a build that exceeded its time limit, an earlier obstacle is the better reason. */
function overdue({ reason, message, phase }: BuildStatus): BuildFailure {
  const inTheWay = ['Unschedulable', 'PodRefused', 'BuilderImagePullFailed'];
  if (phase === 'AwaitingBuild' && reason !== undefined && inTheWay.includes(reason))
    return { reason, message: message ?? '' };
  return {
    reason: 'TimedOut',
    message:
      'The build took longer than the platform allows. Make it faster, or ask the platform team to raise settings.builds.timeoutSeconds.',
  };
}

function withoutPod({ metadata }: Job, before: BuildStatus, now: Date): BuildOutcome {
  if (!isOutOfPatience(before, now))
    return buildOutcome('AwaitingBuild', 'PodStarting', 'The build pod is being created.');
  return buildOutcome(
    'AwaitingBuild',
    'PodRefused',
    `The build's Job has no pod. Run kubectl describe job ${metadata.name} -n ${metadata.namespace} to see the cause, such as a quota or the namespace's Pod Security level, which must be privileged.`,
  );
}

function isOutOfPatience({ startedAt }: BuildStatus, now: Date): boolean {
  return now.getTime() - Date.parse(startedAt ?? '') >= PATIENCE_MS;
}

function hindrance(
  pod: Pod,
  containers: readonly (ContainerStatus | undefined)[],
  before: BuildStatus,
  now: Date,
): BuildOutcome | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return buildOutcome(
      'AwaitingBuild',
      'Unschedulable',
      `No node can run pod ${pod.metadata.name}: ${quoted(scheduled.message)}. The platform team can lower settings.builds.resources, or add capacity.`,
    );
  for (const container of containers) {
    if (!container || !failsToPull(container)) continue;
    const phase = isOutOfPatience(before, now) ? 'Failed' : 'AwaitingBuild';
    const { cause } = pullFailureOf(container);
    return buildOutcome(
      phase,
      'BuilderImagePullFailed',
      `Image ${shortened(container.image ?? '', 512)} of container ${container.name} cannot be pulled${cause === '' ? '' : `: ${cause}`}. The platform team can correct settings.builds.images, or give the builds' namespace a pull secret.`,
    );
  }
  return undefined;
}

/** Whether the revision has a build that has not ended, or not begun. */
export function isUnfinished({ spec, status }: Pick<AppRevision, 'spec' | 'status'>): boolean {
  const phase = status?.build?.phase;
  return isBuilt({ spec }) && (phase === undefined || !FINAL_PHASES.has(phase));
}
