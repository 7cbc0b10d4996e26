// The migration of a revision: one Job, before the rollout, whatever happens.

import { describe, expect, it, vi } from 'vitest';
import type { Pod, Workload } from '../../../src/deploy/assess/observed.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { REVISION_LABEL } from '../../../src/kinds/meta.ts';
import { Forbidden, Invalid } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, JOBS, PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, putRecord, record, says } from '../../kit/memory/record.ts';
import { endJobs, makeReady } from '../../kit/memory/workloads.ts';
import { CONTROLLER } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed, crashPoints } from './harness.ts';

const MIGRATING: Partial<AppDeployment['spec']> = { sourceConfig: { runtime: { migrate: { command: ['up'] } } } };

async function change(kube: FakeKube, imageUri: string, more: object = {}): Promise<void> {
  const serial = (record(kube).spec.revisionSerial ?? 0) + 1;
  const spec = { sourceRevisionConfig: { imageUri }, revisionSerial: serial, ...more };
  await kube.mergePatch(APP_DEPLOYMENTS, SHOP, { spec }, { fieldManager: 'person' });
}

/** The same, but for the Jobs. */
async function storesReady(kube: FakeKube): Promise<void> {
  const jobs = kube.objects<KubeObject & { status?: { conditions?: unknown } }>(JOBS);
  const running = jobs.filter(({ status }) => status?.conditions === undefined);
  await makeReady(kube);
  for (const { metadata } of running) {
    const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
    const place = { namespace: metadata.namespace ?? '', name: metadata.name };
    await kube.mergePatch(JOBS, place, { status: { conditions: null } }, writing);
  }
}

/** Passes, in which Jobs that have not ended do not end. */
async function passes(controller: MemoryController, count = 5): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) {
    await controller.reconcile();
    await storesReady(controller.kube);
  }
}

function jobs(kube: FakeKube): KubeObject[] {
  return kube.objects(JOBS);
}
function revisions(kube: FakeKube): AppRevision[] {
  return kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
}
/** Number of the revision that the server runs; 0 before the first. */
function running(kube: FakeKube): number {
  const server = kube.objects<Workload>(DEPLOYMENTS).find(({ metadata }) => metadata.name === 'shop');
  const id = server?.spec?.template?.metadata?.labels?.[REVISION_LABEL];
  return revisions(kube).findIndex(({ spec }) => spec.id === id) + 1;
}
function states(kube: FakeKube): (string | undefined)[] {
  return revisions(kube).map(({ status }) => status?.state);
}
function message(kube: FakeKube): string {
  return conditionOf(record(kube).status?.conditions, 'Ready')?.message ?? '';
}
function jobOf(kube: FakeKube, number: number): string {
  return `shop--migrate-${revisions(kube)[number - 1]?.spec.id.slice(0, 8)}`;
}
async function fail(kube: FakeKube, reason = 'BackoffLimitExceeded'): Promise<void> {
  await endJobs(kube, { type: 'Failed', status: 'True', reason });
}
/** By whoever tidies up. */
async function removeJob(kube: FakeKube): Promise<void> {
  const [job] = jobs(kube);
  const { name = '', uid = '' } = job?.metadata ?? {};
  await kube.remove(JOBS, { namespace: 'team', name }, { uid });
}
/** The pod of the only Job, which has ended with these last words. */
function putPod(kube: FakeKube, words: string): void {
  const [job] = jobs(kube);
  if (!job) throw new Error('no Job');
  const labels = { ...job.metadata.labels };
  kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${job.metadata.name}-x`,
      namespace: 'team',
      labels,
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: job.metadata.name, uid: job.metadata.uid ?? '', controller: true },
      ],
    },
    status: {
      phase: 'Failed',
      containerStatuses: [
        { name: 'davit-migration', state: { terminated: { exitCode: 3, reason: 'Error', message: words } } },
      ],
    },
  } as KubeObject);
}

describe('a first revision', () => {
  it('starts its stores, migrates when they answer, and is rolled out then', async () => {
    const kube = aServer();
    putRecord(kube, MIGRATING);
    const controller = await aController(kube);
    await controller.reconcile();
    expect([jobs(kube).length, running(kube), says(kube, 'Ready')]).toEqual([0, 0, 'False Starting']);
    await passes(controller);
    expect([jobs(kube).length, running(kube), says(kube, 'Ready')]).toEqual([1, 0, 'False Migrating']);
    expect(message(kube)).toContain(`kubectl logs job/${jobOf(kube, 1)} -n team`);
    expect(revisions(kube)[0]?.status?.migration).toEqual({ phase: 'Running', job: jobOf(kube, 1) });
    await converge(controller);
    expect([jobs(kube).length, running(kube), says(kube, 'Ready')]).toEqual([1, 1, 'True Serving']);
    expect(revisions(kube)[0]?.status).toMatchObject({ state: 'DEPLOYED', migration: { phase: 'Succeeded' } });
    expect(controller.writes()).toEqual([]);
  });

  it('whose stores never answer is Stalled after the time that a rollout has, and goes on when they do', async () => {
    const kube = aServer();
    putRecord(kube, MIGRATING);
    const controller = await aController(kube);
    await controller.reconcile();
    controller.clock.ms += 599_000;
    const { requeueAfterMs } = await controller.reconcile();
    expect([says(kube, 'Ready'), says(kube, 'Stalled'), requeueAfterMs]).toEqual([
      'False Starting',
      'False Settled',
      1000,
    ]);
    controller.clock.ms += 1000;
    await controller.reconcile();
    expect([says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual(['False NotAnswering', 'True NotAnswering']);
    expect(message(kube)).toContain('for more than 600 s');
    await passes(controller);
    expect([jobs(kube).length, says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual([
      1,
      'False Migrating',
      'False Settled',
    ]);
  });

  it('does not migrate without pods that the API server accepts', async () => {
    const kube = aServer();
    putRecord(kube, MIGRATING);
    const controller = await aController(kube);
    kube.failOn(({ kind, dryRun }) =>
      kind === 'Pod' && dryRun ? new Invalid('no', [], { serverMessage: 'a quota says no' }) : undefined,
    );
    await passes(controller);
    expect([jobs(kube).length, says(kube, 'Ready')]).toEqual([0, 'False PodsRefused']);
    kube.failOn(undefined);
    await converge(controller);
    expect([jobs(kube).length, says(kube, 'Ready')]).toEqual([1, 'True Serving']);
  });

  it('whose Job gets no pod says so', async () => {
    const kube = aServer();
    putRecord(kube, MIGRATING);
    const controller = await aController(kube);
    await passes(controller);
    const [job] = jobs(kube);
    const startTime = new Date(controller.clock.ms).toISOString();
    kube.seed(JOBS, { ...job, status: { startTime } } as KubeObject);
    expect((await controller.reconcile()).requeueAfterMs).toBeLessThanOrEqual(60_000);
    expect(message(kube)).toContain('The migration is running');
    controller.clock.ms += 60_000;
    await controller.reconcile();
    expect(message(kube)).toMatch(/The migration has not begun\. Job .* has no pod yet\..* kubectl describe job/);
  });

  it('whose Job is refused says so', async () => {
    const kube = aServer();
    putRecord(kube, MIGRATING);
    const controller = await aController(kube);
    kube.failOn(({ kind, verb }) =>
      kind === 'Job' && verb === 'create' ? new Forbidden('no', { serverMessage: 'exceeded quota' }) : undefined,
    );
    await passes(controller);
    expect([running(kube), says(kube, 'Ready'), states(kube)]).toEqual([0, 'False ApplyRefused', ['DEPLOY_FAILED']]);
    expect(message(kube)).toContain('exceeded quota');
  });

  it('that is scaled to zero does not migrate', async () => {
    const { kube } = await aConverged({ sourceConfig: { ...MIGRATING.sourceConfig, resourceSpec: { maxScale: 0 } } });
    expect([jobs(kube).length, says(kube, 'Ready')]).toEqual([0, 'True ScaledToZero']);
  });
});

/** The scale, which no revision is made for. */
async function scaleTo(kube: FakeKube, number: number): Promise<void> {
  const resourceSpec = { minScale: number, maxScale: number };
  await kube.mergePatch(
    APP_DEPLOYMENTS,
    SHOP,
    { spec: { sourceConfig: { resourceSpec } } },
    { fieldManager: 'person' },
  );
}
/** The number of pods that the server is to have. */
function pods(kube: FakeKube): number | undefined {
  return kube.objects<Workload>(DEPLOYMENTS).find(({ metadata }) => metadata.name === 'shop')?.spec?.replicas;
}

describe('zero and back', () => {
  it('migrates no second time', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    for (const number of [0, 2]) {
      await scaleTo(kube, number);
      await passes(controller);
      expect([pods(kube), jobs(kube).length, states(kube), says(kube, 'Ready')]).toEqual([
        number,
        1,
        ['DEPLOYED'],
        number === 0 ? 'True ScaledToZero' : 'True Serving',
      ]);
    }
  });

  it('migrates before the first pod what was asked for at zero', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    const active = record(kube).status?.activeRevisionId;
    const none = { resourceSpec: { minScale: 0, maxScale: 0 } };
    await change(kube, 'registry.example/shop:2', { sourceConfig: { ...MIGRATING.sourceConfig, ...none } });
    await converge(controller);
    expect([states(kube), pods(kube), says(kube, 'Ready')]).toEqual([
      ['DEPLOYED', 'AWAITING_DEPLOY'],
      0,
      'True ScaledToZero',
    ]);
    expect(record(kube).status?.activeRevisionId).toBe(active);
    await passes(controller);
    expect(states(kube)[1]).toBe('AWAITING_DEPLOY');
    await scaleTo(kube, 1);
    await passes(controller);
    // What was deployed before serves meanwhile, as far as that is known.
    expect([pods(kube), jobs(kube).map(({ metadata }) => metadata.name), says(kube, 'Ready')]).toEqual([
      1,
      [jobOf(kube, 2)],
      'False Migrating',
    ]);
    await converge(controller);
    expect([running(kube), pods(kube), states(kube), says(kube, 'Ready')]).toEqual([
      2,
      1,
      ['DEPLOYED', 'DEPLOYED'],
      'True Serving',
    ]);
    expect(revisions(kube)[1]?.status?.migration?.phase).toBe('Succeeded');
  });

  it('starts nothing of a first revision before its migration', async () => {
    const controller = await aConverged({
      sourceConfig: { ...MIGRATING.sourceConfig, resourceSpec: { minScale: 0, maxScale: 0 } },
    });
    const { kube } = controller;
    expect([states(kube), pods(kube)]).toEqual([['AWAITING_DEPLOY'], 0]);
    await scaleTo(kube, 2);
    await passes(controller);
    expect([pods(kube), jobs(kube).length, says(kube, 'Ready')]).toEqual([0, 1, 'False Migrating']);
    await converge(controller);
    expect([pods(kube), jobs(kube).length, states(kube)]).toEqual([2, 1, ['DEPLOYED']]);
  });

  it.each([
    { name: 'an earlier one serves', isFirst: false, meanwhile: [1, 1] },
    { name: 'none was deployed', isFirst: true, meanwhile: [1, 0] },
  ])('starts nothing of an unmigrated revision that the next one overtakes, where $name', async (row) => {
    const none = { sourceConfig: { ...MIGRATING.sourceConfig, resourceSpec: { minScale: 0, maxScale: 0 } } };
    const controller = await aConverged(row.isFirst ? none : MIGRATING);
    const { kube } = controller;
    if (!row.isFirst) await change(kube, 'registry.example/shop:2', none);
    await converge(controller);
    const one = { sourceConfig: { resourceSpec: { minScale: 1, maxScale: 1 } } };
    await change(kube, 'registry.example/shop:3', one);
    await passes(controller);
    expect([running(kube), pods(kube)]).toEqual(row.meanwhile);
    expect([states(kube).slice(-2), says(kube, 'Ready')]).toEqual([['SKIPPED', 'DEPLOYING'], 'False Migrating']);
    await converge(controller);
    expect([running(kube), pods(kube), says(kube, 'Ready')]).toEqual([row.isFirst ? 2 : 3, 1, 'True Serving']);
  });

  it('takes pods that a person starts by hand for no migration', async () => {
    const kube = aServer();
    putRecord(kube, MIGRATING);
    const controller = await aController(kube);
    await controller.reconcile();
    await scaleTo(kube, 0);
    await passes(controller);
    expect([states(kube), pods(kube), jobs(kube)]).toEqual([['AWAITING_DEPLOY'], 0, []]);
    await kube.mergePatch(DEPLOYMENTS, SHOP, { spec: { replicas: 2 } }, { fieldManager: 'kubectl' });
    await passes(controller);
    expect([states(kube), pods(kube), jobs(kube)]).toEqual([['AWAITING_DEPLOY'], 0, []]);
    await scaleTo(kube, 1);
    await passes(controller);
    expect([pods(kube), jobs(kube).length, says(kube, 'Ready')]).toEqual([0, 1, 'False Migrating']);
    await kube.mergePatch(DEPLOYMENTS, SHOP, { spec: { replicas: 2 } }, { fieldManager: 'kubectl' });
    await passes(controller);
    expect([jobs(kube).length, says(kube, 'Ready')]).toEqual([1, 'False Migrating']);
  });

  it('lets a migration finish that is running', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    await scaleTo(kube, 0);
    await passes(controller);
    expect([pods(kube), running(kube), jobs(kube).length, says(kube, 'Ready')]).toEqual([0, 1, 1, 'False Migrating']);
    await converge(controller);
    expect([pods(kube), running(kube), states(kube)]).toEqual([0, 2, ['DEPLOYED', 'AWAITING_DEPLOY']]);
    await scaleTo(kube, 1);
    await converge(controller);
    expect([pods(kube), jobs(kube).length, states(kube)]).toEqual([1, 1, ['DEPLOYED', 'DEPLOYED']]);
  });

  it('serves what was deployed where the newest migration has failed', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    await fail(kube);
    await passes(controller);
    for (const number of [0, 2]) {
      await scaleTo(kube, number);
      await passes(controller);
    }
    expect([pods(kube), running(kube), states(kube), says(kube, 'Ready')]).toEqual([
      2,
      1,
      ['DEPLOYED', 'DEPLOY_FAILED'],
      'False MigrationFailed',
    ]);
  });
});

describe('the next revision', () => {
  it('leaves what serves as it is until the migration has succeeded', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    expect([running(kube), says(kube, 'Available'), says(kube, 'Ready')]).toEqual([
      1,
      'True Serving',
      'False Migrating',
    ]);
    expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOYING']);
    await converge(controller);
    expect([running(kube), says(kube, 'Ready'), states(kube)]).toEqual([2, 'True Serving', ['DEPLOYED', 'DEPLOYED']]);
    expect(jobs(kube).map(({ metadata }) => metadata.name)).toEqual([jobOf(kube, 2)]);
  });

  it('starts the stores that it needs first', async () => {
    const uri = { name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' };
    const kube = aServer();
    kube.seed({ group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'outside', namespace: 'team' },
      data: { uri: 'YQ==' },
    } as KubeObject);
    const controller = await aConverged({ secretReferences: [uri] }, kube);
    await change(kube, 'registry.example/shop:2', { ...MIGRATING, secretReferences: null });
    await passes(controller);
    expect(
      kube
        .objects({ ...DEPLOYMENTS, kind: 'StatefulSet', plural: 'statefulsets' })
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    ).toEqual(['shop--postgres', 'shop--redis']);
    expect([running(kube), jobs(kube).length]).toEqual([1, 1]);
  });

  it.each([
    [
      'its last words',
      'BackoffLimitExceeded',
      'column "price" does not exist',
      'The command of the migration failed (Error, exit code 3): column "price" does not exist',
    ],
    ['the time that it had', 'DeadlineExceeded', 'half', 'took longer than 600 s'],
  ])('that fails says %s, and what served goes on serving', async (_what, reason, words, said) => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    putPod(kube, words);
    await fail(kube, reason);
    await converge(controller);
    expect([running(kube), says(kube, 'Available'), says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual([
      1,
      'True Serving',
      'False MigrationFailed',
      'True MigrationFailed',
    ]);
    expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOY_FAILED']);
    expect(revisions(kube)[1]?.status?.message).toContain(said);
    // Whoever tidies up afterwards changes nothing.
    await removeJob(kube);
    await converge(controller);
    expect([jobs(kube), running(kube), says(kube, 'Ready')]).toEqual([[], 1, 'False MigrationFailed']);
    await change(kube, 'registry.example/shop:3');
    await converge(controller);
    expect([running(kube), says(kube, 'Ready')]).toEqual([3, 'True Serving']);
  });

  it('waits for the migration of the one that it overtakes', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    await change(kube, 'registry.example/shop:3');
    await passes(controller);
    expect([running(kube), jobs(kube).map(({ metadata }) => metadata.name)]).toEqual([1, [jobOf(kube, 2)]]);
    expect([states(kube), says(kube, 'Ready')]).toEqual([['DEPLOYED', 'SKIPPED', 'DEPLOYING'], 'False Migrating']);
    expect(message(kube)).toContain('Davit waits for it to finish');
    await converge(controller);
    expect([running(kube), states(kube)]).toEqual([3, ['DEPLOYED', 'SKIPPED', 'DEPLOYED']]);
    expect(jobs(kube).map(({ metadata }) => metadata.name)).toEqual([jobOf(kube, 3)]);
    expect(revisions(kube)[1]?.status?.migration?.phase).toBe('Succeeded');
  });

  it('waits for the pod of a migration whose Job was deleted: two never run at once', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    const labels = { ...jobs(kube)[0]?.metadata.labels };
    const pod = { namespace: 'team', name: 'shop--migrate-pod' };
    kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...pod, labels, ownerReferences: [CONTROLLER] },
      status: { phase: 'Running', containerStatuses: [{ name: 'migrate', state: { running: {} } }] },
    } as KubeObject);
    await removeJob(kube);
    await change(kube, 'registry.example/shop:3');
    await passes(controller);
    expect([jobs(kube), running(kube), says(kube, 'Ready')]).toEqual([[], 1, 'False Migrating']);
    expect(message(kube)).toContain('waits until its pod has ended');
    kube.erase(PODS, pod);
    await passes(controller);
    expect(jobs(kube).map(({ metadata }) => metadata.name)).toEqual([jobOf(kube, 3)]);
    await converge(controller);
    expect([running(kube), says(kube, 'Ready')]).toEqual([3, 'True Serving']);
  });

  it('says which lost node keeps the pod of a migration, its own or the one before, and what releases it', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    putPod(kube, '');
    const [pod] = kube.objects<Pod>(PODS).filter(({ metadata }) => metadata.name === `${jobOf(kube, 2)}-x`);
    const finalizers = ['batch.kubernetes.io/job-tracking'];
    const deletionTimestamp = new Date(controller.clock.ms).toISOString();
    const metadata = { ...pod?.metadata, finalizers, deletionTimestamp };
    kube.seed(PODS, { ...pod, metadata, spec: { nodeName: 'n1' }, status: { phase: 'Running' } } as KubeObject);
    await passes(controller);
    expect([says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual(['False Migrating', 'False Settled']);
    controller.clock.ms += 120_000;
    await passes(controller);
    const stuck = ['False PodStuckTerminating', 'True PodStuckTerminating'];
    expect([says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual(stuck);
    expect(message(kube)).toMatch(/The migration: .* node n1 has not confirmed it\. .* kubectl taint nodes n1 /);
    await change(kube, 'registry.example/shop:3');
    await passes(controller);
    expect([says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual(stuck);
    expect(message(kube)).toMatch(/waiting for the migration of revision .* kubectl taint nodes n1 /);
  });

  it('without a migration waits for a running one, too', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    await change(kube, 'registry.example/shop:3', { sourceConfig: { runtime: null } });
    await passes(controller);
    expect([running(kube), says(kube, 'Ready')]).toEqual([1, 'False Migrating']);
    await converge(controller);
    expect([running(kube), jobs(kube)]).toEqual([3, []]);
  });

  it('whose Job is deleted before its end fails, and is not migrated again', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    await removeJob(kube);
    await converge(controller);
    expect([jobs(kube), running(kube), says(kube, 'Ready')]).toEqual([[], 1, 'False MigrationFailed']);
    expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOY_FAILED']);
  });
});

describe('a rollback', () => {
  it('to a revision that has migrated does not migrate', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    const [first] = revisions(kube);
    await change(kube, 'registry.example/shop:2');
    await converge(controller);
    await change(kube, 'registry.example/shop:1', { rollbackTo: first?.spec.id });
    await passes(controller);
    expect([running(kube), says(kube, 'Ready')]).toEqual([3, 'True Serving']);
    await change(kube, 'registry.example/shop:4', { rollbackTo: null });
    await passes(controller);
    expect([running(kube), says(kube, 'Ready')]).toEqual([3, 'False Migrating']);
  });

  it('to one whose migration failed migrates', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    await fail(kube);
    await converge(controller);
    const failed = revisions(kube)[1];
    await change(kube, 'registry.example/shop:3');
    await converge(controller);
    await change(kube, 'registry.example/shop:2', { rollbackTo: failed?.spec.id });
    await passes(controller);
    expect([running(kube), says(kube, 'Ready')]).toEqual([3, 'False Migrating']);
  });
});

describe('a crash', () => {
  it.each(['failOn', 'failAfter'] as const)(
    'at any write (%s) makes one Job a revision, and no rollout before its end',
    async (when) => {
      for (const at of crashPoints(40)) {
        const kube = aServer();
        putRecord(kube, MIGRATING);
        const writes = await untilCrash(kube, when, at);
        const controller = await aController(kube);
        await passes(controller);
        expect([at, jobs(kube).length, running(kube)]).toEqual([at, 1, 0]);
        await converge(controller);
        expect([at, jobs(kube).length, running(kube), says(kube, 'Ready')]).toEqual([at, 1, 1, 'True Serving']);
        controller.stop();
        if (writes < at) {
          expect(at).toBeGreaterThan(10);
          return;
        }
      }
      throw new Error('more writes than expected');
    },
  );
});

/** Passes of one controller until the Job runs, which dies at a write. Returns how many writes it tried. */
async function untilCrash(kube: FakeKube, when: 'failOn' | 'failAfter', at: number): Promise<number> {
  let writes = 0;
  for (let pass = 0; pass < 5; pass += 1) {
    const dying = await aController(kube);
    writes += await crashed(dying, { when, at: at - writes });
    if (writes >= at) return writes;
    await storesReady(kube);
  }
  return writes;
}

it('a main service that a person deletes comes back, of the active revision, while a migration runs and after it has failed', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  await change(kube, 'registry.example/shop:2', MIGRATING);
  await passes(controller);
  expect(says(kube, 'Ready')).toBe('False Migrating');
  kube.erase(DEPLOYMENTS, SHOP);
  await passes(controller);
  expect(running(kube)).toBe(1);
  await fail(kube);
  await passes(controller);
  expect(says(kube, 'Ready')).toBe('False MigrationFailed');
  kube.erase(DEPLOYMENTS, SHOP);
  await passes(controller);
  expect([running(kube), record(kube).status?.state]).toEqual([1, 'READY']);
});

/** The pod of the newest Job: its own container has ended, and a sidecar that a mesh has injected runs on. */
function putMeshedPod(kube: FakeKube, exitCode: number): void {
  putPod(kube, 'words');
  const pod = kube.objects<Pod>(PODS)[0];
  if (!pod) throw new Error('no pod');
  kube.erase(PODS, { namespace: 'team', name: pod.metadata.name });
  const { uid: _uid, resourceVersion: _version, ...metadata } = pod.metadata;
  kube.seed(PODS, {
    ...pod,
    metadata,
    status: {
      phase: 'Running',
      containerStatuses: [
        { name: 'istio-proxy', ready: true, state: { running: {} } },
        { name: 'davit-migration', state: { terminated: { exitCode, reason: 'Error', message: 'words' } } },
      ],
    },
  });
}

describe('beside a sidecar that never ends', () => {
  it('a migration that succeeded is one, and its Job goes', async () => {
    const kube = aServer();
    putRecord(kube, MIGRATING);
    const controller = await aController(kube);
    await passes(controller);
    putMeshedPod(kube, 0);
    await passes(controller);
    expect([running(kube), says(kube, 'Ready'), jobs(kube)]).toEqual([1, 'True Serving', []]);
    expect(revisions(kube)[0]?.status?.migration?.phase).toBe('Succeeded');
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('a migration that failed has failed, and its Job keeps the log', async () => {
    const controller = await aConverged(MIGRATING);
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2');
    await passes(controller);
    for (const { metadata } of kube.objects(PODS)) kube.erase(PODS, { namespace: 'team', name: metadata.name });
    const done = jobs(kube).filter(({ metadata }) => metadata.name !== jobOf(kube, 2));
    for (const { metadata } of done) kube.erase(JOBS, { namespace: 'team', name: metadata.name });
    putMeshedPod(kube, 3);
    await passes(controller);
    expect([running(kube), says(kube, 'Ready'), jobs(kube).length]).toEqual([1, 'False MigrationFailed', 1]);
  });
});

it('that fails before anything served does not say that something serves', async () => {
  const kube = aServer();
  putRecord(kube, MIGRATING);
  const controller = await aController(kube);
  await passes(controller);
  putPod(kube, 'words');
  await fail(kube);
  await passes(controller);
  expect(says(kube, 'Ready')).toBe('False MigrationFailed');
  expect(message(kube)).toContain('No revision has served yet.');
});

it('that failed stays so at a scale of zero: no revision becomes the active one by running nothing', async () => {
  const controller = await aConverged(MIGRATING);
  const { kube } = controller;
  const active = record(kube).status?.activeRevisionId;
  await change(kube, 'registry.example/shop:2');
  await passes(controller);
  await fail(kube);
  await passes(controller);
  await change(kube, 'registry.example/shop:2', {
    sourceConfig: { ...MIGRATING.sourceConfig, resourceSpec: { maxScale: 0 } },
  });
  await converge(controller);
  expect([says(kube, 'Ready'), record(kube).status?.state]).toEqual(['True ScaledToZero', 'UNUSED']);
  expect(revisions(kube).at(-1)?.status).toMatchObject({
    state: 'DEPLOY_FAILED',
    message: expect.stringContaining('migration failed') as string,
  });
  expect(record(kube).status?.activeRevisionId).toBe(active);
});

describe('what stops no rollout stops no migration', () => {
  it('a volume that cannot shrink', async () => {
    const controller = await aConverged({ sourceConfig: { resourceSpec: { dbStorageGi: 20 } } });
    const { kube } = controller;
    await change(kube, 'registry.example/shop:2', {
      sourceConfig: { ...MIGRATING.sourceConfig, resourceSpec: { dbStorageGi: 10 } },
    });
    await passes(controller);
    expect([says(kube, 'Ready'), jobs(kube).length]).toEqual(['False StorageCannotShrink', 1]);
  });

  it('a webhook that rewrites every StatefulSet', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    for (const { metadata } of kube.objects(STATEFUL_SETS)) {
      const place = { namespace: 'team', name: metadata.name };
      const rewritten = { spec: { template: { spec: { securityContext: { runAsUser: 4711 } } } } };
      await kube.mergePatch(STATEFUL_SETS, place, rewritten, { fieldManager: 'mirror' });
    }
    await makeReady(kube);
    // The answer to an apply is what the webhook makes of it.
    const { apply } = kube;
    vi.spyOn(kube, 'apply').mockImplementation(((resource, object, options) =>
      object.kind === 'StatefulSet'
        ? kube.get(resource, { namespace: 'team', name: object.metadata.name })
        : apply.call(kube, resource, object, options)) as typeof apply);
    await change(kube, 'registry.example/shop:2', MIGRATING);
    await passes(controller);
    expect([says(kube, 'Ready'), jobs(kube).length]).toEqual(['False Migrating', 1]);
    await endJobs(kube, { type: 'Complete', status: 'True' });
    await passes(controller);
    expect([says(kube, 'Ready'), running(kube)]).toEqual(['True Serving', 2]);
  });
});
