import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../test/support/builders.ts';
import type { ContainerStatus, Pod } from './observed.ts';
import { recheckAfterMs, startingSinceMs } from './pod-startup.ts';

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
