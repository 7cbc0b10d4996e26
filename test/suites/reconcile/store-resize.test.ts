// New sizes of a PostgreSQL that runs, over the in-memory API server, with a StatefulSet controller and a kubelet that does, defers or
// refuses what it is asked for.

import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Pod, PodContainer, Workload } from '../../../src/deploy/assess/observed.ts';
import { Forbidden, Invalid, NotFound, Unavailable } from '../../../src/runtime/errors.ts';
import { PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { conditionIn, edit, newestRevision, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, crashed, crashPoints } from './harness.ts';

const SET = { namespace: 'team', name: 'shop--postgres' };
const POD = { namespace: 'team', name: 'shop--postgres-0' };

type Resources = NonNullable<PodContainer['resources']>;

interface Set extends Workload {
  readonly spec: NonNullable<Workload['spec']> & {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly name: string; readonly resources: Resources }[] };
    };
  };
}

function setOf(kube: FakeKube): Set {
  const found = kube.objects<Set>(STATEFUL_SETS).find(({ metadata }) => metadata.name === SET.name);
  if (!found) throw new Error('There is no StatefulSet.');
  return found;
}

function podOf(kube: FakeKube): Pod | undefined {
  return kube.objects<Pod>(PODS).find(({ metadata }) => metadata.name === POD.name);
}

function runs(kube: FakeKube): { uid: string | undefined; cpu: unknown; memory: unknown } {
  const { metadata, status } = podOf(kube) ?? {};
  const { requests, limits } = status?.containerStatuses?.[0]?.resources ?? {};
  return { uid: metadata?.uid, cpu: requests?.['cpu'], memory: limits?.['memory'] };
}

/** Everything that a StatefulSet controller and a kubelet do until they have nothing to do. `room`: for what the pod asks. */
async function world(kube: FakeKube, room: 'there' | 'none' = 'there'): Promise<void> {
  await makeReady(kube);
  const { metadata, spec } = setOf(kube);
  const updateRevision = createHash('sha256').update(JSON.stringify(spec.template)).digest('hex').slice(0, 8);
  let pod = podOf(kube);
  const isNewest = pod?.metadata.labels?.['controller-revision-hash'] === updateRevision;
  if (pod && !isNewest && spec.updateStrategy?.type === 'RollingUpdate') {
    await kube.remove(PODS, POD, { uid: pod.metadata.uid ?? '' });
    pod = undefined;
  }
  pod ??= aPodOf(kube, updateRevision);
  const asked = pod.spec?.containers?.[0]?.resources;
  const isBehind = JSON.stringify(asked) !== JSON.stringify(pod.status?.containerStatuses?.[0]?.resources);
  const waits = isBehind && room === 'none';
  const ready = { type: 'Ready', status: 'True' };
  const deferred = { type: 'PodResizePending', status: 'True', reason: 'Deferred', message: 'Not enough cpu' };
  const status = {
    phase: 'Running',
    conditions: waits ? [ready, deferred] : [ready],
    ...(!waits && { containerStatuses: [{ name: 'postgres', ready: true, state: { running: {} }, resources: asked }] }),
  };
  await kube.mergePatch(PODS, POD, { status }, { subresource: 'status' });
  const updatedReplicas = pod.metadata.labels?.['controller-revision-hash'] === updateRevision ? 1 : 0;
  const isOver = updatedReplicas === 1 && spec.updateStrategy?.type === 'RollingUpdate';
  const seen = { observedGeneration: metadata.generation, updateRevision, updatedReplicas };
  await kube.mergePatch(
    STATEFUL_SETS,
    SET,
    { status: { ...seen, ...(isOver && { currentRevision: updateRevision }) } },
    { subresource: 'status' },
  );
}

function aPodOf(kube: FakeKube, hash: string): Pod {
  const { metadata, spec } = setOf(kube);
  return kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...POD,
      labels: { ...metadata.labels, 'controller-revision-hash': hash },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: SET.name, uid: metadata.uid ?? '', controller: true },
      ],
    },
    spec: spec.template.spec,
  } as Pod) as Pod;
}

/** Until a pass writes nothing. */
async function settle(controller: MemoryController, room: 'there' | 'none' = 'there'): Promise<string[]> {
  const all: string[] = [];
  for (let pass = 0; pass < 25; pass += 1) {
    await controller.reconcile();
    const writes = controller.writes();
    all.push(...writes);
    await world(controller.kube, room);
    controller.writes();
    if (writes.length === 0 && pass > 1)
      return all.filter((write) => /Pod |StatefulSet/.test(write) && !write.startsWith('try'));
  }
  throw new Error('It does not come to rest.');
}

async function running(): Promise<MemoryController> {
  const controller = await aConverged({ sourceConfig: { resourceSpec: { dbMemoryLimitMb: 1024 } } });
  await world(controller.kube);
  await settle(controller);
  return controller;
}

async function ask(kube: FakeKube, resourceSpec: object): Promise<void> {
  await edit(kube, { spec: { sourceConfig: { resourceSpec } } });
}

/** At rest, with a StatefulSet that replaces its pods as ever. */
function expectSettled(kube: FakeKube): void {
  const { spec, status } = setOf(kube);
  expect([spec.updateStrategy?.type, status?.currentRevision]).toEqual(['RollingUpdate', status?.updateRevision]);
  expect([says(kube, 'Ready'), newestRevision(kube).status?.state]).toEqual(['True Serving', 'DEPLOYED']);
}

it('come to the pod that runs, in one write of the pod and one of its label', async () => {
  const controller = await running();
  const { kube } = controller;
  const { uid } = runs(kube);
  await ask(kube, { dbCpu: 0.2, dbMemoryLimitMb: 2048 });
  expect(await settle(controller)).toEqual([
    'apply StatefulSet shop--postgres',
    'patch Pod shop--postgres-0/resize',
    'patch Pod shop--postgres-0',
    'apply StatefulSet shop--postgres',
  ]);
  expect(runs(kube)).toEqual({ uid, cpu: '200m', memory: '2Gi' });
  expectSettled(kube);
});

it('are said while they are under way, and the revision is not DEPLOYED before they are in force', async () => {
  const controller = await running();
  const { kube } = controller;
  await ask(kube, { dbCpu: 0.2 });
  const seen = new Set<string>();
  const states = new Set<string | undefined>();
  for (let pass = 0; pass < 6; pass += 1) {
    await controller.reconcile();
    seen.add(`${String(runs(kube).cpu)} ${says(kube, 'DatabaseReady')} ${newestRevision(kube).status?.state}`);
    states.add(record(kube).status?.state);
    await world(kube);
  }
  await settle(controller);
  expect([...seen].filter((one) => one.startsWith('100m') && one.endsWith('DEPLOYED'))).toEqual([]);
  expect([...seen]).toContain('100m True Resizing DEPLOYING');
  expect([...seen].filter((one) => one.includes('Starting'))).toEqual([]);
  // It serves throughout.
  expect([...states]).toEqual(['READY']);
  expectSettled(kube);
});

it('wait for room, and asked back, nothing has happened', async () => {
  const controller = await running();
  const { kube } = controller;
  const before = runs(kube);
  await ask(kube, { dbCpu: 0.9 });
  await settle(controller, 'none');
  expect(says(kube, 'DatabaseReady')).toBe('True ResizeDeferred');
  expect([says(kube, 'Ready'), says(kube, 'Available')]).toEqual(['False ResizeDeferred', 'True Serving']);
  expect(record(kube).status?.state).toBe('READY');
  expect(conditionIn(kube, 'DatabaseReady')?.message).toContain('Not enough cpu');
  expect(newestRevision(kube).status?.state).not.toBe('DEPLOYED');
  await ask(kube, { dbCpu: null });
  await settle(controller);
  expect(runs(kube)).toEqual(before);
  expectSettled(kube);
});

it.each([
  {
    reason: 'the server has no such subresource',
    error: new NotFound('the server could not find the requested resource'),
  },
  {
    reason: 'the class of service would change',
    error: new Invalid('Pod QOS Class may not change as a result of resizing'),
  },
  { reason: 'the controller may not', error: new Forbidden('cannot patch resource "pods/resize"') },
])('come with another pod where $reason', async ({ error }) => {
  const controller = await running();
  const { kube } = controller;
  const { uid } = runs(kube);
  kube.failOn((request) => (request.subresource === 'resize' ? error : undefined));
  await ask(kube, { dbCpu: 0.2 });
  const writes = await settle(controller);
  expect(writes.filter((write) => write.startsWith('delete'))).toEqual(['delete Pod shop--postgres-0']);
  expect(runs(kube)).toMatchObject({ cpu: '200m' });
  expect(runs(kube).uid).not.toBe(uid);
  expectSettled(kube);
});

it.each([
  ['a quota is full', 'exceeded quota: team, requested: requests.cpu=100m'],
  ['its node is too small', "node didn't have enough allocatable resources: cpu"],
])('keep the pod while %s, in the words of the API server, and come when it is not', async (_reason, serverMessage) => {
  const controller = await running();
  const { kube } = controller;
  const before = runs(kube);
  const refusal = new Forbidden('patch pods', { serverMessage });
  kube.failOn((request) => (request.subresource === 'resize' ? refusal : undefined));
  await ask(kube, { dbCpu: 0.2 });
  for (let pass = 0; pass < 4; pass += 1) {
    await controller.reconcile();
    await world(kube);
  }
  expect(runs(kube)).toEqual(before);
  expect([says(kube, 'DatabaseReady'), says(kube, 'Stalled')]).toEqual(['True Resizing', 'True PodsRefused']);
  expect(record(kube).status?.state).toBe('READY');
  expect(conditionIn(kube, 'Stalled')?.message).toContain(serverMessage);
  expect((await controller.reconcile()).requeueAfterMs).toBeLessThanOrEqual(60_000);
  kube.failOn(undefined);
  await settle(controller);
  expect(runs(kube)).toEqual({ ...before, cpu: '200m' });
  expectSettled(kube);
});

it('are tried again after a request that failed', async () => {
  const controller = await running();
  const { kube } = controller;
  const { uid } = runs(kube);
  kube.failOn((request) => (request.subresource === 'resize' ? new Unavailable('gone') : undefined));
  await ask(kube, { dbCpu: 0.2 });
  await controller.reconcile();
  await world(kube);
  await expect(controller.reconcile()).rejects.toThrow('gone');
  kube.failOn(undefined);
  await settle(controller);
  expect(runs(kube)).toMatchObject({ uid, cpu: '200m' });
});

it('are what a pod has that was made again meanwhile', async () => {
  const controller = await running();
  const { kube } = controller;
  const { uid = '' } = runs(kube);
  await ask(kube, { dbCpu: 0.2 });
  await controller.reconcile();
  await kube.remove(PODS, POD, { uid });
  await world(kube);
  controller.writes();
  const writes = await settle(controller);
  expect(writes.filter((write) => write.includes(' Pod '))).toEqual([]);
  expect(runs(kube)).toMatchObject({ cpu: '200m' });
  expectSettled(kube);
});

it('do not make a pod again and again that a webhook gives others', async () => {
  const controller = await running();
  const { kube } = controller;
  const { uid } = runs(kube);
  kube.failAfter(async (request) => {
    if (request.subresource !== 'resize') return undefined;
    const { containers = [] } = podOf(kube)?.spec ?? {};
    const mutated = containers.map((container) => ({ ...container, resources: { requests: { cpu: '1' } } }));
    await kube.mergePatch(PODS, POD, { spec: { containers: mutated } });
    return new Unavailable('the answer is lost');
  });
  await ask(kube, { dbCpu: 0.2 });
  await controller.reconcile();
  await world(kube);
  await expect(controller.reconcile()).rejects.toThrow('lost');
  kube.failAfter(undefined);
  controller.writes();
  const writes = await settle(controller);
  expect(writes.filter((write) => write.includes(' Pod '))).toEqual(['delete Pod shop--postgres-0']);
  expect(runs(kube).uid).not.toBe(uid);
  expectSettled(kube);
});

it.each([
  { reason: 'memory is taken away', resourceSpec: { dbMemoryLimitMb: 512 } },
  { reason: 'PostgreSQL starts with what changes', resourceSpec: { dbCpu: 0.2, dbMaxConnections: 50 } },
])('come with another pod where $reason', async ({ resourceSpec }) => {
  const controller = await running();
  const { kube } = controller;
  const { uid } = runs(kube);
  await ask(kube, resourceSpec);
  const writes = await settle(controller);
  expect(writes).toEqual(['apply StatefulSet shop--postgres']);
  expect(runs(kube).uid).not.toBe(uid);
  expectSettled(kube);
});

it('are asked back once they are in force: memory that was given comes back with another pod', async () => {
  const controller = await running();
  const { kube } = controller;
  const before = runs(kube);
  await ask(kube, { dbMemoryLimitMb: 2048 });
  await controller.reconcile();
  await world(kube);
  await controller.reconcile();
  await world(kube);
  // Resized, and not yet noted: the pod bears the label of the template that is wanted again.
  expect(runs(kube)).toEqual({ ...before, memory: '2Gi' });
  await ask(kube, { dbMemoryLimitMb: 1024 });
  controller.writes();
  const writes = await settle(controller);
  expect(writes.filter((write) => write.includes(' Pod '))).toEqual(['delete Pod shop--postgres-0']);
  expect(runs(kube)).toMatchObject({ memory: '1Gi' });
  expectSettled(kube);
});

it('belong to a paused record: nothing is done', async () => {
  const controller = await running();
  const { kube } = controller;
  await ask(kube, { dbCpu: 0.2 });
  await controller.reconcile();
  await edit(kube, { metadata: { annotations: { 'davit.dev/paused': 'true' } } });
  await world(kube);
  controller.writes();
  await controller.reconcile();
  expect(controller.writes().filter((write) => write.includes('Pod '))).toEqual([]);
  expect(record(kube).status?.phase).toBeDefined();
});

// Each pass of a resize dies at each of its writes, before it is sent or once it was done.
it.each(['failOn', 'failAfter'] as const)('survive a crash at every write (%s)', async (when) => {
  for (let pass = 0; pass < 5; pass += 1)
    for (const at of crashPoints(11)) {
      const controller = await running();
      const { kube } = controller;
      const { uid } = runs(kube);
      await ask(kube, { dbCpu: 0.2, dbMemoryLimitMb: 2048 });
      for (let before = 0; before < pass; before += 1) {
        await controller.reconcile();
        await world(kube);
      }
      const writes = await crashed(controller, { when, at });
      await world(kube);
      await settle(await aController(kube));
      expect(runs(kube)).toEqual({ uid, cpu: '200m', memory: '2Gi' });
      expectSettled(kube);
      if (writes < at) break;
    }
});
