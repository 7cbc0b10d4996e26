import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../../test/support/builders.ts';
import { availableOf, type ContainerStatus, type Pod } from './observed.ts';
import { untilSettledMs, withUnsettled } from './pod-settling.ts';

const NOW = Date.parse('2026-02-02T02:00:00Z');
const REVISION = aRevision(aRecord());
const at = (secondsAgo: number): string => new Date(NOW - secondsAgo * 1000).toISOString();

/** A container that runs for so long, in seconds, after it had run and exited. */
function restarted(runs: number, ran: number | undefined, exitCode = 3): Partial<ContainerStatus> {
  const finishedAt = at(runs + 10);
  const terminated = { exitCode, finishedAt, ...(ran !== undefined && { startedAt: at(runs + 10 + ran) }) };
  return { restartCount: 2, state: { running: { startedAt: at(runs) } }, lastState: { terminated } };
}

function podWith(status: Partial<ContainerStatus>, name = 'server'): Pod {
  return aPod('server', REVISION, { main: [{ name, ready: true, ...status }] });
}

it.each<[string, Pod, number | undefined]>([
  ['that never exited', podWith({ state: { running: { startedAt: at(0) } } }), undefined],
  ['that waits for its next start', podWith({ ...restarted(1, 5), state: { waiting: {} } }), undefined],
  ['that ran for 5 s and runs for 1 s', podWith(restarted(1, 5)), 34_000],
  ['that ran for 5 s and runs for 35 s', podWith(restarted(35, 5)), undefined],
  ['that ran for 9 minutes and runs for 9', podWith(restarted(540, 540)), 30_000],
  ['that exited once, after 9 minutes, and runs for 29 s', podWith({ ...restarted(29, 540), restartCount: 1 }), 1_000],
  [
    'that exited once, after 9 minutes, and runs for 30 s',
    podWith({ ...restarted(30, 540), restartCount: 1 }),
    undefined,
  ],
  ['that ran for a day and runs for 29 s', podWith(restarted(29, 86_400)), 1_000],
  ['that ran for nobody knows how long', podWith(restarted(29, undefined)), 1_000],
  ['that ended well after an hour', podWith(restarted(1, 3600, 0)), undefined],
  ['that ended well at once', podWith(restarted(1, 2, 0)), 31_000],
  ['whose node has a clock that is 2 s ahead', podWith(restarted(-2, 5)), 35_000],
  ['whose node has a clock that is an hour ahead', podWith(restarted(-3600, 5)), undefined],
  ["that is Davit's own and waits for a store", podWith(restarted(1, 5), 'wait-for-database'), undefined],
])('a container %s settles in time', (_what, pod, want) => {
  const [marked] = withUnsettled([pod], new Date(NOW));
  expect(untilSettledMs([pod], new Date(NOW))).toBe(want);
  expect(marked?.status?.containerStatuses?.[0]?.unsettled).toBe(want === undefined ? undefined : true);
  if (want === undefined) expect(marked).toBe(pod);
});

it.each<[string, Partial<Pod['metadata']>, 'True' | 'False', number]>([
  ['a pod that is ready', {}, 'True', 1],
  ['one that is not ready is not counted anyway', {}, 'False', 2],
  ['one that ends is not counted anyway', { deletionTimestamp: at(0) }, 'True', 2],
  ['one of another part', { labels: { 'davit.dev/component': 'queue' } }, 'True', 2],
])('is not available while it has not settled: %s', (_what, metadata, ready, want) => {
  const pod = podWith({ unsettled: true });
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop' } };
  const observed = {
    record: aRecord(),
    names: { part: () => 'shop' } as never,
    revisions: [],
    children: [{ ...workload, status: { availableReplicas: 2 } }],
    pods: [
      {
        ...pod,
        metadata: { ...pod.metadata, ...metadata },
        status: { ...pod.status, conditions: [{ type: 'Ready', status: ready }] },
      },
    ],
  };
  expect(availableOf(observed, 'server')).toBe(want);
});
