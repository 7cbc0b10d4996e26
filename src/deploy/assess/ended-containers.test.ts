import { expect, it } from 'vitest';
import { endedContainers } from './ended-containers.ts';
import type { ContainerState, ContainerStatus, Pod } from './observed.ts';

const exit = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const podOf = (component: string, main: Partial<ContainerStatus>, init: Partial<ContainerStatus> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'shop-1', labels: { 'davit.dev/component': component } },
  status: {
    initContainerStatuses: [{ name: 'prepare', ready: true, state: exit(0), ...init }],
    containerStatuses: [{ name: 'main', ready: false, ...main }],
  },
});

it.each<[string, Pod, [container: string, exitCode: number, previous: boolean][]]>([
  ['a server that failed', podOf('server', { state: exit(3) }), [['main', 3, false]]],
  ['a server that has just ended', podOf('server', { state: exit(0) }), [['main', 0, false]]],
  ['a worker that ended', podOf('jobs', { state: { running: {} }, lastState: exit(0) }), [['main', 0, true]]],
  ['a server that is ready again', podOf('server', { ready: true, state: { running: {} }, lastState: exit(3) }), []],
  ['a server whose init container failed', podOf('server', {}, { state: exit(1) }), [['prepare', 1, false]]],
  ['a run of a task that is done', podOf('task', { state: exit(0) }), []],
  ['a migration that is done', podOf('migrate', { state: exit(0) }), []],
  ['a run of a task that failed', podOf('task', { state: exit(3) }), [['main', 3, false]]],
  [
    'a store that ends again and again',
    podOf('redis', { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: exit(0) }),
    [['main', 0, true]],
  ],
])('%s', (_what, pod, want) => {
  expect(endedContainers(pod).map(({ container, exitCode, previous }) => [container, exitCode, previous])).toEqual(
    want,
  );
});
