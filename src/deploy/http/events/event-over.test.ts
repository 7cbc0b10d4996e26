import { expect, it } from 'vitest';
import { isOver } from './event-over.ts';

const pod = (status: string, lastTransitionTime?: string): Parameters<typeof isOver>[1][number] => ({
  metadata: { name: 'shop-1' },
  status: { conditions: [{ type: 'Ready', status, ...(lastTransitionTime !== undefined && { lastTransitionTime }) }] },
});
const warning = { type: 'Warning', reason: 'Unhealthy', kind: 'Pod', name: 'shop-1', at: '2026-01-01T00:00:05Z' };

const later = { kind: 'AppDeployment', at: '2026-01-01T00:00:07Z' };
const ready = [
  { type: 'Ready', status: 'True', reason: 'Serving', message: '', lastTransitionTime: '2026-01-01T00:00:06Z' },
] as const;

it.each([
  ['before its pod became ready', {}, pod('True', '2026-01-01T00:00:06Z'), true],
  ['in the second in which it did', {}, pod('True', '2026-01-01T00:00:05Z'), true],
  ['after that', {}, pod('True', '2026-01-01T00:00:04Z'), false],
  ['of a pod that is not ready', {}, pod('False', '2026-01-01T00:00:06Z'), false],
  ['of a pod that does not say since when', {}, pod('True'), false],
  ['of no time', { at: undefined }, pod('True', '2026-01-01T00:00:06Z'), false],
  ['of another pod', { name: 'shop-2' }, pod('True', '2026-01-01T00:00:06Z'), false],
  ['of another kind', { kind: 'ReplicaSet' }, pod('True', '2026-01-01T00:00:06Z'), false],
  ['of a run by hand', { kind: 'CronJob', reason: 'UnexpectedJob' }, pod('True'), true],
  ['of a CronJob', { kind: 'CronJob', reason: 'TooManyMissedTimes' }, pod('True'), false],
  [
    'of a build before the deployment became ready',
    { kind: 'AppDeployment', reason: 'BuildFailed' },
    pod('True'),
    true,
  ],
  ['of a revision that failed before it', { kind: 'AppDeployment', reason: 'RevisionFailed' }, pod('True'), true],
  ['of a build after that', { ...later, reason: 'BuildFailed' }, pod('True'), false],
  ['of the deployment that is no failure', { kind: 'AppDeployment', reason: 'RollbackIgnored' }, pod('True'), false],
  ['that is none', { type: 'Normal' }, pod('True', '2026-01-01T00:00:06Z'), false],
])('a warning %s', (_what, more, of, over) => {
  expect(isOver({ ...warning, ...more }, [of], ready)).toBe(over);
});
