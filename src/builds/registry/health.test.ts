import { expect, it } from 'vitest';
import { collectionOf, type RegistryPod } from './health.ts';

type Status = NonNullable<NonNullable<RegistryPod['status']>['initContainerStatuses']>[number];

function pod(collect: Omit<Status, 'name'> | undefined): RegistryPod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'davit-registry-0', namespace: 'davit-system' },
    status: {
      startTime: '2026-01-01T00:00:00Z',
      initContainerStatuses: [
        { name: 'mesh', state: { terminated: { exitCode: 1 } } },
        ...(collect ? [{ name: 'collect-garbage', ...collect }] : []),
      ],
    },
  };
}
const started = Date.parse('2026-01-01T00:00:00Z') / 1000;
const failed = { terminated: { exitCode: 2, finishedAt: '2026-01-01T00:01:00Z' } };

it.each<[string, Omit<Status, 'name'>, object]>([
  ['it waits for its turn', {}, { state: 'running' }],
  ['it runs', { state: {} }, { state: 'running' }],
  [
    'it has ended',
    { state: { terminated: { exitCode: 0, finishedAt: '2026-01-01T00:05:00Z' } } },
    { state: 'succeeded', succeededAt: started + 300 },
  ],
  ['it has failed', { state: failed }, { state: 'failing' }],
  ['it failed and is to run again', { state: {}, lastState: failed }, { state: 'failing' }],
  [
    'it failed once and has ended since',
    { state: { terminated: { exitCode: 0, finishedAt: '2026-01-01T00:05:00Z' } }, lastState: failed },
    { state: 'succeeded', succeededAt: started + 300 },
  ],
])('%s', (_what, collect, expected) => {
  expect(collectionOf(pod(collect), 7)).toEqual({ ...expected, dueAt: started + 7 * 86_400 });
  expect(collectionOf(pod(collect), undefined)).toEqual(expected);
});

it('a pod that collects nothing has none, nor has one without a status', () => {
  expect(collectionOf(pod(undefined), 7)).toBeUndefined();
  expect(collectionOf({ ...pod(undefined), status: {} }, 7)).toBeUndefined();
});
