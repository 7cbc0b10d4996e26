// Which schedules and time zones a task takes.

import { describe, expect, it } from 'vitest';
import { PACE_OF_BACKUPS, scheduleBreaches, Task } from './tasks.ts';

const takes = (more: object): boolean => Task.safeParse({ name: 'clean', command: ['clean'], ...more }).success;

describe('a schedule', () => {
  it.each([
    '* * * * *',
    '*/15 0-6 1,15 * mon-fri',
    '0 3 * JAN,jul 0',
    '5/10  23 31 12 6',
    '? 1 ? * ?',
    '@hourly',
    '@daily',
    '@midnight',
    '@every 1h30m',
  ])('%s is taken', (schedule) => {
    expect(takes({ schedule })).toBe(true);
  });

  it.each([
    'TZ=Europe/Berlin 0 3 * * *',
    'CRON_TZ=UTC 0 3 * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * 32 * *',
    '* * * 13 *',
    '* * * * 7',
    '*/0 * * * *',
    '* * * *',
    '* * * * * *',
    '@reboot',
    '@every 0s',
    '@every',
    ' * * * * *',
    '* * * * *\n',
    '',
  ])('%j is refused', (schedule) => {
    expect(takes({ schedule })).toBe(false);
  });
});

it.each([
  ['Europe/Berlin', true],
  ['Etc/GMT+3', true],
  ['UTC', true],
  ['Europe/', false],
  ['../etc', false],
  ['', false],
])('the time zone %j: %s', (timeZone, is) => {
  expect(takes({ timeZone })).toBe(is);
});

describe('days that no month of the schedule has', () => {
  const never = (schedule: string): boolean => [...scheduleBreaches({ schedule })].length > 0;
  it.each([
    '0 0 30 2 *',
    '0 0 30-31 feb *',
    '* * 31,30 02 ?',
    '0 0 31 2,4,jun,SEP,11 */1',
    '*/5 1-3 30/1 FEB-FEB *',
    '0  0  31  nov  *',
  ])('%s never runs', (schedule) => {
    expect([takes({ schedule }), never(schedule)]).toEqual([true, true]);
  });

  it.each([
    '0 0 29 2 *',
    '0 0 28-31 2 *',
    '0 0 30 2 1',
    '0 0 31 2 */2',
    '0 0 30 4 *',
    '0 0 31 4-6 *',
    '0 0 31 1,2 *',
    '0 0 31 12 *',
    '0 0 1,31 2 *',
    '0 0 31 * *',
    '0 0 * 2 *',
    '30 30 30 1 *',
    '@monthly',
  ])('%s is not among them', (schedule) => {
    expect(never(schedule)).toBe(false);
  });

  it.each(['Local', 'local', 'LOCAL'])('nor is the time zone %s taken', (timeZone) => {
    expect([...scheduleBreaches({ schedule: '@daily', timeZone })].map(({ at }) => at)).toEqual(['timeZone']);
    expect([...scheduleBreaches({ schedule: '@daily', timeZone: `${timeZone}/Berlin` })]).toEqual([]);
  });
});

describe('ranges that end before they begin, which a CronJob does not take', () => {
  const isReversed = (schedule: string): boolean =>
    [...scheduleBreaches({ schedule })].some(({ message }) => message.startsWith('has a range that ends before'));
  /** In every way of writing it that the form allows. Source: robfig/cron v3, getRange, bounds of the fields. */
  const spelled = (value: number, names: readonly string[], first: number): string[] => {
    const name = names[value - first];
    return [
      String(value),
      ...(value < 10 && names.length !== 7 ? [`0${value}`] : []),
      ...(name ? [name, name.toUpperCase()] : []),
    ];
  };
  const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
  const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

  it.each([
    { field: 0, first: 0, last: 59, names: [] },
    { field: 1, first: 0, last: 23, names: [] },
    { field: 2, first: 1, last: 31, names: [] },
    { field: 3, first: 1, last: 12, names: months },
    { field: 4, first: 0, last: 6, names: days },
  ])('every range of field $field from $first to $last', ({ field, first, last, names }) => {
    const wrong: string[] = [];
    for (let from = first; from <= last; from += 1)
      for (let to = first; to <= last; to += 1)
        for (const one of spelled(from, names, first))
          for (const other of spelled(to, names, first)) {
            const schedule = ['0', '0', '1', '1', '*'].with(field, `${one}-${other}`).join(' ');
            if (!takes({ schedule }) || isReversed(schedule) !== from > to) wrong.push(schedule);
          }
    expect(wrong).toEqual([]);
  });

  it.each([
    ['0 0 * * 1,5-1', true],
    ['0 0 * * 5-1,2', true],
    ['50-10/5 * * * *', true],
    ['0  22-6  * * *', true],
    ['0 0 1 nov-2 *', true],
    ['0 0 * * SAT-0', true],
    ['0 0 * * 5-6,0-1', false],
    ['10-50/5 1,3-5,2 5-31 1-12 *', false],
    ['9,8,7 5/2 * * *', false],
    ['@every 5m1s', false],
  ])('%s: %s', (schedule, is) => {
    expect([takes({ schedule }), isReversed(schedule)]).toEqual([true, is]);
  });
});

describe('how often it runs', () => {
  const PACED = 'would run more often than';
  const isTooOften = (schedule: string, pace?: typeof PACE_OF_BACKUPS): boolean =>
    [...scheduleBreaches({ schedule }, pace ? { pace } : {})].some(({ message }) => message.startsWith(PACED));

  it.each([
    ['@every 1s', true],
    ['@every 59s', true],
    ['@every 20s20s19s', true],
    ['@every 60s', false],
    ['@every 1m', false],
    ['@every 1h1s', false],
    ['* * * * *', false],
    ['*,* * * * *', false],
  ])('a task by %s is too often: %s', (schedule, is) => {
    expect([takes({ schedule }), isTooOften(schedule)]).toEqual([true, is]);
  });

  it.each([
    ['@every 1s', true],
    ['@every 4m59s', true],
    ['@every 5m', false],
    ['@every 99999h', false],
    ['* * * * *', true],
    ['? 3 * * *', true],
    ['*/1 0 1 1 *', true],
    ['*/4 * * * *', true],
    ['*/5 * * * *', false],
    ['*/59 * * * *', false],
    ['3/4 * * * *', true],
    ['3/5 * * * *', false],
    ['0-11 0 * * *', false],
    ['0-12 0 * * *', true],
    ['0-59/5  *  * * *', false],
    ['*/5,1-56/5 * * * *', true],
    ['0,1,2,3,4,5,6,7,8,9,10,11 * * * *', false],
    ['0,1,2,3,4,5,6,7,8,9,10,11,12 * * * *', true],
    ['30 3 * * *', false],
    ['@hourly', false],
    // It is refused for the range.
    ['50-10 * * * *', false],
  ])('a backup by %s is too often: %s', (schedule, is) => {
    expect([takes({ schedule }), isTooOften(schedule, PACE_OF_BACKUPS)]).toEqual([true, is]);
  });
});

it('a task needs a name that is a DNS label, and a command', () => {
  expect(takes({})).toBe(true);
  for (const more of [
    { name: 'Clean' },
    { name: 'a'.repeat(41) },
    { command: [] },
    { concurrency: 'Forbid' },
    { timeoutSeconds: 0 },
    { timeoutSeconds: 86_401 },
  ])
    expect(takes(more)).toBe(false);
});
