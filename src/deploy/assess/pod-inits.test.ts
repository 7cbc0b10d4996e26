import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../../test/support/builders.ts';
import type { ContainerState, Pod } from './observed.ts';
import { heldBy, heldWords, lateAt, untilLongHeldMs, withLongHeld } from './pod-inits.ts';

const REVISION = aRevision(aRecord());
const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const NOW = new Date(at(100));

function server(
  init: Readonly<Record<string, ContainerState>>,
  main: ContainerState = {},
  sidecars: string[] = [],
): Pod {
  const pod = aPod('server', REVISION, {
    init: Object.entries(init).map(([name, state]) => ({ name, state, started: state.running !== undefined })),
    main: [{ name: 'server', state: main }],
  });
  const initContainers = sidecars.map((name) => ({ name, restartPolicy: 'Always' }));
  return { ...pod, spec: { initContainers } };
}
const since = (second: number): ContainerState => ({ running: { startedAt: at(second) } });
const passed = (second: number): ContainerState => ({ terminated: { exitCode: 0, finishedAt: at(second) } });
const initializing = { waiting: { reason: 'PodInitializing' } };

function postgres(ready: number): Pod {
  return aPod('postgres', REVISION, {
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at(ready) }],
  });
}

it.each<{ name: string; pods: readonly Pod[]; isLate: boolean; left?: number }>([
  {
    name: 'within the time of an attempt',
    pods: [server({ 'wait-for-redis': since(90) })],
    isLate: false,
    left: 10_000,
  },
  { name: 'longer', pods: [server({ 'wait-for-redis': since(80) })], isLate: true },
  { name: 'that has ended', pods: [server({ 'wait-for-redis': passed(20) })], isLate: false },
  {
    name: 'whose own store has only now become ready',
    pods: [server({ 'wait-for-database': since(1) }), postgres(95)],
    isLate: false,
    left: 15_000,
  },
  {
    name: 'whose own store was ready before',
    pods: [server({ 'wait-for-database': since(1) }), postgres(2)],
    isLate: true,
  },
  {
    name: 'behind a sidecar that runs',
    pods: [server({ proxy: since(1), 'wait-for-database': since(95) }, initializing, ['proxy'])],
    isLate: false,
    left: 15_000,
  },
  { name: 'of the record', pods: [server({ 'wait-for-redis': passed(1), setup: since(2) })], isLate: true },
])('an init container has held its pod back for long: $name', ({ pods, isLate, left }) => {
  expect(withLongHeld(pods, NOW)[0]?.longHeld === true).toBe(isLate);
  expect(untilLongHeldMs(pods, NOW)).toBe(left);
});

it('nothing holds a pod back that ends', () => {
  const pod = server({ setup: since(1) });
  const ending = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: at(2) } };
  expect(heldBy(pod)?.name).toBe('setup');
  expect(heldBy(ending)).toBeUndefined();
});

it.each<{ name: string; others: readonly Pod[]; isLate: boolean }>([
  { name: 'no other', others: [], isLate: true },
  { name: 'one got through before', others: [server({ 'wait-for-redis': passed(5) })], isLate: true },
  { name: 'one got through since', others: [server({ 'wait-for-redis': passed(60) })], isLate: false },
])('a pod that waits is the newest evidence: $name', ({ others, isLate }) => {
  const [pod] = withLongHeld([server({ 'wait-for-redis': since(10) })], NOW);
  expect(lateAt([...(pod ? [pod] : []), ...others], 'wait-for-redis') !== undefined).toBe(isLate);
});

it.each<{ name: string; pods: readonly Pod[]; says: string | undefined }>([
  { name: 'no pod', pods: [], says: undefined },
  { name: 'its program runs', pods: [server({ setup: passed(1) }, since(2))], says: undefined },
  { name: 'its program has exited', pods: [server({}, { terminated: { exitCode: 1 } })], says: undefined },
  {
    name: 'it is being created',
    pods: [server({ setup: { waiting: { reason: 'PodInitializing' } } }, initializing)],
    says: 'Pod shop-server-0 is starting, and its program is not running yet.',
  },
  {
    name: 'an init container that hangs',
    pods: [server({ setup: since(1) }, initializing)],
    says: 'Pod shop-server-0 waits for its init container setup to end. kubectl logs shop-server-0 -c setup -n team shows',
  },
  {
    name: 'a sidecar that does not start',
    pods: [
      {
        ...server({ proxy: since(1) }, initializing, ['proxy']),
        status: { phase: 'Pending', initContainerStatuses: [{ name: 'proxy', started: false, state: since(1) }] },
      },
    ],
    says: 'Pod shop-server-0 waits for its sidecar proxy to start. kubectl logs shop-server-0 -c proxy -n team shows',
  },
])('says what holds a program back: $name', ({ pods, says }) => {
  const words = heldWords(withLongHeld(pods, NOW));
  if (says === undefined) expect(words).toBeUndefined();
  else expect(words).toContain(says);
});
