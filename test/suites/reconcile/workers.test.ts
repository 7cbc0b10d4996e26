// Named workers: each is rolled alone, scaled without a revision, and removed with the last pod of its revision.

import { expect, it } from 'vitest';
import type { Pod, Workload } from '../../../src/deploy/assess/observed.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { PAUSED_ANNOTATION, REVISION_LABEL } from '../../../src/kinds/meta.ts';
import type { RuntimeWorker } from '../../../src/kinds/workers.ts';
import { DEPLOYMENTS, PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import { aController } from '../../kit/memory/controller.ts';
import {
  aServer,
  conditionIn,
  deleteRecord,
  edit,
  newestRevision,
  putRecord,
  record,
  says,
} from '../../kit/memory/record.ts';
import { crashing, makeReady, putPod, removePod, reportRolling } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, takeDown } from './harness.ts';

const SCHEDULER: RuntimeWorker = { command: ['scheduler'], singleton: true };
const MAILER: RuntimeWorker = { command: ['mailer'] };
const SPEC = { sourceConfig: { runtime: { workers: { scheduler: SCHEDULER, mailer: MAILER } } } };

async function change(kube: FakeKube, workers: Record<string, object | null>, revises = true): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + (revises ? 1 : 0);
  await edit(kube, { spec: { sourceConfig: { runtime: { workers } }, revisionSerial } });
}
function workloads(kube: FakeKube): Workload[] {
  return [...kube.objects<Workload>(DEPLOYMENTS), ...kube.objects<Workload>(STATEFUL_SETS)].filter(
    ({ metadata }) => !/--(postgres|redis)$/.test(metadata.name),
  );
}
/** The number of the revision whose id the template of each workload has. */
function running(kube: FakeKube): Record<string, number> {
  const ids = kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration)
    .map(({ spec }) => spec.id);
  return Object.fromEntries(
    workloads(kube).map(({ kind, metadata, spec }) => [
      `${kind} ${metadata.name}`,
      ids.indexOf(spec?.template?.metadata?.labels?.[REVISION_LABEL] ?? '') + 1,
    ]),
  );
}

/** The pod that runs for a StatefulSet, of an earlier template of it. */
function podOfSet(kube: FakeKube, name: string): Pod {
  const set = kube.objects<Workload>(STATEFUL_SETS).find(({ metadata }) => metadata.name === name);
  const { labels = {}, uid = '' } = set?.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-0`,
      namespace: 'team',
      generation: 2,
      labels: { ...labels, ...set?.spec?.template?.metadata?.labels, 'controller-revision-hash': 'old' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid, controller: true }],
    },
    spec: { nodeName: 'n1', ...(set?.spec?.template as { spec?: object } | undefined)?.spec },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  } as Pod;
}

it('comes to rest with a workload for each, which the status shows, and another controller has nothing to do', async () => {
  const { kube } = await aConverged(SPEC);
  expect(running(kube)).toEqual({
    'Deployment shop': 1,
    'Deployment shop--mailer': 1,
    'StatefulSet shop--scheduler': 1,
  });
  expect([says(kube, 'Ready'), record(kube).status?.workers]).toEqual([
    'True Serving',
    {
      mailer: { minScale: 1, maxScale: 1, replicas: '1/1' },
      scheduler: { minScale: 1, maxScale: 1, replicas: '1/1' },
    },
  ]);
  const again = await aController(kube);
  await again.reconcile();
  expect(again.writes()).toEqual([]);
});

it('a changed worker is rolled alone', async () => {
  const controller = await aConverged(SPEC);
  await change(controller.kube, { mailer: { command: ['mailer', '--fast'] } });
  await converge(controller);
  expect(running(controller.kube)).toEqual({
    'Deployment shop': 1,
    'Deployment shop--mailer': 2,
    'StatefulSet shop--scheduler': 1,
  });
  const { status } = record(controller.kube);
  expect([says(controller.kube, 'Ready'), status?.latestRevisionId === status?.activeRevisionId]).toEqual([
    'True Serving',
    true,
  ]);
});

it('a new worker starts alone, and a renamed one replaces the old one', async () => {
  const controller = await aConverged(SPEC);
  await change(controller.kube, { mailer: null, poster: MAILER });
  await converge(controller);
  expect(running(controller.kube)).toEqual({
    'Deployment shop': 1,
    'Deployment shop--poster': 2,
    'StatefulSet shop--scheduler': 1,
  });
  expect(Object.keys(record(controller.kube).status?.workers ?? {}).toSorted()).toEqual(['poster', 'scheduler']);
});

it('the last worker goes when the revision without it is rolled out', async () => {
  const controller = await aConverged({ sourceConfig: { runtime: { workers: { mailer: MAILER } } } });
  await change(controller.kube, { mailer: null });
  await converge(controller);
  expect(Object.keys(running(controller.kube))).toEqual(['Deployment shop']);
  expect(record(controller.kube).status).not.toHaveProperty('workers');
});

it('another scale takes effect at once, without a revision', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await change(kube, { mailer: { minScale: 3 }, scheduler: { maxScale: 0 } }, false);
  await converge(controller);
  expect(kube.objects(APP_REVISIONS)).toHaveLength(1);
  expect(Object.fromEntries(workloads(kube).map(({ metadata, spec }) => [metadata.name, spec?.replicas]))).toEqual({
    shop: 1,
    'shop--mailer': 3,
    'shop--scheduler': 0,
  });
  expect(record(kube).status?.workers).toEqual({
    mailer: { minScale: 3, maxScale: 3, replicas: '3/3' },
    scheduler: { minScale: 0, maxScale: 0, replicas: '0/0' },
  });
});

it('a scale that is asked for in a pause is not in force before its end', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await edit(kube, { metadata: { annotations: { [PAUSED_ANNOTATION]: 'true' } } });
  await change(kube, { mailer: { minScale: 3 } }, false);
  await controller.reconcile();
  expect(record(kube).status?.workers?.['mailer']).toMatchObject({ minScale: 1, replicas: '1/1' });
  await edit(kube, { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } });
  await converge(controller);
  expect(record(kube).status?.workers?.['mailer']).toMatchObject({ minScale: 3, replicas: '3/3' });
});

it('a worker that becomes a singleton starts only after its last pod has ended', async () => {
  const controller = await aConverged(SPEC);
  const { kube, reconcile } = controller;
  const { id } = newestRevision(kube).spec;
  await change(kube, { mailer: { singleton: true } });
  await reconcile();
  kube.collectGarbage();
  putPod(kube, 'mailer', id, { ready: true, state: { running: {} } }, true);
  const passes = async (): Promise<void> => {
    for (let pass = 0; pass < 4; pass += 1) {
      await reconcile();
      await makeReady(kube);
    }
  };
  await passes();
  expect(Object.keys(running(kube))).toEqual(['Deployment shop', 'StatefulSet shop--scheduler']);
  expect(says(kube, 'Ready')).not.toBe('True Serving');
  removePod(kube, 'mailer');
  await passes();
  expect(running(kube)['StatefulSet shop--mailer']).toBe(2);
  expect(says(kube, 'Ready')).toBe('True Serving');
});

it('one that is a singleton no longer has its StatefulSet deleted first', async () => {
  const controller = await aConverged(SPEC);
  await change(controller.kube, { scheduler: { singleton: false } });
  controller.writes();
  await controller.reconcile();
  expect(controller.writes().filter((write) => write.endsWith('--scheduler'))).toEqual([
    'delete StatefulSet shop--scheduler',
  ]);
  controller.kube.collectGarbage();
  await converge(controller);
  expect(running(controller.kube)).toEqual({
    'Deployment shop': 1,
    'Deployment shop--mailer': 1,
    'Deployment shop--scheduler': 2,
  });
});

it('a strategy that a person gave a singleton is put back, and its pod keeps the label of its template', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  const at = { namespace: 'team', name: 'shop--scheduler' };
  await kube.mergePatch(
    STATEFUL_SETS,
    at,
    { spec: { updateStrategy: { type: 'OnDelete' } } },
    { fieldManager: 'kubectl-edit' },
  );
  await change(kube, { scheduler: { command: ['scheduler', '--fast'] } });
  const pass = async (): Promise<string[]> => {
    const set = kube.objects<Workload>(STATEFUL_SETS).find(({ metadata }) => metadata.name === at.name);
    const status = {
      observedGeneration: set?.metadata.generation,
      updateRevision: 'new',
      replicas: 1,
      updatedReplicas: 0,
    };
    await kube.mergePatch(STATEFUL_SETS, at, { status }, { subresource: 'status' });
    await controller.reconcile();
    return controller.writes().filter((write) => /^(patch|delete) Pod /.test(write));
  };
  kube.seed(PODS, podOfSet(kube, at.name));
  controller.writes();
  const writes = [await pass(), await pass(), await pass()].flat();
  expect(writes).toEqual([]);
  const set = kube.objects<Workload>(STATEFUL_SETS).find(({ metadata }) => metadata.name === at.name);
  expect(set?.spec?.updateStrategy).toEqual({ type: 'RollingUpdate' });
  expect(says(kube, 'Ready')).not.toBe('True Serving');
});

it('a revision that fails gives way, and its new worker goes with it', async () => {
  const controller = await aConverged(SPEC);
  const { kube } = controller;
  await change(kube, { poster: MAILER, mailer: { command: ['broken'] } });
  await controller.reconcile();
  putPod(kube, 'mailer', newestRevision(kube).spec.id, crashing(9, 'no such module'));
  const { metadata } = kube.objects(DEPLOYMENTS).find((one) => one.metadata.name === 'shop--mailer') ?? {};
  const counts = { replicas: 2, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
  const status = { observedGeneration: metadata?.generation, ...counts };
  const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
  await kube.mergePatch(DEPLOYMENTS, { namespace: 'team', name: 'shop--mailer' }, { status }, writing);
  for (let pass = 0; pass < 6; pass += 1) {
    await controller.reconcile();
    kube.collectGarbage();
  }
  expect(running(kube)).toEqual({
    'Deployment shop': 1,
    'Deployment shop--mailer': 1,
    'StatefulSet shop--scheduler': 1,
  });
  expect(says(kube, 'Stalled')).toBe('True ContainerCrashed');
});

it('is deleted with the deployment', async () => {
  const controller = await aConverged(SPEC);
  await deleteRecord(controller.kube);
  await takeDown(controller);
  expect([workloads(controller.kube), controller.kube.objects(APP_DEPLOYMENTS)]).toEqual([[], []]);
});

/** The deadline of the server's rollout has passed. */
const OVER = { conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }] };

it('in the first rollout of a revision the workers wait for its server, and keep what they run', async () => {
  const controller = await aConverged(SPEC);
  const { kube, reconcile } = controller;
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial } });
  await reconcile();
  await reportRolling(kube);
  await reconcile();
  await reconcile();
  const waiting = { 'Deployment shop': 2, 'Deployment shop--mailer': 1, 'StatefulSet shop--scheduler': 1 };
  expect(running(kube)).toEqual(waiting);
  controller.writes();
  await reconcile();
  expect(controller.writes()).toEqual([]);
  await converge(controller);
  expect(running(kube)).toEqual({
    'Deployment shop': 2,
    'Deployment shop--mailer': 2,
    'StatefulSet shop--scheduler': 2,
  });
  expect(says(kube, 'Ready')).toBe('True Serving');
});

it('no part starts a revision that has failed at the deadline of its server', async () => {
  const controller = await aConverged(SPEC);
  const { kube, reconcile } = controller;
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial } });
  await reconcile();
  await reportRolling(kube, 'shop', OVER);
  controller.writes();
  await reconcile();
  await reconcile();
  expect(controller.writes().filter((write) => write.includes('shop--mailer') && write.startsWith('apply'))).toEqual(
    [],
  );
  expect(running(kube)['Deployment shop--mailer']).toBe(1);
});

it('the failure of a server at its deadline names the new workers that it may have needed', async () => {
  const controller = await aConverged(SPEC);
  const { kube, reconcile } = controller;
  await change(kube, { poster: MAILER });
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' } } });
  await reconcile();
  await reportRolling(kube, 'shop', OVER);
  await reconcile();
  expect(says(kube, 'WorkloadsReady')).toBe('False ProgressDeadlineExceeded');
  expect(conditionIn(kube, 'WorkloadsReady')?.message).toContain(
    'New parts start when the server is ready: poster. If the server needs one of them, deploy that part in a revision of its own first.',
  );
  expect(running(kube)).not.toHaveProperty('Deployment shop--poster');
});

it('a part that is deleted while it waits for the server of a new revision runs what it ran', async () => {
  const controller = await aConverged(SPEC);
  const { kube, reconcile } = controller;
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial } });
  await reconcile();
  await reportRolling(kube);
  await reconcile();
  for (const [resource, name] of [
    [DEPLOYMENTS, 'shop--mailer'],
    [STATEFUL_SETS, 'shop--scheduler'],
  ] as const) {
    const uid = kube.objects(resource).find(({ metadata }) => metadata.name === name)?.metadata.uid ?? '';
    await kube.remove(resource, { namespace: 'team', name }, { uid });
  }
  kube.collectGarbage();
  await reconcile();
  await reconcile();
  expect(running(kube)).toEqual({
    'Deployment shop': 2,
    'Deployment shop--mailer': 1,
    'StatefulSet shop--scheduler': 1,
  });
  controller.writes();
  await reconcile();
  expect(controller.writes()).toEqual([]);
});

it('a first revision starts its server first, and all start when the deadline of the rollout is over', async () => {
  const kube = aServer();
  putRecord(kube, SPEC);
  const { reconcile } = await aController(kube);
  await reconcile();
  await reconcile();
  expect(running(kube)).toEqual({ 'Deployment shop': 1 });
  await reportRolling(kube, 'shop', OVER);
  await reconcile();
  await reportRolling(kube);
  await reconcile();
  expect(running(kube)).toEqual({
    'Deployment shop': 1,
    'Deployment shop--mailer': 1,
    'StatefulSet shop--scheduler': 1,
  });
});
