// The tasks of the active revision as their CronJobs and Jobs show them. What is said of a run that has ended stays as it is while its
// Job exists: its pod, with the last words, may go earlier. `missedRun` decides whether a run was missed.

import type { ICronJobSpec } from 'kubernetes-models/batch/v1/CronJobSpec';
import type { ICronJobStatus } from 'kubernetes-models/batch/v1/CronJobStatus';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { REVISION_LABEL, TASK, TASK_CONTAINER, TASK_LABEL } from '../../kinds/meta.ts';
import { nextRunAt } from '../../kinds/next-run.ts';
import {
  everySecondsOf,
  hasFailedLast,
  LONGEST_RUN_MESSAGE,
  lastEnded,
  MOST_RUNS,
  type Task,
  type TaskRun,
  type TaskStatus,
} from '../../kinds/tasks.ts';
import { listed, quoted, shortened } from '../../kinds/text.ts';
import type { AsSeen, KubeObject } from '../../runtime/kube/client.ts';
import { activeRevision } from '../record/revisions.ts';
import { type Entry, fail, pass, unknown } from './entry.ts';
import { hasEnded, type Job, jobEnd, podMissed, podsOfJob, runsOf, untilPodMissedMs } from './jobs.ts';
import { withMissingStores } from './missing-stores.ts';
import {
  type ContainerState,
  childOf,
  isOurs,
  type Observed,
  type ObservedChildren,
  type ObservedCondition,
  type Pod,
} from './observed.ts';
import { isUnended, podFailure, workFailure } from './pod-failures.ts';

export interface CronJob extends KubeObject {
  readonly spec?: AsSeen<ICronJobSpec>;
  readonly status?: AsSeen<ICronJobStatus>;
}

/** Undefined where the active revision has no tasks. */
export function taskStatuses(
  observed: ObservedChildren & Pick<Observed, 'patience'>,
  active: AppRevision,
): TaskStatus[] | undefined {
  // One that somebody has suspended does not run.
  const jobs = Map.groupBy(
    runsOf(observed, TASK).filter((job) => job.spec?.suspend !== true || hasEnded(job)),
    ({ metadata }) => metadata.labels?.[TASK_LABEL],
  );
  const told = observed.record.status?.tasks;
  const before = new Map(told?.flatMap(({ runs }) => runs.map((run) => [run.job, run])));
  return active.spec.requested.tasks?.map((task) => {
    const { name, schedule, timeZone } = task;
    const newest = (jobs.get(name) ?? []).toSorted(newestJobFirst).slice(0, MOST_RUNS);
    const toldOf = told?.find((one) => one.name === name);
    const status: TaskStatus = {
      name,
      ...taskStateOf(observed, task, active),
      ...(schedule !== undefined && { schedule }),
      ...(timeZone !== undefined && { timeZone }),
      runs: withLastSuccess(
        newest.map((job) => taskRunOf(observed, job, active, before.get(job.metadata.name))),
        toldOf?.runs ?? [],
      ),
    };
    return { ...status, ...scheduleTimes(status, toldOf, observed) };
  });
}

/** When the schedule began runs, and the run that it should have begun. Without a time, before the report, nothing is judged. */
function scheduleTimes(
  status: TaskStatus,
  told: TaskStatus | undefined,
  observed: ObservedChildren & Pick<Observed, 'patience'>,
): Pick<TaskStatus, 'scheduledSince' | 'lastScheduledAt' | 'missedAt'> {
  const now = observed.patience?.at;
  if (status.state !== 'Scheduled' || now === undefined) return {};
  const isSame = told?.state === 'Scheduled' && told.schedule === status.schedule && told.timeZone === status.timeZone;
  const cronJob: CronJob | undefined = childOf(observed, 'CronJob', observed.names.task(status.name));
  const { lastScheduleTime } = cronJob?.status ?? {};
  const times = {
    scheduledSince: (isSame ? told.scheduledSince : undefined) ?? asTime(now),
    ...(lastScheduleTime !== undefined && { lastScheduledAt: lastScheduleTime }),
  };
  const missed = missedRun({ ...status, ...times });
  return { ...times, ...(missed && missed.knownAt <= now && { missedAt: asTime(missed.dueAt) }) };
}

function asTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Milliseconds until it is known that the schedule of a task began no run; undefined if none is on its way there. */
export function untilMissedMs(observed: Observed, now: Date): number | undefined {
  const active = activeRevision(observed.revisions);
  const waits = ((active && taskStatuses(observed, active)) ?? []).flatMap((task) => {
    const left = (missedRun(task)?.knownAt ?? 0) - now.getTime();
    return left > 0 ? [left] : [];
  });
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/**
 * The Job of a run by hand goes an hour after its end, and that of a failed run of the schedule stays for days: a failure that was followed
 * by a success does not come back then.
 */
function withLastSuccess(runs: readonly TaskRun[], before: readonly TaskRun[]): TaskRun[] {
  const at = runs.findIndex(({ state }) => state !== 'Running');
  const { state, startedAt: failedAt } = runs[at] ?? {};
  if (state !== 'Failed' || failedAt === undefined) return [...runs];
  const success = before.find(
    (one) =>
      one.state === 'Succeeded' &&
      one.startedAt !== undefined &&
      one.startedAt > failedAt &&
      !runs.some(({ job }) => job === one.job),
  );
  return success ? runs.toSpliced(at, 0, success).slice(0, MOST_RUNS) : [...runs];
}

/** What is wrong with the tasks. `tasks`: at least one. */
export function checkTasks({ record: { metadata }, names: of }: ObservedChildren, tasks: readonly TaskStatus[]): Entry {
  const missed = tasks.find(({ missedAt }) => missedAt !== undefined);
  if (missed)
    return fail(
      'TaskMissed',
      `A run of task ${missed.name} was due at ${missed.missedAt} but did not start. To see why: kubectl describe cronjob ${of.task(missed.name)} -n ${metadata.namespace}. The deployment keeps serving.`,
    );
  for (const { name, runs } of tasks) {
    const stuck = runs.find(({ state, reason }) => state === 'Running' && reason === 'PodStuckTerminating');
    if (stuck)
      return fail(
        'PodStuckTerminating',
        `A run of task ${name} does not end. ${stuck.message} The deployment keeps serving.`,
      );
  }
  const failed = tasks.filter(hasFailedLast);
  const [first] = failed;
  const run = first && lastEnded(first);
  if (first && run) {
    const names = listed(failed.map(({ name }) => name));
    const which = failed.length === 1 ? `task ${names}` : `each of the tasks ${names}`;
    const log = `kubectl davit logs ${metadata.name} --task ${first.name} -n ${metadata.namespace}`;
    const words = failed.length === 1 ? run.message : `${first.name}: ${run.message}`;
    return fail(
      'TaskFailed',
      `The last run of ${which} failed. ${words} Its log: ${log}. The deployment keeps serving.`,
    );
  }
  const pending = tasks.find(({ state }) => state === 'Pending');
  if (pending) return unknown('NotObserved', `Task ${pending.name}: ${pending.message}`);
  const suspended = tasks.find(({ state }) => state === 'Suspended');
  return pass('NoTaskFailed', `No task's last run failed.${suspended ? ` ${suspended.message}` : ''}`);
}

function newestJobFirst(a: Job, b: Job): number {
  const [one, other] = [bornAt(a), bornAt(b)];
  if (one !== other) return one < other ? 1 : -1;
  return a.metadata.name < b.metadata.name ? 1 : -1;
}

function bornAt({ metadata, status }: Job): string {
  return metadata.creationTimestamp ?? status?.startTime ?? '';
}

function taskStateOf(
  observed: ObservedChildren,
  { name, schedule }: Readonly<Task>,
  { spec }: AppRevision,
): Pick<TaskStatus, 'state' | 'message'> {
  if (schedule === undefined) return { state: 'OnDemand' };
  const cronJobName = observed.names.task(name);
  const found = childOf(observed, 'CronJob', cronJobName);
  if (!found || !isOurs(found, observed))
    return { state: 'Pending', message: `CronJob ${cronJobName} does not exist yet.` };
  const cronJob: CronJob = found;
  if (cronJob.spec?.suspend !== true) return { state: 'Scheduled' };
  const message =
    spec.resolved.server.maxScale === 0
      ? 'No run begins while the deployment is scaled to zero.'
      : `CronJob ${cronJobName} is suspended.`;
  return { state: 'Suspended', message };
}

function taskRunOf(
  observed: ObservedChildren & Pick<Observed, 'patience'>,
  job: Job,
  active: AppRevision,
  before: TaskRun | undefined,
): TaskRun {
  if (before !== undefined && before.state !== 'Running') return before;
  const pods = podsOfJob(observed.pods, job);
  const run = runOfJob(job, pods, active.spec.requested, before);
  const isMissed = untilPodMissedMs(job, pods, observed.patience?.at ?? 0) === 0;
  return isMissed ? { ...run, reason: 'NoPod', message: bounded(podMissed(job)) } : run;
}

type Requested = AppRevision['spec']['requested'];

/** `pods`: those of the Job. `before`: as it was reported last. */
export function runOfJob(job: Job, pods: readonly Pod[], requested: Requested, before?: TaskRun): TaskRun {
  const { metadata, status } = job;
  const revisionId = metadata.labels?.[REVISION_LABEL];
  const run = {
    job: metadata.name,
    ...(revisionId !== undefined && { revisionId }),
    ...(status?.startTime !== undefined && { startedAt: status.startTime }),
  };
  const completed = jobEnd(job, 'Complete');
  if (completed) {
    const finishedAt = status?.completionTime ?? completed.lastTransitionTime;
    return { ...run, state: 'Succeeded', ...(finishedAt !== undefined && { finishedAt }) };
  }
  const failed = jobEnd(job, 'Failed');
  // The pod has ended, and the cache of pods does not show it yet.
  const isShown = pods.every((pod) => !isUnended(pod) || pod.metadata.deletionTimestamp !== undefined);
  if (!failed || !isShown) return { ...run, state: 'Running', ...whyItWaits(pods, requested) };
  const { lastTransitionTime: finishedAt } = failed;
  return {
    ...run,
    state: 'Failed',
    ...(finishedAt !== undefined && { finishedAt }),
    ...end(job, failed, pods, requested, before),
  };
}

/** A command that was ended for its time may have waited for something until then. */
function end(
  { spec }: Job,
  failed: ObservedCondition,
  pods: readonly Pod[],
  requested: Requested,
  before: TaskRun | undefined,
): Pick<TaskRun, 'exitCode' | 'reason' | 'message'> {
  const reason = failed.reason ?? 'Failed';
  if (reason === 'DeadlineExceeded') {
    const seconds = spec?.activeDeadlineSeconds;
    const message = `It took longer than ${seconds} s (timeout_seconds) and was stopped.`;
    return { reason, message: bounded([message, before?.message].filter(Boolean).join(' ')) };
  }
  const trouble = withMissingStores(podFailure(pods), requested);
  const exitCode = exitCodeAmong(pods);
  return {
    ...(exitCode !== undefined && { exitCode }),
    reason: trouble?.reason ?? shortened(reason, 128),
    message: bounded(trouble?.message ?? `Its Job failed: ${quoted(failed.message) || reason}.`),
  };
}

function whyItWaits(pods: readonly Pod[], requested: Requested): Pick<TaskRun, 'reason' | 'message'> {
  const trouble = withMissingStores(workFailure(pods.filter(isUnended)), requested);
  return trouble ? { reason: trouble.reason, message: bounded(trouble.message) } : {};
}

/** Reasons of the kubelet for a container of which no process ran; its exit code is not that of a command. */
const NOT_STARTED: ReadonlySet<string | undefined> = new Set(['StartError', 'ContainerCannotRun']);

function exitCodeAmong(pods: readonly Pod[]): number | undefined {
  const ended = pods.map((pod) => stateOfCommand(pod)?.terminated).find((one) => one !== undefined);
  return NOT_STARTED.has(ended?.reason) ? undefined : ended?.exitCode;
}

function stateOfCommand({ status }: Pod): ContainerState | undefined {
  return status?.containerStatuses?.find(({ name }) => name === TASK_CONTAINER)?.state;
}

/** Whether the command of a run has begun in this pod, so that it has a log. */
export function hasBegun(pod: Pod): boolean {
  const { running, terminated } = stateOfCommand(pod) ?? {};
  return running !== undefined || (terminated !== undefined && !NOT_STARTED.has(terminated.reason));
}

function bounded(text: string): string {
  return shortened(text, LONGEST_RUN_MESSAGE);
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A run begins 90 s late at most (children/task.ts), and its Job has to become known. */
const LATEST_MS = 3 * MINUTE_MS;
/** The zones of the earth are at most so far from UTC. */
const FARTHEST_MS = 14 * HOUR_MS;
/** Runs in every hour of every day, so that zones make a difference of less than an hour. */
const IS_HOURLY = /^(@hourly|\S+( +\*){4})$/;

interface DueRun {
  /** In milliseconds since 1970, by UTC if the schedule has no time zone. */
  readonly dueAt: number;
  /** If no run has begun by then, it was missed. */
  readonly knownAt: number;
}

/**
 * The first run that is due after the last one began or ended, or after the schedule came into force. Undefined while a run lasts, which
 * may hold the next one back, and where no run begins.
 */
export function missedRun({ state, schedule, timeZone, ...task }: Readonly<TaskStatus>): DueRun | undefined {
  const { scheduledSince, lastScheduledAt, runs } = task;
  if (state !== 'Scheduled' || schedule === undefined || scheduledSince === undefined) return undefined;
  if (runs.some((run) => run.state === 'Running')) return undefined;
  const times = [scheduledSince, lastScheduledAt, ...runs.map(({ finishedAt }) => finishedAt)];
  const since = Math.max(...times.map((time) => Date.parse(time ?? scheduledSince)));
  const seconds = everySecondsOf(schedule);
  if (seconds !== undefined) return dueRun(since + seconds * 1000, 0);
  // Without a time zone it is that of the control plane, which nobody tells.
  const unsure = timeZone === undefined ? (IS_HOURLY.test(schedule) ? HOUR_MS : FARTHEST_MS) : 0;
  const dueAt = nextRunAt(schedule, timeZone, since + unsure);
  return dueAt === undefined ? undefined : dueRun(dueAt, unsure);
}

function dueRun(dueAt: number, unsure: number): DueRun {
  return { dueAt, knownAt: dueAt + unsure + LATEST_MS };
}
