import { expect, it } from 'vitest';
import type { TaskRun, TaskStatus } from '../../kinds/tasks.ts';
import { missedRun } from './task-runs.ts';

const DAILY: TaskStatus = {
  name: 'clean',
  state: 'Scheduled',
  schedule: '0 3 * * *',
  timeZone: 'UTC',
  scheduledSince: '2026-01-01T00:00:00Z',
  runs: [],
};
const run = (state: TaskRun['state'], finishedAt?: string): TaskRun => ({
  job: 'a',
  state,
  ...(finishedAt !== undefined && { finishedAt }),
});
const { timeZone: _utc, ...ZONELESS } = DAILY;

it.each<{ reason: string; task: TaskStatus; due?: string; known?: string }>([
  { reason: 'one that never ran', task: DAILY, due: '2026-01-01T03:00', known: '2026-01-01T03:03' },
  {
    reason: 'in its zone',
    task: { ...DAILY, timeZone: 'Europe/Berlin' },
    due: '2026-01-01T02:00',
    known: '2026-01-01T02:03',
  },
  {
    reason: 'the next one after the last',
    task: { ...DAILY, lastScheduledAt: '2026-01-05T03:00:00Z' },
    due: '2026-01-06T03:00',
    known: '2026-01-06T03:03',
  },
  {
    reason: 'a last run before the schedule was changed does not count',
    task: { ...DAILY, lastScheduledAt: '2025-12-01T03:00:00Z' },
    due: '2026-01-01T03:00',
    known: '2026-01-01T03:03',
  },
  { reason: 'a run that lasts may hold the next one back', task: { ...DAILY, runs: [run('Running')] } },
  {
    reason: 'a run that lasted until later than the next one was due',
    task: { ...DAILY, runs: [run('Failed', '2026-01-01T04:00:00Z')] },
    due: '2026-01-02T03:00',
    known: '2026-01-02T03:03',
  },
  {
    reason: 'every few minutes',
    task: { ...DAILY, schedule: '@every 1h30m' },
    due: '2026-01-01T01:30',
    known: '2026-01-01T01:33',
  },
  {
    reason: 'without a zone it may have run up to 14 h before UTC, and may still run 12 h later',
    task: { ...ZONELESS, lastScheduledAt: '2026-01-01T13:30:00Z' },
    due: '2026-01-03T03:00',
    known: '2026-01-03T17:03',
  },
  {
    reason: 'without a zone, in every hour',
    task: { ...ZONELESS, schedule: '15 * * * *' },
    due: '2026-01-01T01:15',
    known: '2026-01-01T02:18',
  },
  { reason: 'a suspended one is not due', task: { ...DAILY, state: 'Suspended' } },
  { reason: 'one of which nobody knows since when', task: { ...DAILY, scheduledSince: undefined } },
])('$reason', ({ task, due, known }) => {
  const found = missedRun(task);
  const minute = (at: number | undefined): string | undefined =>
    at === undefined ? undefined : new Date(at).toISOString().slice(0, 16);
  expect([minute(found?.dueAt), minute(found?.knownAt)]).toEqual([due, known]);
});
