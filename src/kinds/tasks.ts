// Tasks of a record: commands that run in a pod of their own, on a schedule or on request.

import { z } from 'zod';
import { type CelRule, DNS_LABEL_PATTERN, integer, listOf, matching, oneOf, Time, text, Uuid } from './primitives.ts';

const steps = (value: string): string =>
  `(\\*|\\?|(${value})(-(${value}))?)(/[1-9][0-9]?)?(,(\\*|\\?|(${value})(-(${value}))?)(/[1-9][0-9]?)?)*`;
const either = (names: string): string => `${names}|${names.toUpperCase()}`;
const NAMES = {
  months: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  days: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
};
const FIELDS = [
  '[0-5]?[0-9]',
  '[01]?[0-9]|2[0-3]',
  '0?[1-9]|[12][0-9]|3[01]',
  `0?[1-9]|1[0-2]|${either(NAMES.months.join('|'))}`,
  `[0-6]|${either(NAMES.days.join('|'))}`,
];
const MACROS = 'yearly|annually|monthly|weekly|daily|midnight|hourly|every ([1-9][0-9]{0,4}[smh]){1,3}';
/** As Kubernetes reads it, without TZ= and CRON_TZ=. Source: robfig/cron v3, ParseStandard. */
export const SCHEDULE_PATTERN = `^(@(${MACROS})|${FIELDS.map(steps).join(' +')})$`;
export const TIME_ZONE_PATTERN = '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$';
export const Schedule = matching(SCHEDULE_PATTERN, 100, 1);
export const TimeZone = matching(TIME_ZONE_PATTERN, 64, 1).describe(
  "Time zone of the schedule, such as Europe/Berlin. If absent, that of the cluster's control plane.",
);

const list = (item: string): string => `${item}(,${item})*`;
const months = (names: string): string =>
  `(0?(${names.replaceAll(/[a-z]+/g, (name) => `${name}|${name.toUpperCase()}`)}))`;
const FEBRUARY = months('2|feb');
const SHORT_MONTH = `(11|${months('2|4|6|9|feb|apr|jun|sep|nov')})`;
const NO_DAYS = [
  `${list('3[01](-3[01])?(/[0-9]+)?')} +${list(`${FEBRUARY}(-${FEBRUARY})?`)}`,
  `${list('31(-31)?(/[0-9]+)?')} +${list(SHORT_MONTH)}`,
].join('|');
/** Days that none of the months has, on any day of the week: 30 February. A CronJob takes it and never runs. */
export const NEVER_PATTERN = `^[^ ]+ +[^ ]+ +(${NO_DAYS}) +[*?](/1)?$`;
export const NEVER_MESSAGE =
  'names only days that its months do not have, so it would never run: correct the day or the month';
/** Alternatives for a pair of `values`, each a pattern, of which the second comes before the first. */
const reversed = (values: readonly string[]): string =>
  values
    .slice(1)
    .map((value, index) => `(${value})-(${values.slice(0, index + 1).join('|')})`)
    .join('|');
const UNITS = reversed(Array.from({ length: 10 }, (_, unit) => `TEN${unit}`));
const REVERSED_RANGES = [
  ...[1, 2, 3, 4, 5].map((ten) => `${ten}[0-9]-[0-${ten - 1}]?[0-9]`),
  ...['0?', '1', '2', '3', '4', '5'].map((ten) => UNITS.replaceAll('TEN', ten)),
  reversed(NAMES.months.map((name, index) => `0?${index + 1}|${either(name)}`)),
  reversed(NAMES.days.map((name, index) => `${index}|${either(name)}`)),
].join('|');
/** A range of numbers or names that ends before it begins. Kubernetes refuses it in a CronJob (robfig/cron v3). */
export const REVERSED_PATTERN = `(^|[ ,])(${REVERSED_RANGES})([ ,/]|$)`;
export const REVERSED_MESSAGE =
  'has a range that ends before it begins, which Kubernetes refuses: list its two parts, such as 5-6,0-1 for Friday to Monday';
/** Kubernetes refuses it in a CronJob. */
export const LOCAL_PATTERN = '^[Ll][Oo][Cc][Aa][Ll]$';
export const LOCAL_MESSAGE =
  "must be the name of a time zone such as Europe/Berlin: Local is not one. To use the time zone of the cluster's control plane, leave the field out";

const EVERY = '@every ';
const EVERY_PATTERN = `^${EVERY}([1-9][0-9]{0,4}[smh]){1,3}$`;
const MINUTE_ITEM = '([*]|[?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?';
/** The first of five fields. CEL would take a backslash for its own. */
const MINUTES_PATTERN = `^${MINUTE_ITEM}(,${MINUTE_ITEM})* `;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** How often something may run at most. */
export interface Pace {
  /** Seconds of `@every`. */
  readonly seconds: number;
  /** Minutes of an hour, as the first of five fields chooses them. */
  readonly minutes: number;
  readonly message: string;
}

/** Five fields begin once a minute at most. */
export const PACE_OF_TASKS: Pace = {
  seconds: 60,
  minutes: Number.POSITIVE_INFINITY,
  message: 'would run more often than once a minute: write @every 1m or longer',
};

/** Each run reads the whole database. */
export const PACE_OF_BACKUPS: Pace = {
  seconds: 300,
  minutes: 12,
  message:
    'would run more often than every 5 minutes: choose at most 12 minutes of an hour, such as */5 * * * *, or @every 5m',
};

/**
 * Seconds between two runs of an `@every`; undefined for another schedule. A CronJob counts them from its last run or from now minus
 * `startingDeadlineSeconds`, whichever is later, so a shorter deadline leaves no run due (mostRecentScheduleTime in Kubernetes'
 * pkg/controller/cronjob/utils.go).
 */
export function everySecondsOf(schedule: string): number | undefined {
  return new RegExp(EVERY_PATTERN).test(schedule) ? secondsOf(schedule) : undefined;
}

function isTooOften(schedule: string, pace: Pace): boolean {
  if (new RegExp(EVERY_PATTERN).test(schedule)) return secondsOf(schedule) < pace.seconds;
  return new RegExp(MINUTES_PATTERN).test(schedule) && minutesOf(schedule) > pace.minutes;
}

/** `schedule`: such as @every 1h30m. */
function secondsOf(schedule: string): number {
  return [...schedule.matchAll(/([0-9]+)([smh])/g)]
    .map(([, count = '', unit = '']) => Number(count) * (UNIT_SECONDS[unit] ?? 0))
    .reduce((sum, seconds) => sum + seconds, 0);
}

/** Minutes of an hour; those that two items of the list choose count twice. */
function minutesOf(schedule: string): number {
  const [minutes = ''] = schedule.split(' ');
  return minutes
    .split(',')
    .map((item) => {
      if (/^[0-9]+$/.test(item)) return 1;
      const [range = '', step = '1'] = item.split('/');
      const isAny = range === '*' || range === '?';
      const [from = '', to = '59'] = isAny ? ['0'] : range.split('-');
      return Math.floor((Number(to) - Number(from)) / Number(step)) + 1;
    })
    .reduce((sum, count) => sum + count, 0);
}

/** The rule against runs that are too frequent, as CEL for an existing field. */
function celTooOften(field: string, { seconds, minutes }: Pace): string {
  const every = `duration(${field}.substring(${EVERY.length})) < duration('${seconds}s')`;
  const range = "i.split('/')[0]";
  const from = `(${range} in ['*', '?'] ? 0 : int(${range}.split('-')[0]))`;
  const to = `(${range}.contains('-') ? int(${range}.split('-')[1]) : 59)`;
  const step = "(i.contains('/') ? int(i.split('/')[1]) : 1)";
  const count = `i.matches('^[0-9]+$') ? 1 : (${to} - ${from}) / ${step} + 1`;
  const fields = `${field}.matches('${MINUTES_PATTERN}') && ${field}.split(' ')[0].split(',').map(i, ${count}).sum() > ${minutes}`;
  return `${field}.matches('${EVERY_PATTERN}') ? ${every} : ${Number.isFinite(minutes) ? fields : 'false'}`;
}

export interface ScheduleBreach {
  readonly at: string;
  readonly message: string;
}

/** Names of the fields, and how often they may run. */
export interface ScheduleFields {
  readonly timeZone?: string;
  readonly schedules?: readonly string[];
  readonly pace?: Pace;
}

/**
 * What a CronJob would not do with schedules and a time zone that have the right form, and what would run too often. The CRD has the
 * same as CEL.
 */
export function* scheduleBreaches(
  parts: Readonly<Record<string, unknown>>,
  { schedules = ['schedule'], pace = PACE_OF_TASKS }: ScheduleFields = {},
): Generator<ScheduleBreach> {
  for (const at of schedules) {
    const schedule = parts[at];
    if (typeof schedule !== 'string') continue;
    if (new RegExp(NEVER_PATTERN).test(schedule)) yield { at, message: NEVER_MESSAGE };
    if (new RegExp(REVERSED_PATTERN).test(schedule)) yield { at, message: REVERSED_MESSAGE };
    else if (isTooOften(schedule, pace)) yield { at, message: pace.message };
  }
  const zone = parts['timeZone'];
  if (typeof zone === 'string' && new RegExp(LOCAL_PATTERN).test(zone))
    yield { at: 'timeZone', message: LOCAL_MESSAGE };
}

/** CEL rules of an object that has schedules in these fields, and a time zone. */
export function scheduleRules(pace: Pace, ...fields: readonly string[]): CelRule[] {
  return [
    ...zonelessScheduleRules(pace, ...fields),
    {
      rule: `!has(self.timeZone) || !self.timeZone.matches('${LOCAL_PATTERN}')`,
      message: LOCAL_MESSAGE,
      fieldPath: '.timeZone',
    },
  ];
}

/** CEL rules for schedules of objects without a field `timeZone`. */
export function zonelessScheduleRules(pace: Pace, ...fields: readonly string[]): CelRule[] {
  return fields.flatMap((field) => [
    {
      // A range that ends before it begins has a rule of its own, and would count for less than nothing.
      rule: `!has(self.${field}) || self.${field}.matches('${REVERSED_PATTERN}') || !(${celTooOften(`self.${field}`, pace)})`,
      message: pace.message,
      fieldPath: `.${field}`,
    },
    {
      rule: `!has(self.${field}) || !self.${field}.matches('${NEVER_PATTERN}')`,
      message: NEVER_MESSAGE,
      fieldPath: `.${field}`,
    },
    {
      rule: `!has(self.${field}) || !self.${field}.matches('${REVERSED_PATTERN}')`,
      message: REVERSED_MESSAGE,
      fieldPath: `.${field}`,
    },
  ]);
}

export const CONCURRENCIES = ['forbid', 'replace', 'allow'] as const;

/** Time of a run if the task sets none, in seconds. */
const TASK_SECONDS = 3600;

export const Task = z.object({
  name: matching(DNS_LABEL_PATTERN, 40, 1).describe('Name of the task, unique in the deployment.'),
  schedule: Schedule.describe(
    'When it runs, as in a CronJob: five fields, or @hourly. If absent, it runs only on request.',
  ).optional(),
  timeZone: TimeZone.optional(),
  command: z
    .array(text(8192))
    .min(1)
    .max(100)
    .describe("Replaces the image's entrypoint. $(NAME) is replaced by the value of a variable."),
  concurrency: oneOf(CONCURRENCIES)
    .describe(
      'What happens if the last run has not ended: forbid skips the new one, replace stops the last one, allow runs both. Default: forbid.',
    )
    .optional(),
  timeoutSeconds: integer(1, 86_400)
    .describe(`Seconds after which a run is stopped, including the pull of its image. Default: ${TASK_SECONDS}.`)
    .optional(),
});
export type Task = z.infer<typeof Task>;

/** Without rules: a snapshot of a record keeps what it has. */
export const TaskList = listOf(Task, 20);

export const Tasks = z
  .array(Task.meta({ 'x-kubernetes-validations': scheduleRules(PACE_OF_TASKS, 'schedule') }))
  .max(20)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] });

export function taskSecondsOf({ timeoutSeconds = TASK_SECONDS }: Pick<Task, 'timeoutSeconds'>): number {
  return timeoutSeconds;
}

/** Runs of a task that its status shows. */
export const MOST_RUNS = 5;
/** Characters of what is said of a run. */
export const LONGEST_RUN_MESSAGE = 512;

export const TASK_STATES = ['Scheduled', 'Suspended', 'OnDemand', 'Pending'] as const;
export const RUN_STATES = ['Running', 'Succeeded', 'Failed'] as const;

export const TaskRun = z.object({
  job: text(63).describe('Name of its Job.'),
  state: oneOf(RUN_STATES).describe('Its state, or its result.'),
  revisionId: Uuid.describe('Id of the revision whose task it is.').optional(),
  startedAt: Time.describe('When it began.').optional(),
  finishedAt: Time.describe('When it ended.').optional(),
  exitCode: integer(-2_147_483_648, 2_147_483_647)
    .describe('Exit code of the command. Absent if it was stopped.')
    .optional(),
  reason: text(128).describe('Why it failed or cannot start, as one word for programs.').optional(),
  message: text(LONGEST_RUN_MESSAGE)
    .describe('Why it failed or cannot start, with the last output of the container, as text for people.')
    .optional(),
});
export type TaskRun = z.infer<typeof TaskRun>;

const { name, schedule, timeZone } = Task.shape;

export const TaskStatus = z.object({
  name: text(40).describe(name.description ?? ''),
  state: oneOf(TASK_STATES).describe(
    'Scheduled: it runs on its schedule. Suspended: no run starts. OnDemand: it has no schedule. Pending: its CronJob does not exist yet.',
  ),
  message: text(LONGEST_RUN_MESSAGE).describe('Why no run starts, as text for people.').optional(),
  schedule: text(100)
    .describe(schedule.unwrap().description ?? '')
    .optional(),
  timeZone: text(64)
    .describe(timeZone.unwrap().description ?? '')
    .optional(),
  scheduledSince: Time.describe('Time since which its schedule is in force.').optional(),
  lastScheduledAt: Time.describe('When the schedule last started a run.').optional(),
  missedAt: Time.describe('When a due run did not start, if no run has started since.').optional(),
  runs: listOf(TaskRun, MOST_RUNS).describe(
    'Its last runs, newest first, while their Jobs exist. A success stays while an earlier failure is shown.',
  ),
});
export type TaskStatus = z.infer<typeof TaskStatus>;

export const TaskStatuses = listOf(TaskStatus, 20)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
  .describe('The tasks of the active revision, with their last runs.');

export function hasFailedLast(task: Readonly<TaskStatus>): boolean {
  return lastEnded(task)?.state === 'Failed';
}

/** The newest run of a task that has ended. */
export function lastEnded({ runs }: Readonly<TaskStatus>): TaskRun | undefined {
  return runs.find(({ state }) => state !== 'Running');
}
