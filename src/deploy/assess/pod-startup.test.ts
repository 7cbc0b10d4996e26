import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../../test/support/builders.ts';
import type { ContainerStatus, Pod } from './observed.ts';
import { recheckAfterMs, startingSinceMs, withJustStarted } from './pod-startup.ts';

const SCHEDULED = '2026-02-02T02:02:02Z';
const AT = Date.parse(SCHEDULED);
const REVISION = aRevision(aRecord());

function waiting(name: string, reason = 'PodInitializing'): ContainerStatus {
  return { name, state: { waiting: { reason } } };
}

function pod(init: readonly ContainerStatus[], main: readonly ContainerStatus[], status = 'True'): Pod {
  const conditions = [{ type: 'PodScheduled', status, lastTransitionTime: SCHEDULED }];
  return aPod('server', REVISION, { init, main, conditions });
}
const beginning = pod([waiting('wait-for-database')], [waiting('server')]);

it.each([
  { name: 'nothing has begun', given: beginning, want: AT },
  { name: 'one container alone', given: pod([], [waiting('server', 'ContainerCreating')]), want: AT },
  {
    name: 'an init container runs',
    given: pod([{ name: 'wait-for-database', state: { running: {} } }], [waiting('server')]),
    want: undefined,
  },
  { name: 'an image is missing', given: pod([waiting('a', 'ErrImagePull')], [waiting('server')]), want: undefined },
  { name: 'no node has it', given: pod([waiting('a')], [waiting('server')], 'False'), want: undefined },
  { name: 'no kubelet has said anything', given: pod([], []), want: undefined },
  {
    name: 'it is being deleted',
    given: { ...beginning, metadata: { ...beginning.metadata, deletionTimestamp: SCHEDULED } },
    want: undefined,
  },
])('since when a pod could have begun: $name', ({ given, want }) => {
  expect(startingSinceMs(given)).toBe(want);
});

it.each([
  { reason: 'a moment is normal', afterMs: 500, want: 1500 },
  { reason: 'then at once', afterMs: 2000, want: 2000 },
  { reason: 'then ever more seldom', afterMs: 20_000, want: 20_000 },
  { reason: 'but at least once a minute', afterMs: 3_600_000, want: 60_000 },
])('looks again: $reason', ({ afterMs, want }) => {
  expect(recheckAfterMs([beginning], new Date(AT + afterMs))).toBe(want);
});

it('looks no more once everything has begun', () => {
  expect(recheckAfterMs([pod([], [{ name: 'server', state: { running: {} } }])], new Date(AT))).toBeUndefined();
});

it.each<[string, Partial<ContainerStatus>, number, true | undefined]>([
  ['runs for 19 s', { state: { running: { startedAt: SCHEDULED } } }, 19_999, true],
  ['runs for 20 s', { state: { running: { startedAt: SCHEDULED } } }, 20_000, undefined],
  ['was restarted', { state: { running: { startedAt: SCHEDULED } }, restartCount: 1 }, 1000, undefined],
  ['waits', { state: { waiting: {} } }, 1000, undefined],
])('has just started, or not: a container that %s', (_what, status, afterMs, want) => {
  const [seen] = withJustStarted([pod([], [{ name: 'server', ...status }])], new Date(AT + afterMs));
  expect(seen?.justStarted).toBe(want);
});
