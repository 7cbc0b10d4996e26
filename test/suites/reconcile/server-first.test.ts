// A revision starts with its server (ADR 65): what the other parts run meanwhile, whatever else happens to the record.

import { expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { PAUSED_ANNOTATION, REVISION_LABEL } from '../../../src/kinds/meta.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, PODS, SCALED_OBJECTS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { MemoryController } from '../../kit/memory/controller.ts';
import { conditionIn, edit, newestRevision, record, says } from '../../kit/memory/record.ts';
import { crashing, makeReady, putPod, removePod, reportRolling } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

type SourceConfig = AppDeployment['spec']['sourceConfig'];

const WORKERS: SourceConfig = {
  runtime: { workers: { scheduler: { command: ['scheduler'], singleton: true }, mailer: { command: ['mailer'] } } },
};
const scaled = (scale: number): SourceConfig => ({ resourceSpec: { minScale: scale, maxScale: scale } });
/** The server has one pod, which is not ready. */
const DOWN = { replicas: 1, readyReplicas: 0, availableReplicas: 0 };
const NO_POD = { replicas: 0, updatedReplicas: 0, readyReplicas: 0, availableReplicas: 0 };

function revisions(kube: FakeKube): AppRevision[] {
  return kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
}
const states = (kube: FakeKube): unknown[] => revisions(kube).map(({ status }) => status?.state);

/** Which revision each part runs, and with how many pods: `2x1`. */
function running(kube: FakeKube): Record<string, string> {
  const ids = revisions(kube).map(({ spec }) => spec.id);
  const all = [...kube.objects<Workload>(DEPLOYMENTS), ...kube.objects<Workload>(STATEFUL_SETS)];
  return Object.fromEntries(
    all.map(({ metadata, spec }) => [
      metadata.name.replace(/^shop--/, ''),
      `${ids.indexOf(spec?.template?.metadata?.labels?.[REVISION_LABEL] ?? '') + 1}x${spec?.replicas}`,
    ]),
  );
}

async function deploy(kube: FakeKube, number: number, sourceConfig: object = {}, more: object = {}): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  const sourceRevisionConfig = { imageUri: `registry.example/shop:${number}` };
  await edit(kube, { spec: { sourceRevisionConfig, sourceConfig, revisionSerial, ...more } });
}

/** Revision `number` is rolled out, and the new pod of its server is not ready. */
async function rolls({ kube, reconcile }: MemoryController, number: number): Promise<void> {
  await deploy(kube, number);
  await reconcile();
  await reportRolling(kube);
  await reconcile();
}

/** A further pass changes nothing. */
async function rests(controller: MemoryController): Promise<void> {
  controller.writes();
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
}

it.each([
  { what: 'its migration', next: { sourceConfig: { runtime: { migrate: { command: ['up'] } } } } },
  { what: 'a Secret', next: { secrets: [{ name: 'KEY', secretName: 'none', secretKey: 'none' }] } },
])(
  'a change that waits for $what starts no part of the revision before, whose server is not ready',
  async ({ next }) => {
    const controller = await aConverged({ sourceConfig: WORKERS });
    const { kube, reconcile } = controller;
    await rolls(controller, 2);
    await deploy(kube, 2, next.sourceConfig, next);
    await reconcile();
    await reconcile();
    expect(running(kube)).toMatchObject({ shop: '2x1', mailer: '1x1', scheduler: '1x1' });
    await rests(controller);
  },
);

it('a part that waits keeps what it runs, also of a revision that was overtaken before it was deployed', async () => {
  const controller = await aConverged({ sourceConfig: WORKERS });
  const { kube, reconcile } = controller;
  await deploy(kube, 2);
  await reconcile();
  await makeReady(kube);
  await reconcile();
  await rolls(controller, 3);
  await reconcile();
  expect(running(kube)).toMatchObject({ shop: '3x1', mailer: '2x1', scheduler: '2x1' });
  await rests(controller);
});

it('a revision that had no pod is not deployed by the change that raises its scale', async () => {
  const controller = await aConverged({ sourceConfig: WORKERS });
  const { kube, reconcile } = controller;
  await deploy(kube, 2, scaled(0));
  await converge(controller);
  await deploy(kube, 3, scaled(1));
  await reconcile();
  await reportRolling(kube, 'shop', DOWN);
  putPod(kube, 'server', newestRevision(kube).spec.id, crashing(9));
  for (let pass = 0; pass < 4; pass += 1) await reconcile();
  expect([states(kube), running(kube)['shop']]).toEqual([['DEPLOYED', 'SKIPPED', 'DEPLOY_FAILED'], '1x1']);
});

it('workers are not started with the template of a revision at zero that was never migrated', async () => {
  const controller = await aConverged({ sourceConfig: WORKERS });
  const { kube, reconcile } = controller;
  await deploy(kube, 2, { ...scaled(0), runtime: { migrate: { command: ['up'] } } });
  await converge(controller);
  await deploy(kube, 3, { ...scaled(1), runtime: { migrate: null } });
  await reconcile();
  await reportRolling(kube, 'shop', DOWN);
  await reconcile();
  await reconcile();
  expect(running(kube)).toMatchObject({ shop: '3x1', mailer: '1x1', scheduler: '1x1' });
});

it('workers wait for the server of a rollout that is stopped at zero and started again', async () => {
  const controller = await aConverged({ sourceConfig: WORKERS });
  const { kube, reconcile } = controller;
  await rolls(controller, 2);
  await edit(kube, { spec: { sourceConfig: scaled(0) } });
  await converge(controller);
  await edit(kube, { spec: { sourceConfig: scaled(1) } });
  await reconcile();
  await reportRolling(kube, 'shop', DOWN);
  await reconcile();
  expect(running(kube)).toMatchObject({ shop: '2x1', mailer: '1x1' });
  await converge(controller);
  expect(running(kube)).toMatchObject({ shop: '2x1', mailer: '2x1', scheduler: '2x1' });
});

it('a part that waits is scaled as the revision that it runs', async () => {
  const { kube, reconcile } = await aConverged({
    sourceConfig: { resourceSpec: { queueMinScale: 0, queueMaxScale: 1 } },
  });
  await deploy(kube, 2, { runtime: { queueDepth: { query: 'SELECT 1' } } });
  await reconcile();
  await reportRolling(kube, 'shop');
  await reconcile();
  await reconcile();
  expect([running(kube)['queue'], kube.objects(SCALED_OBJECTS)]).toEqual(['1x1', []]);
});

it('a failed revision is not held while the next one waits', async () => {
  const { kube, reconcile } = await aConverged({ sourceConfig: WORKERS });
  const pause = (value: string | null): Promise<void> =>
    edit(kube, { metadata: { annotations: { [PAUSED_ANNOTATION]: value } } });
  await deploy(kube, 2);
  await reconcile();
  await makeReady(kube);
  await reconcile();
  await reportRolling(kube, 'shop--scheduler', DOWN, STATEFUL_SETS);
  await pause('true');
  putPod(kube, 'scheduler', newestRevision(kube).spec.id, crashing(9));
  await reconcile();
  await deploy(kube, 3, {}, { secrets: [{ name: 'KEY', secretName: 'none', secretKey: 'none' }] });
  await pause(null);
  for (let pass = 0; pass < 4; pass += 1) await reconcile();
  expect(running(kube)).toMatchObject({ shop: '1x1', scheduler: '1x1' });
});

it('a part does not wait for a server whose pods it shares with the revision before', async () => {
  const { kube, reconcile } = await aConverged({
    sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2, queueMinScale: 1, queueMaxScale: 1, queueCpu: 0.5 } },
  });
  // The pods are refused at first, and one of the server is lost meanwhile.
  kube.failOn(({ kind, dryRun }) =>
    kind === 'Pod' && dryRun ? new Forbidden('no', { serverMessage: 'exceeded quota' }) : undefined,
  );
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { queueCpu: 1 } }, revisionSerial: 1 } });
  await reconcile();
  await reportRolling(kube, 'shop', { replicas: 2, updatedReplicas: 2 });
  kube.failOn(undefined);
  await reconcile();
  await reconcile();
  expect(running(kube)['queue']).toBe('2x1');
});

/** A pod of the newest revision that is created now. */
function putYoungPod({ kube, clock }: MemoryController, part: string): void {
  putPod(kube, part, newestRevision(kube).spec.id, {});
  const made = kube.objects(PODS).find(({ metadata }) => metadata.name === `shop-${part}-new`);
  removePod(kube, part);
  const creationTimestamp = new Date(clock.ms).toISOString();
  if (made) kube.seed(PODS, { ...made, metadata: { ...made.metadata, creationTimestamp } });
}

it('the pod of a singleton has the time of a rollout of its own, after that of the server', async () => {
  const controller = await aConverged({ sourceConfig: WORKERS });
  const { kube, reconcile, clock } = controller;
  await rolls(controller, 2);
  clock.ms += 570_000;
  await reportRolling(kube, 'shop', { replicas: 1 });
  await reconcile();
  await reportRolling(kube, 'shop--mailer', { replicas: 1 });
  await reportRolling(kube, 'shop--scheduler', DOWN, STATEFUL_SETS);
  putYoungPod(controller, 'scheduler');
  clock.ms += 40_000;
  const { requeueAfterMs } = await reconcile();
  expect([states(kube)[1], requeueAfterMs]).toEqual(['DEPLOYING', 560_000]);
  clock.ms += 560_000;
  await reconcile();
  expect(states(kube)[1]).toBe('DEPLOY_FAILED');
});

it('a server that comes from a scale of zero has the time of a rollout, although Kubernetes sets no deadline', async () => {
  const controller = await aConverged();
  const { kube, reconcile, clock } = controller;
  await deploy(kube, 2);
  const conditions = [{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' }];
  for (const [scale, counts] of [
    [0, NO_POD],
    [1, DOWN],
  ] as const) {
    await edit(kube, { spec: { sourceConfig: scaled(scale) } });
    await reconcile();
    await reportRolling(kube, 'shop', { ...counts, conditions });
    await reconcile();
  }
  // However late its pod is created, as after an operation that took an hour.
  clock.ms += 660_000;
  await reconcile();
  expect([states(kube)[1], says(kube, 'Stalled')]).toEqual(['DEPLOYING', 'False Settled']);
  putYoungPod(controller, 'server');
  clock.ms += 570_000;
  const { requeueAfterMs } = await reconcile();
  expect([states(kube)[1], requeueAfterMs]).toEqual(['DEPLOYING', 30_000]);
  clock.ms += 30_000;
  await reconcile();
  expect([states(kube)[1], conditionIn(kube, 'Stalled')]).toEqual([
    'DEPLOY_FAILED',
    expect.objectContaining({ status: 'True', message: expect.stringMatching(/server made no progress in 600 s/) }),
  ]);
});
