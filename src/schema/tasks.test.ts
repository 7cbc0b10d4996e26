// Which schedules and time zones a task takes.

import { describe, expect, it } from 'vitest';
import { scheduleBreaches, Task } from './tasks.ts';

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
