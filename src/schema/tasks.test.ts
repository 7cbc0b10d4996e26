// Which schedules and time zones a task takes.

import { describe, expect, it } from 'vitest';
import { Task } from './tasks.ts';

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
