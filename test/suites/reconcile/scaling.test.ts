// The number of pods over the in-memory API server. It needs no revision and replaces no pod. From a fixed number to an autoscaler's and
// back, whatever is interrupted, and whoever writes in between, the number never falls below what it was.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { rollingBack } from '../../../src/deploy/record/revision-request.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import type { ResourceSpec } from '../../../src/kinds/resource-spec.ts';
import { Conflict, Forbidden } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  JOBS,
  POD_DISRUPTION_BUDGETS,
  SCALED_OBJECTS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord, putSecret, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed, gone } from './harness.ts';

const scaled = (resourceSpec: ResourceSpec): Promise<MemoryController> =>
  aConverged({ sourceConfig: { resourceSpec } });

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
        const dying = await scaled(before);
        const { kube } = dying;
        await scaleTo(kube, after);
        let lowest = first;
        const onWrite = (): void => {
          lowest = Math.min(lowest, replicas(kube));
        };
        await crashed(dying, { when, at: crash, onWrite });
        lowest = Math.min(lowest, replicas(kube));
        const next = await aController(kube);
        const later = watched(kube);
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

  it('the autoscaler goes although another child is refused: it would undo the fixed number again and again', async () => {
    const controller = await scaled({ minScale: 2, maxScale: 6 });
    const { kube } = controller;
    await writeReplicas(kube, 5);
    kube.failOn(({ kind, verb }) =>
      verb === 'apply' && kind === 'PodDisruptionBudget' ? new Forbidden('no', { serverMessage: 'no' }) : undefined,
    );
    await gone(kube, POD_DISRUPTION_BUDGETS, 'shop');
    await scaleTo(kube, { minScale: 3, maxScale: 3 });
    await controller.reconcile();
    expect([replicas(kube), kube.objects(HORIZONTAL_POD_AUTOSCALERS), says(kube, 'Stalled')]).toEqual([
      3,
      [],
      'True ApplyRefused',
    ]);
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

it('what was at zero for long has the time of a start when it is scaled up, before it is Stalled', async () => {
  const controller = await scaled({ minScale: 0, maxScale: 0 });
  const { kube, clock } = controller;
  clock.ms += 3_600_000;
  await scaleTo(kube, { minScale: 1, maxScale: 1 });
  const passes = async (): Promise<unknown[]> => {
    for (let pass = 0; pass < 3; pass += 1) {
      await controller.reconcile();
    }
    return [says(kube, 'Ready'), says(kube, 'Stalled')];
  };
  expect(await passes()).toEqual(['False Progressing', 'False Settled']);
  clock.ms += 299_000;
  expect(await passes()).toEqual(['False Progressing', 'False Settled']);
  clock.ms += 1000;
  expect(await passes()).toEqual(['False NoReadyPod', 'True NoReadyPod']);
  await converge(controller);
  expect([says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual(['True Serving', 'False Settled']);
});

it('a revision is deployed when its pods have run: until then, at zero too, the one before is the active one', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const active = record(kube).status?.activeRevisionId;
  await edit(kube, {
    spec: {
      sourceRevisionConfig: { imageUri: 'registry.example/typo:1' },
      sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } },
    },
  });
  await converge(controller);
  const states = (): unknown[] => revisions(kube).map(({ status }) => status?.state);
  expect([states(), record(kube).status?.activeRevisionId, says(kube, 'Ready'), record(kube).status?.state]).toEqual([
    ['DEPLOYED', 'AWAITING_DEPLOY'],
    active,
    'True ScaledToZero',
    'UNUSED',
  ]);
  expect(revisions(kube)[1]?.status?.message).toBe('Scaled to zero. No pod of this revision has started yet.');
  controller.writes();
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
  await scaleTo(kube, { minScale: 1, maxScale: 1 });
  await controller.reconcile();
  expect([states(), record(kube).status?.activeRevisionId]).toEqual([['DEPLOYED', 'DEPLOYING'], active]);
  await converge(controller);
  expect([states(), says(kube, 'Ready')]).toEqual([['DEPLOYED', 'DEPLOYED'], 'True Serving']);
});

function revisions(kube: FakeKube): AppRevision[] {
  return kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
}

/** The templates of everything that has pods, by name. */
function templates(kube: FakeKube): Record<string, unknown> {
  const workloads = [...kube.objects<Workload>(DEPLOYMENTS), ...kube.objects<Workload>(STATEFUL_SETS)];
  return Object.fromEntries(workloads.map(({ metadata, spec }) => [metadata.name, spec?.template]));
}

function numberOf(kube: FakeKube, name: string): number | undefined {
  return kube.objects<Deployment>(DEPLOYMENTS).find(({ metadata }) => metadata.name === name)?.spec.replicas;
}

const PARTS: ResourceSpec = { cpu: 0.5, queueMinScale: 1, queueMaxScale: 1, orchestratorMinScale: 1 };

describe('no revision, no template, no dry run and no Job', () => {
  it.each<{ name: string; after: ResourceSpec; want: Readonly<Record<string, number>> }>([
    { name: 'more and fewer', after: { minScale: 3, maxScale: 3 }, want: { shop: 3, 'shop--queue': 1 } },
    { name: 'queue workers', after: { queueMinScale: 2, queueMaxScale: 2 }, want: { shop: 1, 'shop--queue': 2 } },
    { name: 'no orchestrator', after: { orchestratorMaxScale: 0 }, want: { shop: 1, 'shop--orchestrator': 0 } },
    { name: 'a range', after: { minScale: 2, maxScale: 4 }, want: { shop: 2 } },
    { name: 'zero', after: { minScale: 0, maxScale: 0 }, want: { shop: 0, 'shop--queue': 0, 'shop--orchestrator': 0 } },
  ])('$name, and back', async ({ after, want }) => {
    const runtime = { migrate: { command: ['up'] } };
    const controller = await aConverged({ sourceConfig: { resourceSpec: PARTS, runtime } });
    const { kube } = controller;
    const [before, numbers] = [templates(kube), record(kube).status?.resourceSpec];
    const jobs = kube.objects(JOBS).length;
    controller.writes();
    await scaleTo(kube, after);
    await converge(controller);
    const writes = controller.writes();
    expect(writes.filter((write) => /AppRevision|Pod |Job|StatefulSet/.test(write))).toEqual([]);
    for (const [name, number] of Object.entries(want)) expect([name, numberOf(kube, name)]).toEqual([name, number]);
    expect(record(kube).status?.resourceSpec).toMatchObject(after);
    expect(says(kube, 'Ready')).toMatch(/^True /);
    await edit(kube, { spec: { sourceConfig: { resourceSpec: null } } });
    await scaleTo(kube, PARTS);
    await converge(controller);
    expect([templates(kube), record(kube).status?.resourceSpec]).toEqual([before, numbers]);
    expect([revisions(kube).length, revisions(kube)[0]?.status?.state, kube.objects(JOBS).length]).toEqual([
      1,
      'DEPLOYED',
      jobs,
    ]);
  });

  it('jobs of a queue worker', async () => {
    const resourceSpec = { queueMinScale: 0, queueMaxScale: 4 };
    const runtime = { queueDepth: { query: 'SELECT 1' } };
    const kube = aServer();
    putRecord(kube, { sourceConfig: { resourceSpec, runtime } });
    const controller = await aController(kube);
    await converge(controller);
    const before = templates(kube);
    await edit(kube, { spec: { sourceConfig: { runtime: { queueDepth: { perPod: 3 } } } } });
    await converge(controller);
    const [scaled] = kube.objects<KubeObject & { spec: object }>(SCALED_OBJECTS);
    expect(scaled?.spec).toMatchObject({ triggers: [{ metadata: { targetQueryValue: '3' } }] });
    expect([templates(kube), revisions(kube).length]).toEqual([before, 1]);
  });

  it('of a record that an older Davit has, whose revision stores another scale', async () => {
    const controller = await aConverged({ sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2 } } });
    const { kube } = controller;
    await scaleTo(kube, { minScale: 4, maxScale: 4 });
    await converge(controller);
    await scaleTo(kube, { minScale: null, maxScale: null } as unknown as ResourceSpec);
    await converge(controller);
    expect([numberOf(kube, 'shop'), revisions(kube).length]).toEqual([1, 1]);
  });
});

async function deploy(kube: FakeKube, imageUri: string, more: object = {}): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri }, revisionSerial, ...more } });
}

describe('at once, while the newest revision', () => {
  const FIVE = { minScale: 5, maxScale: 5 };
  const missing = { secretReferences: [{ name: 'KEY', secretName: 'late', secretKey: 'key' }] };
  const full = new Forbidden('no', { serverMessage: 'exceeded quota: pods=5' });

  it.each<{ name: string; more?: object; refuses?: boolean; ready: string }>([
    { name: 'waits for a Secret', more: missing, ready: 'False SecretMissing' },
    { name: 'is refused by a quota that the running pods fill', refuses: true, ready: 'False PodsRefused' },
  ])('$name', async ({ more = {}, refuses = false, ready }) => {
    const controller = await scaled(FIVE);
    const { kube } = controller;
    const before = templates(kube);
    if (refuses)
      kube.failOn(({ kind, dryRun }) => (kind === 'Pod' && dryRun && replicas(kube) === 5 ? full : undefined));
    await deploy(kube, 'registry.example/shop:2', more);
    await controller.reconcile();
    await makeReady(kube);
    await controller.reconcile();
    expect([says(kube, 'Ready'), replicas(kube), templates(kube)]).toEqual([ready, 5, before]);
    await scaleTo(kube, { minScale: 2, maxScale: 2 });
    await controller.reconcile();
    expect([replicas(kube), templates(kube)]).toEqual([2, before]);
    await makeReady(kube);
    if (!refuses) putSecret(kube, 'late', { key: 'dA==' });
    await converge(controller);
    expect([says(kube, 'Ready'), replicas(kube), revisions(kube).map(({ status }) => status?.state)]).toEqual([
      'True Serving',
      2,
      ['DEPLOYED', 'DEPLOYED'],
    ]);
  });

  it.each([false, true])(
    'cannot roll, and an autoscaler has been at work: nobody takes turns (refused: %s)',
    async (refuses) => {
      const controller = await scaled({ minScale: 2, maxScale: 6 });
      const { kube } = controller;
      if (refuses) kube.failOn(({ kind, dryRun }) => (kind === 'Pod' && dryRun ? full : undefined));
      await deploy(kube, 'registry.example/shop:2', refuses ? {} : missing);
      await controller.reconcile();
      await writeReplicas(kube, 6);
      await scaleTo(kube, { minScale: 1, maxScale: 1 });
      await controller.reconcile();
      await makeReady(kube);
      await controller.reconcile();
      expect([replicas(kube), kube.objects(HORIZONTAL_POD_AUTOSCALERS), kube.objects(POD_DISRUPTION_BUDGETS)]).toEqual([
        1,
        [],
        [],
      ]);
    },
  );

  it('is being rolled out', async () => {
    const controller = await scaled(FIVE);
    const { kube } = controller;
    await deploy(kube, 'registry.example/shop:2');
    await controller.reconcile();
    const rolling = templates(kube);
    await scaleTo(kube, { minScale: 2, maxScale: 2 });
    await controller.reconcile();
    expect([replicas(kube), templates(kube), revisions(kube).length]).toEqual([2, rolling, 2]);
  });
});

it('a rollback leaves it as it is', async () => {
  const controller = await scaled({ cpu: 0.5 });
  const { kube } = controller;
  const [first] = revisions(kube);
  if (!first) throw new Error('no revision');
  await deploy(kube, 'registry.example/shop:2', { sourceConfig: { resourceSpec: { cpu: 0.7 } } });
  await converge(controller);
  await scaleTo(kube, { minScale: 3, maxScale: 3 });
  await converge(controller);
  const { spec } = record(kube);
  await edit(kube, { spec: { ...rollingBack(spec, first.spec) } });
  await converge(controller);
  const third = revisions(kube)[2];
  expect([revisions(kube).length, replicas(kube), record(kube).spec.sourceRevisionConfig.imageUri]).toEqual([
    3,
    3,
    'registry.example/shop:1',
  ]);
  expect(third?.spec.resolved).toEqual({
    ...first.spec.resolved,
    server: { ...first.spec.resolved.server, minScale: 3, maxScale: 3 },
  });
});
