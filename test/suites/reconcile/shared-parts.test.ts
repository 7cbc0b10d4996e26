// A revision replaces the pods of the parts whose template it changes, and of no other.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { rollingBack } from '../../../src/deploy/record/revision-request.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { PAUSED_ANNOTATION, REVISION_LABEL } from '../../../src/kinds/meta.ts';
import type { ResourceSpec } from '../../../src/kinds/resource-spec.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { edit, record, says } from '../../kit/memory/record.ts';
import { crashing, makeReady, putPod } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed } from './harness.ts';

const SIZES: ResourceSpec = {
  cpu: 0.5,
  cpuLimit: 2,
  queueCpu: 0.5,
  queueCpuLimit: 2,
  queueMinScale: 1,
  queueMaxScale: 1,
};
const SPEC = { sourceConfig: { resourceSpec: SIZES, runtime: { migrate: { command: ['up'] } } } };

function revisions(kube: FakeKube): AppRevision[] {
  return kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
}
const states = (kube: FakeKube): (string | undefined)[] => revisions(kube).map(({ status }) => status?.state);

/** Which revision the template of each Deployment names, by its number. */
function running(kube: FakeKube): Record<string, number> {
  const ids = revisions(kube).map(({ spec }) => spec.id);
  const workloads = kube.objects<Workload>(DEPLOYMENTS);
  return Object.fromEntries(
    workloads.map(({ metadata, spec }) => [
      metadata.name,
      ids.indexOf(spec?.template?.metadata?.labels?.[REVISION_LABEL] ?? '') + 1,
    ]),
  );
}
async function resize(kube: FakeKube, resourceSpec: ResourceSpec, more: object = {}): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceConfig: { resourceSpec, ...more }, revisionSerial } });
}
async function rollBack(kube: FakeKube, number: number): Promise<void> {
  const revision = revisions(kube)[number - 1];
  if (!revision) throw new Error('no revision');
  await edit(kube, { spec: rollingBack(record(kube).spec, revision.spec) });
}
/** It comes to rest, and another controller has nothing to do either. Returns what was written of workloads and Jobs. */
async function atRest(controller: MemoryController): Promise<string[]> {
  const written: string[] = [];
  for (let pass = 0; pass < 12; pass += 1) {
    await controller.reconcile();
    written.push(...controller.writes());
    await makeReady(controller.kube);
    controller.writes();
  }
  const again = await aController(controller.kube);
  await again.reconcile();
  await controller.reconcile();
  expect([controller.writes(), again.writes()]).toEqual([[], []]);
  return written.filter((write) => /^(create|apply|delete) (Deployment|StatefulSet)|^create Job/.test(write));
}
/** The newest revision is deployed and active, and the record ready. */
function expectActive(kube: FakeKube): void {
  const id = revisions(kube).at(-1)?.spec.id;
  expect(record(kube).status).toMatchObject({ latestRevisionId: id, activeRevisionId: id, state: 'READY' });
  expect([states(kube).at(-1), says(kube, 'Ready')]).toEqual(['DEPLOYED', 'True Serving']);
}

async function setAvailable(kube: FakeKube, name: string, ready: number): Promise<void> {
  const { metadata } = kube.objects(DEPLOYMENTS).find((one) => one.metadata.name === name) ?? {};
  const counts = { replicas: 2, updatedReplicas: 1, readyReplicas: ready, availableReplicas: ready };
  const status = { observedGeneration: metadata?.generation, ...counts };
  const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
  await kube.mergePatch(DEPLOYMENTS, { namespace: 'team', name }, { status }, writing);
}

it.each<{ name: string; change: ResourceSpec; writes: string[]; want: Record<string, number> }>([
  {
    name: 'more CPU of the queue',
    change: { queueCpu: 1 },
    writes: ['apply Deployment shop--queue'],
    want: { shop: 1, 'shop--queue': 2 },
  },
  {
    name: 'more CPU of the queue, and another scale of the server at once',
    change: { queueCpu: 1, minScale: 2, maxScale: 2 },
    writes: ['apply Deployment shop', 'apply Deployment shop--queue'],
    want: { shop: 1, 'shop--queue': 2 },
  },
  {
    name: 'more memory of Redis',
    change: { redisMemoryMb: 512, redisMemoryLimitMb: 1024 },
    writes: ['apply StatefulSet shop--redis'],
    want: { shop: 1, 'shop--queue': 1 },
  },
  {
    name: 'a larger volume',
    change: { dbStorageGi: 50 },
    writes: ['apply StatefulSet shop--postgres'],
    want: { shop: 1, 'shop--queue': 1 },
  },
])('$name replaces no other pod, and migrates nothing', async ({ change, writes, want }) => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await resize(kube, change);
  expect(await atRest(controller)).toEqual(writes);
  expect(running(kube)).toEqual(want);
  expectActive(kube);
  // Another part follows, then the scale, which is of no revision; what each shares stays.
  await resize(kube, { cpu: 1 });
  expect(await atRest(controller)).toEqual(['apply Deployment shop']);
  expect(running(kube)).toEqual({ ...want, shop: 3 });
  expectActive(kube);
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { queueMinScale: 2, queueMaxScale: 2 } } } });
  expect(await atRest(controller)).toEqual(['apply Deployment shop--queue']);
  expect([running(kube), revisions(kube).length]).toEqual([{ ...want, shop: 3 }, 3]);
});

it('a request to rebuild replaces every pod and migrates again, also with sizes that changed since', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  const rebuildSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { revisionSerial: rebuildSerial, rebuildSerial } });
  await resize(kube, { queueCpu: 1 });
  expect(await atRest(controller)).toEqual([
    expect.stringMatching('^create Job '),
    'apply Deployment shop',
    'apply Deployment shop--queue',
  ]);
  expect(running(kube)).toEqual({ shop: 2, 'shop--queue': 2 });
  expectActive(kube);
  // The next change of sizes is one again.
  await resize(kube, { queueCpu: 2, queueCpuLimit: 3 });
  expect(await atRest(controller)).toEqual(['apply Deployment shop--queue']);
});

it('a part more or less replaces no other pod', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await resize(kube, { executorCpu: 1, executorMemoryMb: 512 });
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 1, 'shop--queue': 1, 'shop--executor': 2 });
  expectActive(kube);
  await resize(kube, { executorCpu: null, executorMemoryMb: null } as unknown as ResourceSpec);
  expect(await atRest(controller)).toEqual(['delete Deployment shop--executor']);
  expect(running(kube)).toEqual({ shop: 1, 'shop--queue': 1 });
  expectActive(kube);
});

it('chains: the queue, the server, and back to the first and the second', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await resize(kube, { queueCpu: 1 });
  await atRest(controller);
  await resize(kube, { cpu: 1 });
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 3, 'shop--queue': 2 });
  // Both parts run others now, and the pods of the first revision are gone.
  await rollBack(kube, 1);
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 4, 'shop--queue': 4 });
  expectActive(kube);
  await rollBack(kube, 2);
  expect(await atRest(controller)).toEqual(['apply Deployment shop--queue']);
  expect(running(kube)).toEqual({ shop: 4, 'shop--queue': 5 });
  expectActive(kube);
  // Back to what runs replaces nothing, though its pods are of two revisions.
  await rollBack(kube, 5);
  expect(await atRest(controller)).toEqual([]);
  expect(states(kube)).toEqual(Array.from({ length: 6 }, () => 'DEPLOYED'));
  expectActive(kube);
  // What reaches all parts replaces all pods.
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial: 9 } });
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 7, 'shop--queue': 7 });
  expectActive(kube);
});

it('who changes nothing gets new pods of all parts, also where they are of two revisions', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await resize(kube, { queueCpu: 1 });
  await atRest(controller);
  await resize(kube, {});
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 3, 'shop--queue': 3 });
  expectActive(kube);
});

it('a queue that fails gives way, and the server is not touched', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  const [first] = revisions(kube);
  await resize(kube, { queueCpu: 1 });
  await controller.reconcile();
  await setAvailable(kube, 'shop--queue', 1);
  // Exits of what served before prove nothing about the new revision.
  putPod(kube, 'server', first?.spec.id ?? '', crashing(9));
  await controller.reconcile();
  await controller.reconcile();
  expect(revisions(kube)[1]?.status).toMatchObject({ state: 'DEPLOYING' });
  kube.erase(PODS, { namespace: 'team', name: 'shop-server-new' });
  putPod(kube, 'queue', revisions(kube)[1]?.spec.id ?? '', crashing(9));
  const written: string[] = [];
  for (let pass = 0; pass < 4; pass += 1) {
    await controller.reconcile();
    written.push(...controller.writes());
  }
  expect(revisions(kube)[1]?.status).toMatchObject({
    state: 'DEPLOY_FAILED',
    failure: { reason: 'ContainerCrashed' },
  });
  expect(written.filter((write) => /^apply Deployment shop( |$)/.test(write))).toEqual([]);
  kube.erase(PODS, { namespace: 'team', name: 'shop-queue-new' });
  await makeReady(kube);
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 1, 'shop--queue': 1 });
  expect(record(kube).status).toMatchObject({ activeRevisionId: first?.spec.id, state: 'READY' });
  // What corrects it shares the server as well.
  await resize(kube, { queueCpu: 2 });
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 1, 'shop--queue': 3 });
  expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOY_FAILED', 'DEPLOYED']);
});

it('what a failed revision left in a store does not hide which revision runs', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await resize(kube, { redisMemoryMb: 256, redisMemoryLimitMb: 512 });
  await atRest(controller);
  await resize(kube, { queueCpu: 1 });
  await atRest(controller);
  await resize(kube, { queueCpu: 1.5, redisMemoryMb: 512, redisMemoryLimitMb: 1024 });
  await controller.reconcile();
  await makeReady(kube);
  await setAvailable(kube, 'shop--queue', 1);
  putPod(kube, 'queue', revisions(kube)[3]?.spec.id ?? '', crashing(9));
  for (let pass = 0; pass < 3; pass += 1) {
    await controller.reconcile();
  }
  kube.erase(PODS, { namespace: 'team', name: 'shop-queue-new' });
  await makeReady(kube);
  await atRest(controller);
  expect([states(kube)[3], running(kube)]).toEqual(['DEPLOY_FAILED', { shop: 1, 'shop--queue': 3 }]);
  kube.failOn(({ kind, dryRun }) =>
    kind === 'Pod' && dryRun ? new Forbidden('no', { serverMessage: 'exceeded quota' }) : undefined,
  );
  await resize(kube, { queueCpu: 2 });
  await controller.reconcile();
  await controller.reconcile();
  expect([says(kube, 'Ready'), running(kube)]).toEqual(['False PodsRefused', { shop: 1, 'shop--queue': 3 }]);
});

it.each([
  { name: 'a rollback', ready: true, undo: (kube: FakeKube) => rollBack(kube, 1), want: 1 },
  { name: 'a correction by hand', ready: true, undo: (kube: FakeKube) => resize(kube, { cpu: 0.5 }), want: 1 },
  { name: 'a rollback to pods that are not ready', ready: false, undo: (kube: FakeKube) => rollBack(kube, 1), want: 3 },
])('from a rollout that does not end, $name: pods of revision $want', async ({ ready, undo, want }) => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await resize(kube, { cpu: 1.5 });
  await controller.reconcile();
  await setAvailable(kube, 'shop', 1);
  putPod(kube, 'server', revisions(kube)[0]?.spec.id ?? '', {}, ready);
  await controller.reconcile();
  expect([states(kube), running(kube)]).toEqual([['DEPLOYED', 'DEPLOYING'], { shop: 2, 'shop--queue': 1 }]);
  await undo(kube);
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: want, 'shop--queue': 1 });
  expect(states(kube)).toEqual(['DEPLOYED', 'SKIPPED', 'DEPLOYED']);
});

it('an overtaken revision whose queue was never ready was not deployed, and the server is shared on', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await resize(kube, { queueCpu: 1 });
  await controller.reconcile();
  await setAvailable(kube, 'shop--queue', 1);
  await controller.reconcile();
  expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOYING']);
  expect(record(kube).status).toMatchObject({ activeRevisionId: revisions(kube)[0]?.spec.id });
  await resize(kube, { queueCpu: 2 });
  await atRest(controller);
  expect(states(kube)).toEqual(['DEPLOYED', 'SKIPPED', 'DEPLOYED']);
  expect(running(kube)).toEqual({ shop: 1, 'shop--queue': 3 });
});

it('a quota that refuses the new pods of the queue holds all of the active revision', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  kube.failOn(({ kind, dryRun }) =>
    kind === 'Pod' && dryRun ? new Forbidden('no', { serverMessage: 'exceeded quota' }) : undefined,
  );
  await resize(kube, { queueCpu: 1 });
  await controller.reconcile();
  await makeReady(kube);
  await controller.reconcile();
  expect([says(kube, 'Ready'), running(kube)]).toEqual(['False PodsRefused', { shop: 1, 'shop--queue': 1 }]);
  // The scale is in force also then.
  controller.writes();
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { queueMinScale: 2, queueMaxScale: 2 } } } });
  await controller.reconcile();
  expect(controller.writes().filter((write) => write.includes('Deployment shop'))).toContain(
    'apply Deployment shop--queue',
  );
  expect(running(kube)).toEqual({ shop: 1, 'shop--queue': 1 });
  kube.failOn(undefined);
  await atRest(controller);
  expect(running(kube)).toEqual({ shop: 1, 'shop--queue': 2 });
  expectActive(kube);
});

describe('a revision that shares all pods is in force when its store has it', () => {
  it.each(['failOn', 'failAfter'] as const)('and not before, whatever write is lost (%s)', async (when) => {
    for (let at = 1; at < 12; at += 1) {
      const controller = await aConverged(SPEC);
      const { kube } = controller;
      await resize(kube, { redisMemoryMb: 512, redisMemoryLimitMb: 1024 });
      await crashed(controller, { when, at });
      await edit(kube, { metadata: { annotations: { [PAUSED_ANNOTATION]: 'true' } } });
      const next = await aController(kube);
      await next.reconcile();
      const set = kube.objects<Workload>(STATEFUL_SETS).find(({ metadata }) => metadata.name === 'shop--redis');
      const isThere = JSON.stringify(set?.spec).includes('512Mi');
      if (!isThere) expect(states(kube)).not.toEqual(['DEPLOYED', 'DEPLOYED']);
      await edit(kube, { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } });
      await atRest(next);
      expectActive(kube);
    }
  });

  it('and says what keeps it from it', async () => {
    const controller = await aConverged(SPEC);
    const { kube } = controller;
    kube.failOn(({ kind, dryRun }) =>
      kind === 'StatefulSet' && !dryRun ? new Forbidden('a webhook refuses') : undefined,
    );
    await resize(kube, { redisMemoryMb: 512, redisMemoryLimitMb: 1024 });
    await controller.reconcile().catch(() => undefined);
    await controller.reconcile().catch(() => undefined);
    expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOYING']);
    expect(record(kube).status?.activeRevisionId).toBe(revisions(kube)[0]?.spec.id);
    kube.failOn(undefined);
    await atRest(controller);
    expectActive(kube);
  });
});

it('revisions are pruned, but not those whose pods run', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  const id = revisions(kube)[0]?.spec.id;
  for (let size = 1; size <= 14; size += 1) {
    await resize(kube, { queueCpu: 0.5 + size / 20 });
    await converge(controller);
  }
  await atRest(controller);
  expect(revisions(kube).length).toBeLessThan(15);
  expect(revisions(kube)[0]?.spec.id).toBe(id);
  expect(running(kube)['shop']).toBe(1);
  expectActive(kube);
});

describe('a revision that an earlier Davit made', () => {
  it.each([
    { name: 'without shared pods', resolved: {} },
    { name: 'with the pods of another revision', resolved: { podsOf: '' } },
  ])('$name rolls nothing', async ({ resolved }) => {
    const controller = await aConverged(SPEC);
    const { kube } = controller;
    if ('podsOf' in resolved) await rollBack(kube, 1);
    await atRest(controller);
    const newest = revisions(kube).at(-1);
    expect(newest?.spec.resolved.podsOf).toBe('podsOf' in resolved ? revisions(kube)[0]?.spec.id : undefined);
    expect(newest?.spec.resolved).not.toHaveProperty('podsOfParts');
    await resize(kube, { queueCpu: 1 });
    expect(await atRest(controller)).toEqual(['apply Deployment shop--queue']);
    expect(running(kube)['shop']).toBe(1);
    expectActive(kube);
  });
});

describe('a plain variable', () => {
  const withEnv = (value: string): object => ({ sourceConfig: { resourceSpec: SIZES, env: [{ name: 'LOG', value }] } });
  const templates = (kube: FakeKube): string[] =>
    kube.objects<Workload>(DEPLOYMENTS).map(({ spec }) => JSON.stringify(spec?.template));
  async function setTo(kube: FakeKube, value: string): Promise<void> {
    const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
    await edit(kube, { spec: { sourceConfig: { env: [{ name: 'LOG', value }] }, revisionSerial } });
  }

  it('that changes rolls the parts that read it, and no store; a rollback brings its value back', async () => {
    const controller = await aConverged(withEnv('info'));
    const { kube } = controller;
    await atRest(controller);
    await setTo(kube, 'debug');
    const written = await atRest(controller);
    expect(written.length).toBeGreaterThan(0);
    expect(written.filter((write) => !write.startsWith('apply Deployment'))).toEqual([]);
    expect(Object.values(running(kube))).toEqual([2, 2]);
    expect(templates(kube).every((template) => template.includes('{"name":"LOG","value":"debug"}'))).toBe(true);
    expectActive(kube);
    await rollBack(kube, 1);
    await atRest(controller);
    expect(record(kube).spec.sourceConfig.env).toEqual([{ name: 'LOG', value: 'info' }]);
    expect(templates(kube).every((template) => template.includes('{"name":"LOG","value":"info"}'))).toBe(true);
    expectActive(kube);
  });

  it('that is set again to its value makes no revision', async () => {
    const controller = await aConverged(withEnv('info'));
    await atRest(controller);
    await edit(controller.kube, { spec: { sourceConfig: { env: [{ name: 'LOG', value: 'info' }] } } });
    expect(await atRest(controller)).toEqual([]);
    expect(revisions(controller.kube)).toHaveLength(1);
  });
});
