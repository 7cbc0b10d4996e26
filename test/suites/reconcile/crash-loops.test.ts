// A container of a deployed revision that exits again and again, and is ready for seconds in between, as the kubelet restarts it.

import { expect, it } from 'vitest';
import type { ContainerStatus } from '../../../src/deploy/assess/observed.ts';
import { unavailable } from '../../../src/main/monitoring/unavailable.ts';
import { DEPLOYMENTS } from '../../../src/runtime/kube/api-resources.ts';
import type { MemoryController } from '../../kit/memory/controller.ts';
import { SHOP } from '../../kit/memory/controller.ts';
import { conditionIn, newestRevision, record, says } from '../../kit/memory/record.ts';
import { makeReady, putPod } from '../../kit/memory/workloads.ts';
import { aConverged } from './harness.ts';

/** The back-off of the kubelet before the start that follows each exit, in seconds. */
const backOff = (exits: number): number => Math.min(300, 10 * 2 ** (exits - 1));

interface Loop {
  readonly controller: MemoryController;
  /** The container runs for `seconds` and is ready, exits, and waits for its next start. */
  cycle(seconds: number, exitCode?: number): Promise<void>;
}

async function aLoop(): Promise<Loop> {
  const controller = await aConverged();
  const { kube, clock } = controller;
  const at = (ms: number): string => new Date(ms).toISOString();
  let exits = 0;
  let ended: ContainerStatus['lastState'];
  const show = async (isReady: boolean, state: ContainerStatus['state']): Promise<void> => {
    const status = { ready: isReady, restartCount: exits, ...(state && { state }), ...(ended && { lastState: ended }) };
    putPod(kube, 'server', newestRevision(kube).spec.id, status, isReady);
    if (isReady) await makeReady(kube);
    else await setUnavailable(controller);
    await controller.reconcile();
  };
  /** Lets time pass as the queue does: the record is reconciled when it asked to be. */
  const wait = async (seconds: number): Promise<void> => {
    const end = clock.ms + seconds * 1000;
    while (clock.ms < end) {
      const { requeueAfterMs = Number.POSITIVE_INFINITY } = await controller.reconcile();
      clock.ms = Math.min(end, clock.ms + Math.max(1000, requeueAfterMs));
    }
    await controller.reconcile();
  };
  return {
    controller,
    async cycle(seconds, exitCode = 3) {
      const startedAt = at(clock.ms);
      await show(true, { running: { startedAt } });
      await wait(seconds);
      ended = {
        terminated: { exitCode, reason: 'Error', message: 'out of luck', startedAt, finishedAt: at(clock.ms) },
      };
      exits += 1;
      await show(false, { waiting: { reason: 'CrashLoopBackOff' } });
      await wait(backOff(exits));
    },
  };
}

async function setUnavailable({ kube }: MemoryController): Promise<void> {
  const status = { readyReplicas: 0, availableReplicas: 0 };
  await kube.mergePatch(DEPLOYMENTS, SHOP, { status }, { fieldManager: 'k', subresource: 'status' });
}

it.each([
  ['runs for 5 s', 5, 3],
  ['runs for 100 s', 100, 3],
  ['runs for 5 s, and ends with 0', 5, 0],
])(
  'a container that %s each time is down from its second exit on, and Stalled from its third',
  async (_what, seconds, exitCode) => {
    const { controller, cycle } = await aLoop();
    const { kube, clock } = controller;
    await cycle(seconds, exitCode);
    await cycle(seconds, exitCode);
    const since = clock.ms;
    for (let time = 0; time < 8; time += 1) {
      await cycle(seconds, exitCode);
      expect(['Ready', 'Available', 'Stalled'].map((type) => says(kube, type))).toEqual([
        'False ContainerCrashed',
        'False ContainerCrashed',
        'True ContainerCrashed',
      ]);
    }
    expect((unavailable(record(kube))?.at ?? Infinity) * 1000).toBeLessThan(since);
  },
);

it('a container that runs again after an exit counts when it has run for 30 s, and at once where it never exited', async () => {
  const { controller, cycle } = await aLoop();
  const { kube, clock } = controller;
  expect(says(kube, 'Ready')).toBe('True Serving');
  await cycle(1);
  const startedAt = new Date(clock.ms).toISOString();
  const finishedAt = new Date(clock.ms - 10_000).toISOString();
  const lastState = { terminated: { exitCode: 3, reason: 'Error', message: 'out of luck', finishedAt } };
  putPod(
    kube,
    'server',
    newestRevision(kube).spec.id,
    { ready: true, restartCount: 1, state: { running: { startedAt } }, lastState },
    true,
  );
  await makeReady(kube);
  const { requeueAfterMs } = await controller.reconcile();
  expect([says(kube, 'Ready'), requeueAfterMs]).toEqual(['False ContainerCrashed', 30_000]);
  expect(conditionIn(kube, 'Ready')?.message).toBe(
    'Container server exited (Error, exit code 3): out of luck. Read its log, and deploy a corrected revision. It is running again; Davit waits to see whether it stays up.',
  );
  clock.ms += 29_000;
  await controller.reconcile();
  expect(says(kube, 'Ready')).toBe('False ContainerCrashed');
  clock.ms += 1_000;
  await controller.reconcile();
  expect([says(kube, 'Ready'), says(kube, 'Available')]).toEqual(['True Serving', 'True Serving']);
  controller.writes();
  expect(await controller.reconcile()).toEqual({});
  expect(controller.writes()).toEqual([]);
});

it('a container that exited three times is Stalled until it has settled, and Davit writes nothing meanwhile', async () => {
  const { controller, cycle } = await aLoop();
  const { kube, clock } = controller;
  for (let time = 0; time < 3; time += 1) {
    await cycle(1);
  }
  const { status, spec } = newestRevision(kube);
  expect([says(kube, 'Stalled'), status?.state]).toEqual(['True ContainerCrashed', 'DEPLOYED']);
  controller.writes();
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
  const at = (secondsAgo: number): string => new Date(clock.ms - secondsAgo * 1000).toISOString();
  const lastState = { terminated: { exitCode: 3, reason: 'Error', startedAt: at(41), finishedAt: at(40) } };
  putPod(
    kube,
    'server',
    spec.id,
    { ready: true, restartCount: 3, state: { running: { startedAt: at(0) } }, lastState },
    true,
  );
  await makeReady(kube);
  await controller.reconcile();
  expect(says(kube, 'Stalled')).toBe('True ContainerCrashed');
  clock.ms += 31_000;
  await controller.reconcile();
  expect([says(kube, 'Stalled'), says(kube, 'Ready')]).toEqual(['False Settled', 'True Serving']);
  controller.writes();
  expect(await controller.reconcile()).toEqual({});
  expect(controller.writes()).toEqual([]);
});
