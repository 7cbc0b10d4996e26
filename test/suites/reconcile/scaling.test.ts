// From a fixed number of pods to an autoscaler's and back, over the in-memory API server: whatever is interrupted, and
// whoever writes in between, the number of pods never falls below what it was.

import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../../src/api/conditions.ts';
import type { ResourceSpec } from '../../../src/api/resource-spec.ts';
import { Conflict } from '../../../src/errors.ts';
import { DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, POD_DISRUPTION_BUDGETS } from '../../../src/kube/api-resources.ts';
import type { KubeObject } from '../../../src/kube/client.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aController, aConverged, converge, crashed, edit, type Harness, record, SHOP } from './harness.ts';

const scaled = (resourceSpec: ResourceSpec): Promise<Harness> => aConverged({ sourceConfig: { resourceSpec } });

async function scaleTo(kube: FakeKube, resourceSpec: ResourceSpec): Promise<void> {
  await edit(kube, { spec: { sourceConfig: { resourceSpec } } });
}

/** As an autoscaler writes it, or kubectl scale. */
async function writeReplicas(kube: FakeKube, replicas: number, manager = 'kube-controller-manager'): Promise<void> {
  await kube.mergePatch(DEPLOYMENTS, SHOP, { spec: { replicas } }, { fieldManager: manager, subresource: 'scale' });
}

interface Deployment extends KubeObject {
  readonly spec: { readonly replicas?: number };
}

/** As the API server shows it: what nobody has written is 1. */
function replicas(kube: FakeKube): number {
  const [server] = kube.objects<Deployment>(DEPLOYMENTS).filter(({ metadata }) => metadata.name === 'shop');
  return server?.spec.replicas ?? 1;
}

function reasons(kube: FakeKube): Record<string, string | undefined> {
  const { conditions } = record(kube).status ?? {};
  return Object.fromEntries(
    ['Ready', 'AutoscalingReady', 'ResourceSpecHonored'].map((type) => [type, conditionOf(conditions, type)?.reason]),
  );
}

/** The number after each write from now on. */
function watched(kube: FakeKube): number[] {
  const seen: number[] = [];
  kube.failAfter(() => {
    seen.push(replicas(kube));
    return undefined;
  });
  return seen;
}

describe('with a range', () => {
  it('is made with its minimum, and then left to the autoscaler', async () => {
    const { kube, ...controller } = await scaled({ minScale: 2, maxScale: 5 });
    expect(replicas(kube)).toBe(2);
    expect(kube.objects(HORIZONTAL_POD_AUTOSCALERS).map(({ metadata }) => metadata.name)).toEqual(['shop']);
    expect(kube.objects(POD_DISRUPTION_BUDGETS).map(({ metadata }) => metadata.name)).toEqual(['shop']);
    await writeReplicas(kube, 4);
    await controller.reconcile();
    expect(replicas(kube)).toBe(4);
  });

  it('steady state: nothing is written, whatever number and status there are', async () => {
    const controller = await scaled({ minScale: 2, maxScale: 5 });
    const { kube } = controller;
    await writeReplicas(kube, 4);
    for (const status of ['False', 'True', 'True']) {
      const [autoscaler] = kube.objects(HORIZONTAL_POD_AUTOSCALERS);
      const conditions = [
        { type: 'ScalingActive', status, reason: status === 'True' ? 'ValidMetricFound' : 'FailedGetResourceMetric' },
      ];
      kube.seed(HORIZONTAL_POD_AUTOSCALERS, {
        ...autoscaler,
        status: { conditions, currentReplicas: 4 },
      } as unknown as KubeObject);
      // oxlint-disable-next-line no-await-in-loop -- one status after the other
      await converge(controller);
      expect(reasons(kube)).toMatchObject({
        Ready: 'Serving',
        AutoscalingReady: status === 'True' ? 'Autoscaled' : 'MetricsMissing',
      });
    }
    await controller.reconcile();
    const again = await aController(kube);
    await again.reconcile();
    expect([controller.writes(), again.writes()]).toEqual([[], []]);
  });

  it('a minimum of 0 keeps one pod, and says so', async () => {
    const { kube } = await scaled({ minScale: 0, maxScale: 3 });
    expect(replicas(kube)).toBe(1);
    expect(kube.objects<KubeObject & { spec: object }>(HORIZONTAL_POD_AUTOSCALERS)[0]?.spec).toMatchObject({
      minReplicas: 1,
      maxReplicas: 3,
    });
    expect(reasons(kube)).toMatchObject({ Ready: 'Serving', ResourceSpecHonored: 'MinimumIsOne' });
  });

  it('scaled to nothing by a person, where an autoscaler rests: it comes back', async () => {
    const controller = await scaled({ minScale: 2, maxScale: 5 });
    await writeReplicas(controller.kube, 0, 'kubectl-scale');
    await converge(controller);
    expect(replicas(controller.kube)).toBe(2);
    expect(reasons(controller.kube)).toMatchObject({ Ready: 'Serving' });
  });
});

describe('handed over', () => {
  it.each([
    { name: 'a fixed number', before: { minScale: 3, maxScale: 3 }, after: { minScale: 2, maxScale: 6 }, end: 3 },
    {
      name: 'a number below the range',
      before: { minScale: 1, maxScale: 1 },
      after: { minScale: 2, maxScale: 6 },
      end: 2,
    },
    { name: 'nothing', before: { minScale: 0, maxScale: 0 }, after: { minScale: 2, maxScale: 6 }, end: 2 },
    { name: 'a range', before: { minScale: 2, maxScale: 6 }, after: { minScale: 4, maxScale: 4 }, end: 4 },
  ])('$name: no dip, and no crash at any write makes one', async ({ before, after, end }) => {
    const reference = await scaled(before);
    const first = replicas(reference.kube);
    const seen = watched(reference.kube);
    await scaleTo(reference.kube, after);
    await converge(reference);
    reference.kube.failAfter(undefined);
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(Math.min(first, end));
    expect(replicas(reference.kube)).toBe(end);
    const writes = seen.length;
    for (const when of ['failOn', 'failAfter'] as const) {
      for (let crash = 1; crash <= Math.min(writes, 12); crash += 1) {
        // oxlint-disable-next-line no-await-in-loop -- each plan has the event loop to itself
        const dying = await scaled(before);
        const { kube } = dying;
        // oxlint-disable-next-line no-await-in-loop -- as above
        await scaleTo(kube, after);
        let lowest = first;
        const onWrite = (): void => {
          lowest = Math.min(lowest, replicas(kube));
        };
        // oxlint-disable-next-line no-await-in-loop -- as above
        await crashed(dying, { when, at: crash, onWrite });
        lowest = Math.min(lowest, replicas(kube));
        // oxlint-disable-next-line no-await-in-loop -- as above
        const next = await aController(kube);
        const later = watched(kube);
        // oxlint-disable-next-line no-await-in-loop -- as above
        await converge(next);
        kube.failAfter(undefined);
        expect(
          [Math.min(lowest, ...later) >= Math.min(first, end), replicas(kube)],
          `${when} at write ${crash}`,
        ).toEqual([true, end]);
        next.stop();
      }
    }
  });

  it('the other way the autoscaler goes, and the fixed number is ours again', async () => {
    const controller = await scaled({ minScale: 2, maxScale: 6 });
    const { kube } = controller;
    await writeReplicas(kube, 5);
    await scaleTo(kube, { minScale: 3, maxScale: 3 });
    await converge(controller);
    expect([replicas(kube), kube.objects(HORIZONTAL_POD_AUTOSCALERS)]).toEqual([3, []]);
    await writeReplicas(kube, 1, 'kubectl-scale');
    await converge(controller);
    expect(replicas(kube)).toBe(3);
  });

  it('an autoscaler that writes between our look and our hand-over wins', async () => {
    const controller = await scaled({ minScale: 2, maxScale: 2 });
    const { kube } = controller;
    await scaleTo(kube, { minScale: 2, maxScale: 6 });
    kube.failOn(async ({ fieldManager }) => {
      if (fieldManager !== 'davit-hand-over') return undefined;
      kube.failOn(undefined);
      await writeReplicas(kube, 5);
      return undefined;
    });
    await expect(controller.reconcile()).rejects.toThrow(Conflict);
    await converge(controller);
    expect(replicas(kube)).toBe(5);
  });

  it('to zero: the autoscaler and the budget go, and nothing runs', async () => {
    const controller = await scaled({ minScale: 2, maxScale: 6 });
    const { kube } = controller;
    await scaleTo(kube, { minScale: 0, maxScale: 0 });
    await converge(controller);
    expect([
      replicas(kube),
      kube.objects(HORIZONTAL_POD_AUTOSCALERS),
      kube.objects(POD_DISRUPTION_BUDGETS),
      record(kube).status?.state,
      reasons(kube)['Ready'],
    ]).toEqual([0, [], [], 'UNUSED', 'ScaledToZero']);
  });
});
