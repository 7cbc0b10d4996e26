// The next run that a schedule must begin, and when it is known that it did not. Kubernetes says neither.

import { nextRunAt } from '../../schema/next-run.ts';
import { everySecondsOf, type TaskStatus } from '../../schema/tasks.ts';

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
