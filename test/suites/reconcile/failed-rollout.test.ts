// A new revision whose container exits again and again: it has failed, its pods go, and what served serves. And a deployment that
// served and has no ready pod for too long.

import { expect, it } from 'vitest';
import type { ContainerStatus, Workload } from '../../../src/deploy/assess/observed.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { Invalid } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, EVENTS, PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import {
  aServer,
  conditionIn,
  deleteNamespace,
  edit,
  newestRevision,
  putRecord,
  putSecret,
  record,
  says,
} from '../../kit/memory/record.ts';
import { crashing, makeReady, putPod, removePod } from '../../kit/memory/workloads.ts';
import { CONTROLLER } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const TWO = { sourceConfig: { resourceSpec: { queueMaxScale: 1 } } };

/** The templates of the Deployments, by name. */
function templates(kube: FakeKube): Record<string, unknown> {
  return Object.fromEntries(
    kube.objects<Workload>(DEPLOYMENTS).map(({ metadata, spec }) => [metadata.name, spec?.template]),
  );
}

async function change(kube: FakeKube, imageUri: string, more: object = {}): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri }, revisionSerial, ...more } });
}

/** A pod of the newest revision, whose container has this status. */
function putNew(kube: FakeKube, status: Partial<ContainerStatus>, role = 'server'): void {
  putPod(kube, role, newestRevision(kube).spec.id, status);
}
const failing = (restartCount: number): Partial<ContainerStatus> =>
  crashing(restartCount, 'Traceback\nModuleNotFoundError: shop');

/** The Deployments of the newest revision have these numbers of ready pods. */
async function setReady(kube: FakeKube, readyReplicas: number, updatedReplicas = 1): Promise<void> {
  for (const { metadata } of kube.objects(DEPLOYMENTS)) {
    const status = {
      observedGeneration: metadata.generation,
      replicas: 2,
      updatedReplicas,
      readyReplicas,
      availableReplicas: readyReplicas,
    };
    const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
    await kube.mergePatch(DEPLOYMENTS, { namespace: 'team', name: metadata.name }, { status }, writing);
  }
}

async function passes({ reconcile }: MemoryController, count = 3): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) {
    await reconcile();
  }
}

it('the failed pods go, the active revision serves, and a newer revision rolls as usual', async () => {
  const controller = await aConverged(TWO);
  const { kube } = controller;
  const before = templates(kube);
  const active = newestRevision(kube).spec.id;
  await change(kube, 'registry.example/shop:2', {
    sourceConfig: { resourceSpec: { queueMaxScale: 1, cpu: 0.7 } },
  });
  await controller.reconcile();
  // The queue workers follow the server.
  await makeReady(kube);
  await controller.reconcile();
  await setReady(kube, 1);
  putNew(kube, failing(1), 'queue');
  await passes(controller);
  expect([says(kube, 'Ready'), newestRevision(kube).status?.state]).toEqual(['False ContainerCrashed', 'DEPLOYING']);
  expect(templates(kube)).not.toEqual(before);
  putNew(kube, failing(2), 'queue');
  await passes(controller);
  expect(newestRevision(kube).status).toMatchObject({
    state: 'DEPLOY_FAILED',
    failure: { reason: 'ContainerCrashed', message: expect.stringContaining('ModuleNotFoundError: shop') as string },
  });
  expect(templates(kube)).toEqual(before);
  removePod(kube, 'queue');
  await makeReady(kube);
  await passes(controller);
  expect([record(kube).status?.state, record(kube).status?.activeRevisionId]).toEqual(['READY', active]);
  expect(['Ready', 'Stalled', 'Available'].map((type) => says(kube, type))).toEqual([
    'False ContainerCrashed',
    'True ContainerCrashed',
    'True Serving',
  ]);
  expect(conditionIn(kube, 'Stalled')?.message).toContain(`revision ${active} is still serving`);
  controller.writes();
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
  const again = await aController(kube);
  await passes(again);
  expect(again.writes()).toEqual([]);
  await change(kube, 'registry.example/shop:3');
  await converge(again);
  expect([says(kube, 'Ready'), newestRevision(kube).status?.state]).toEqual(['True Serving', 'DEPLOYED']);
  expect(kube.objects<AppRevision>(APP_REVISIONS).map(({ status }) => status?.state)).toContain('DEPLOY_FAILED');
});

it('exits while Redis was away prove nothing once it is back: what counts is a run that began then', async () => {
  const controller = await aConverged();
  const { kube, clock } = controller;
  const redis = async (readyReplicas: number): Promise<void> => {
    const place = { namespace: 'team', name: 'shop--redis' };
    await kube.mergePatch(STATEFUL_SETS, place, { status: { readyReplicas } }, { subresource: 'status' });
    await passes(controller);
  };
  const endedRun = async (exits: number): Promise<string> => {
    const startedAt = new Date(clock.ms).toISOString();
    clock.ms += 1000;
    putNew(kube, crashing(exits, 'no Redis', startedAt));
    await passes(controller);
    return `${newestRevision(kube).status?.state} ${says(kube, 'Stalled')}`;
  };
  await change(kube, 'registry.example/shop:2');
  await controller.reconcile();
  await setReady(kube, 1, 0);
  await redis(0);
  expect(await endedRun(3)).toBe('DEPLOYING False Settled');
  clock.ms += 60_000;
  await redis(1);
  expect(says(kube, 'RedisReady')).toBe('True Answering');
  expect(newestRevision(kube).status?.state).toBe('DEPLOYING');
  clock.ms += 1000;
  expect(await endedRun(4)).toBe('DEPLOY_FAILED True ContainerCrashed');
});

it('a part that only the failed revision has goes with it, and a full quota is in no way back', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  await change(kube, 'registry.example/shop:2', TWO);
  await controller.reconcile();
  await setReady(kube, 1);
  putNew(kube, failing(3));
  await controller.reconcile();
  kube.failOn(({ kind, dryRun }) => (kind === 'Pod' && dryRun ? new Invalid('exceeded quota', []) : undefined));
  await passes(controller);
  expect(Object.keys(templates(kube))).toEqual(['shop']);
  expect(says(kube, 'Ready')).toBe('False ContainerCrashed');
});

it('the pods of the active revision keep the digest of the values that they have', async () => {
  const kube = aServer();
  putSecret(kube, 'values', { key: 'eA==' });
  const secretReferences = [{ name: 'KEY', secretName: 'values', secretKey: 'key' }];
  const controller = await aConverged({ secretReferences }, kube);
  const before = templates(kube);
  const [first] = Object.values(before) as { metadata: { labels: Record<string, string>; annotations: object } }[];
  kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'shop-old',
      namespace: 'team',
      labels: first?.metadata.labels,
      annotations: first?.metadata.annotations,
      ownerReferences: [CONTROLLER],
    },
  } as KubeObject);
  putSecret(kube, 'others', { key: 'eQ==' });
  await change(kube, 'registry.example/shop:2', {
    secretReferences: [...secretReferences, { name: 'OTHER', secretName: 'others', secretKey: 'key' }],
  });
  await controller.reconcile();
  await setReady(kube, 1);
  putNew(kube, failing(2));
  await passes(controller, 4);
  expect(newestRevision(kube).status?.state).toBe('DEPLOY_FAILED');
  expect(templates(kube)).toEqual(before);
});

it('without an active revision the pods stay, and the revision is DEPLOYED if they come up after all', async () => {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  await controller.reconcile();
  await makeReady(kube);
  await setReady(kube, 0);
  await controller.reconcile();
  putNew(kube, failing(4));
  await passes(controller);
  expect([says(kube, 'Stalled'), newestRevision(kube).status?.state]).toEqual([
    'True ContainerCrashed',
    'DEPLOY_FAILED',
  ]);
  expect(conditionIn(kube, 'Ready')?.message).toContain('No earlier revision serves, so its pods stay');
  expect(newestRevision(kube).status?.failure).toBeUndefined();
  removePod(kube, 'server');
  await converge(controller);
  expect([says(kube, 'Ready'), newestRevision(kube).status?.state]).toEqual(['True Serving', 'DEPLOYED']);
});

it('no ready pod for five minutes: Stalled, whatever Progressing says, and no longer when it serves again', async () => {
  const controller = await aConverged();
  const { kube, clock, events } = controller;
  const dead = async (): Promise<void> => {
    await setReady(kube, 0, 1);
    const status = {
      replicas: 1,
      conditions: [{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' }],
    };
    await kube.mergePatch(DEPLOYMENTS, SHOP, { status }, { fieldManager: 'k', subresource: 'status' });
  };
  await dead();
  putNew(kube, failing(1));
  await controller.reconcile();
  const { requeueAfterMs } = await controller.reconcile();
  expect([says(kube, 'Ready'), says(kube, 'Stalled'), requeueAfterMs]).toEqual([
    'False ContainerCrashed',
    'False Settled',
    300_000,
  ]);
  clock.ms += 300_000;
  await passes(controller);
  expect(says(kube, 'Stalled')).toBe('True ContainerCrashed');
  expect(conditionIn(kube, 'Stalled')?.message).toMatch(
    /^The server has had no ready pod for more than 300 s\. Container server exited/,
  );
  expect([newestRevision(kube).status?.state, record(kube).status?.activeRevisionId]).toEqual([
    'DEPLOYED',
    newestRevision(kube).spec.id,
  ]);
  controller.writes();
  // When the time of a rollout is over.
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 300_000 });
  expect(controller.writes()).toEqual([]);
  removePod(kube, 'server');
  await passes(controller);
  expect(says(kube, 'Stalled')).toBe('True NoReadyPod');
  await converge(controller);
  expect([says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual(['True Serving', 'False Settled']);
  expect(events.filter((event) => event.endsWith('Serving'))).toHaveLength(2);
});

it('a health check that fails is said within seconds, from the events of its pod, which are asked for ever more seldom', async () => {
  const controller = await aConverged();
  const { kube, clock } = controller;
  await change(kube, 'registry.example/shop:2');
  await controller.reconcile();
  await setReady(kube, 1);
  const startedAt = new Date(clock.ms).toISOString();
  putNew(kube, { ready: false, restartCount: 0, state: { running: { startedAt } } });
  const uid = kube.objects(PODS)[0]?.metadata.uid;
  const said = (note: string, at: number): void =>
    void kube.seed(EVENTS, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `shop.${at}`, namespace: 'team' },
      reason: 'Unhealthy',
      regarding: { uid },
      deprecatedLastTimestamp: new Date(clock.ms + at).toISOString(),
      note,
    } as KubeObject);
  said('Readiness probe failed: HTTP probe failed with statuscode: 503', 1);
  said('Readiness probe failed: HTTP probe failed with statuscode: 404', 2);
  const delays: (number | undefined)[] = [(await controller.reconcile()).requeueAfterMs];
  expect(conditionIn(kube, 'WorkloadsReady')?.message).not.toContain('404');
  for (const second of [2, 4, 8, 16]) {
    clock.ms = Date.parse(startedAt) + second * 1000;
    delays.push((await controller.reconcile()).requeueAfterMs);
  }
  expect(delays).toEqual([2000, 2000, 4000, 8000, 16_000]);
  expect(conditionIn(kube, 'Ready')).toMatchObject({
    reason: 'Progressing',
    message: expect.stringContaining('the last check failed: /ok answered with status 404. A status') as string,
  });
  said('Readiness probe failed: HTTP probe failed with statuscode: 503', 3);
  clock.ms = Date.parse(startedAt) + 32_000;
  await controller.reconcile();
  expect(conditionIn(kube, 'Ready')?.message).toContain(
    'the last check failed: /ok answered with status 503. A status',
  );
});

it('what serves after a failed revision stops and serves again: both are events', async () => {
  const controller = await aConverged();
  const { kube, events } = controller;
  await change(kube, 'registry.example/shop:2');
  await controller.reconcile();
  await setReady(kube, 1);
  putNew(kube, failing(2));
  await passes(controller);
  removePod(kube, 'server');
  await makeReady(kube);
  await passes(controller);
  events.length = 0;
  await setReady(kube, 0);
  await passes(controller);
  const down = conditionIn(kube, 'Ready')?.message ?? '';
  expect(down).toContain('Nothing is serving meanwhile.');
  expect(down.replace('Nothing serves', '')).not.toMatch(/\bserves\b/);
  await makeReady(kube);
  await passes(controller);
  expect(events).toEqual(['Warning Progressing', 'Normal Serving']);
});

it('a namespace that is being deleted is said, and nothing is asked of it', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  await deleteNamespace(kube);
  for (const { metadata } of kube.objects(DEPLOYMENTS))
    kube.erase(DEPLOYMENTS, { namespace: 'team', name: metadata.name });
  controller.writes();
  await passes(controller);
  expect(controller.writes()).toEqual(['apply AppDeployment shop/status']);
  expect([record(kube).status?.state, says(kube, 'Ready'), says(kube, 'Available'), says(kube, 'Stalled')]).toEqual([
    'AWAITING_DELETE',
    'False Deleting',
    'False Deleting',
    'False Settled',
  ]);
});
