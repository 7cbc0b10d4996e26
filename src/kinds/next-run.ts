// When a schedule begins its next run, as Kubernetes computes it. Source: robfig/cron v3, ParseStandard and SpecSchedule.Next. Where
// clocks change at midnight or by half an hour (Beirut, Cairo, Lord Howe), that library skips a run or a day around the change; this
// file does not.

import type { TaskStatus } from './tasks.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Days that are searched. Kubernetes searches five years, too. */
const MOST_DAYS = 5 * 366;

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** The next run as RFC 3339. Undefined if no run starts, or its time is unknown. `now`: milliseconds since 1970. */
export function nextRunText({ state, schedule, timeZone }: Readonly<TaskStatus>, now: number): string | undefined {
  const at = state === 'Scheduled' && schedule !== undefined ? nextRunAt(schedule, timeZone, now) : undefined;
  return at === undefined ? undefined : new Date(at).toISOString().replace('.000Z', 'Z');
}

interface Field {
  /** Ascending. */
  readonly values: readonly number[];
  /** Whether it names every value, as `*` without a step does. */
  readonly isAny: boolean;
}

interface Wall {
  readonly hour: number;
  readonly minute: number;
}

/** Milliseconds by which the wall clocks of a zone are ahead of UTC. */
type OffsetAt = (instant: number) => number;

/**
 * Milliseconds since 1970 of the first run after `after`. `timeZone`: UTC if absent. Undefined for `@every`, whose runs count from the
 * last one, for a time zone or a schedule that is not valid, and where five years have no run.
 */
export function nextRunAt(schedule: string, timeZone: string | undefined, after: number): number | undefined {
  const fields = (MACROS[schedule] ?? schedule).trim().split(/\s+/);
  const [minute, hour, day, month, weekday] = [
    fieldOf(fields[0], 0, 59),
    fieldOf(fields[1], 0, 23),
    fieldOf(fields[2], 1, 31),
    fieldOf(fields[3], 1, 12, MONTHS, 1),
    fieldOf(fields[4], 0, 6, DAYS),
  ];
  const offsetAt = timeZone === undefined ? () => 0 : offsetsOf(timeZone);
  if (fields.length !== 5 || !minute || !hour || !day || !month || !weekday || !offsetAt) return undefined;
  const walls = hour.values.flatMap((one) => minute.values.map((of): Wall => ({ hour: one, minute: of })));
  const today = Math.floor((after + offsetAt(after)) / DAY_MS) * DAY_MS;
  for (let midnight = today, days = 0; days < MOST_DAYS; midnight += DAY_MS, days += 1) {
    if (!isDay(midnight, day, month, weekday)) continue;
    const run = firstOf(midnight, walls, offsetAt, after);
    if (run !== undefined) return run;
  }
  return undefined;
}

/** `midnight` of a day, as if its wall clocks had UTC. Where both fields of days restrict, one of them suffices. */
function isDay(midnight: number, day: Field, month: Field, weekday: Field): boolean {
  const date = new Date(midnight);
  if (!month.values.includes(date.getUTCMonth() + 1)) return false;
  const byDay = day.values.includes(date.getUTCDate());
  const byWeekday = weekday.values.includes(date.getUTCDay());
  return day.isAny || weekday.isAny ? byDay && byWeekday : byDay || byWeekday;
}

/** Undefined if it is not valid. `first`: number of the first name. */
function fieldOf(
  text: string | undefined,
  least: number,
  most: number,
  names: readonly string[] = [],
  first = 0,
): Field | undefined {
  const numberOf = (word: string): number => {
    const place = names.indexOf(word.toLowerCase());
    return place < 0 ? Number(word || Number.NaN) : place + first;
  };
  const values = new Set<number>();
  let isAny = false;
  for (const part of text?.split(',') ?? []) {
    const [range = '', stepText] = part.split('/');
    const [from = '', to] = range.split('-');
    const step = Number(stepText ?? 1);
    const isAll = from === '*' || from === '?';
    const start = isAll ? least : numberOf(from);
    const end = isAll || (to === undefined && stepText !== undefined) ? most : numberOf(to ?? from);
    if (!(start >= least && end <= most && start <= end && step >= 1)) return undefined;
    isAny ||= isAll && step === 1;
    for (let value = start; value <= end; value += step) values.add(value);
  }
  return values.size === 0 ? undefined : { values: [...values].toSorted((a, b) => a - b), isAny };
}

/**
 * The first instant after `after` at which the day's wall clocks show one of `walls`, ascending. A time that the clocks skip has none;
 * one that they show twice has two.
 */
function firstOf(midnight: number, walls: readonly Wall[], offsetAt: OffsetAt, after: number): number | undefined {
  const [before, later] = [offsetAt(midnight - DAY_MS), offsetAt(midnight + 2 * DAY_MS)];
  const offsets = before === later ? [before] : [before, later];
  let first: number | undefined;
  for (const { hour, minute } of walls) {
    const wall = midnight + hour * HOUR_MS + minute * MINUTE_MS;
    // Neither this one nor a later one comes before it.
    if (first !== undefined && wall - Math.max(...offsets) >= first) return first;
    for (const offset of offsets) {
      const instant = wall - offset;
      const isEarlier = instant > after && (first === undefined || instant < first);
      if (isEarlier && (offsets.length === 1 || offsetAt(instant) === offset)) first = instant;
    }
  }
  return first;
}

/** Undefined for a zone that is not known here. */
function offsetsOf(timeZone: string): OffsetAt | undefined {
  const format = formatOf(timeZone);
  return (
    format &&
    ((instant) => {
      const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
      const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
      const shown = Date.UTC(
        part('year'),
        part('month') - 1,
        part('day'),
        part('hour'),
        part('minute'),
        part('second'),
      );
      return shown - Math.floor(instant / 1000) * 1000;
    })
  );
}

function formatOf(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
}
