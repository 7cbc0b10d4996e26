// Operations on databases over the in-memory API server: a backup from its creation to its end, one after the other, cancelled, refused,
// and through a crash at each write.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { isEnded } from '../../../src/kinds/operation-phases.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { ask, backupJobs, endBackup, operationIn, SENT, state } from '../../kit/memory/operations.ts';
import { aServer } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, crashed, gone, putStoreCredentials } from './harness.ts';

const SETTINGS = Settings.parse({
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://s3.example', bucket: 'backups' },
    image: 'registry.example/davit:1',
  },
});

async function backedUp(): Promise<MemoryController> {
  const kube = aServer();
  putStoreCredentials(kube);
  const controller = await aConverged({ sourceConfig: { database: { backup: {} } } }, kube, SETTINGS);
  controller.wake('operations');
  return controller;
}

/** Until nothing more is written for it. */
async function go(controller: MemoryController, name: string): Promise<void> {
  for (let pass = 0; pass < 10; pass += 1) {
    await controller.reconcile();
    controller.writes();
    await controller.reconcile(`team/${name}`, 'operations');
    if (controller.writes().length === 0) return;
  }
  throw new Error(`${name} does not come to rest`);
}

const finalizers = (kube: FakeKube): readonly string[] => operationIn(kube, 'now')?.metadata.finalizers ?? [];

describe('a backup', () => {
  it('is made by a Job of the CronJob, says which one it is, and at rest nothing is written', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'now');
    await go(controller, 'now');
    expect(state(kube, 'now')).toBe('Running BackupRunning');
    const [job] = backupJobs(kube);
    expect(job?.metadata.ownerReferences).toMatchObject([{ kind: 'CronJob', name: 'shop---backup', controller: true }]);
    expect(JSON.stringify(job)).toContain('"--by-hand"');
    expect(operationIn(kube, 'now')?.metadata).toMatchObject({
      finalizers: ['davit.dev/operation'],
      ownerReferences: [{ kind: 'AppDeployment', name: 'shop' }],
    });
    endBackup(kube, job);
    await go(controller, 'now');
    expect(operationIn(kube, 'now')?.status).toMatchObject({ phase: 'Succeeded', backup: SENT });
    expect(operationIn(kube, 'now')?.status?.conditions).toMatchObject([{ type: 'Complete', status: 'True' }]);
    // Nothing is left to take back, and its deletion may come when no controller runs.
    expect(finalizers(kube)).toEqual([]);
    controller.clock.ms += 3_600_000;
    await go(controller, 'now');
    expect(controller.writes()).toEqual([]);
  });

  it('that fails quotes the container, and is not tried again', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'now');
    await go(controller, 'now');
    endBackup(kube, backupJobs(kube)[0], 1, 'AccessDenied: no such key');
    await go(controller, 'now');
    expect([state(kube, 'now'), finalizers(kube)]).toEqual(['Failed BackupFailed', []]);
    const failed = operationIn(kube, 'now')?.status?.conditions?.find(({ type }) => type === 'Failed');
    expect(failed).toMatchObject({
      status: 'True',
      message: expect.stringContaining('AccessDenied: no such key') as string,
    });
    await go(controller, 'now');
    expect(backupJobs(kube)).toHaveLength(1);
  });

  it('that ended while no controller could release it is released by the next one, once', async () => {
    const { kube, stop } = await backedUp();
    ask(kube, 'now');
    const operation = operationIn(kube, 'now');
    kube.seed(DATASTORE_OPERATIONS, {
      ...operation,
      metadata: { ...operation?.metadata, finalizers: ['davit.dev/operation', 'example.com/own'] },
      status: { phase: 'Succeeded' },
    } as DatastoreOperation);
    stop();
    const next = await aController(kube, SETTINGS);
    const woken = next.wake('operations');
    expect(await woken.take()).toEqual(['team/now']);
    await next.reconcile('team/now', 'operations');
    expect([next.writes(), finalizers(kube)]).toEqual([['patch DatastoreOperation now'], ['example.com/own']]);
    for (const key of await woken.take()) await next.reconcile(key, 'operations');
    expect([next.writes(), await woken.take()]).toEqual([[], []]);
    next.stop();
    expect(await (await aController(kube, SETTINGS)).wake('operations').take()).toEqual([]);
  });

  it('waits for the one that was asked for before', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'first');
    ask(kube, 'second');
    await go(controller, 'second');
    expect(state(kube, 'second')).toBe('Pending AnotherOperation');
    await go(controller, 'first');
    expect([state(kube, 'first'), backupJobs(kube).length]).toEqual(['Running BackupRunning', 1]);
    endBackup(kube, backupJobs(kube)[0]);
    await go(controller, 'first');
    await go(controller, 'second');
    expect([state(kube, 'second'), backupJobs(kube).length]).toEqual(['Running BackupRunning', 2]);
  });

  it('costs the same however many are waiting for it', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    const woken = controller.wake('operations');
    const many = 60;
    for (let index = 0; index < many; index += 1) ask(kube, `at-${100 + index}`, { backup: { archive: true } });
    controller.writes();
    let passes = 0;
    // The youngest first, so that each round ends one; and without the timer: each begins because the one before it has ended.
    for (let keys = await woken.take(); keys.length > 0; keys = await woken.take())
      for (const key of keys.toSorted().toReversed()) {
        passes += 1;
        await controller.reconcile(key, 'operations');
      }
    const reports = controller.writes().filter((write) => write.endsWith('/status'));
    expect(kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS).filter((one) => !isEnded(one))).toEqual([]);
    expect(reports.length).toBeLessThanOrEqual(2 * many);
    expect(passes).toBeLessThanOrEqual(8 * many);
  });

  it('that has begun is not overtaken by one of the same second', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'first', { action: 'Patch', patch: { datastore: 'redis' }, accept: ['QueueLost'] });
    const first = operationIn(kube, 'first');
    if (!first) throw new Error('There is no operation.');
    const patch = { datastore: 'redis', from: 'old', to: 'new' };
    kube.seed(DATASTORE_OPERATIONS, {
      ...first,
      metadata: { ...first.metadata, finalizers: ['davit.dev/operation'] },
      status: { phase: 'Running', patch, startedAt: '2026-02-02T03:00:00Z' },
    } as DatastoreOperation);
    ask(kube, 'second');
    const second = operationIn(kube, 'second');
    const { creationTimestamp } = first.metadata;
    kube.seed(DATASTORE_OPERATIONS, {
      ...second,
      metadata: { ...second?.metadata, creationTimestamp, uid: '00000000-0000-4000-8000-000000000000' },
    } as DatastoreOperation);
    await go(controller, 'second');
    await go(controller, 'first');
    expect([state(kube, 'second'), operationIn(kube, 'first')?.status?.patch]).toEqual([
      'Pending AnotherOperation',
      patch,
    ]);
  });

  it('says that its Job gets no pod', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'now');
    await go(controller, 'now');
    const [job] = backupJobs(kube);
    kube.seed(JOBS, { ...job, status: { startTime: '2020-01-01T00:00:00Z' } } as KubeObject);
    await go(controller, 'now');
    expect(operationIn(kube, 'now')?.status?.conditions?.[0]?.message).toMatch(/has no pod yet.*kubectl describe job/);
  });

  it('of an earlier deployment of the name ends', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'now');
    const owner = { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid: 'of-before' };
    const operation = operationIn(kube, 'now');
    kube.seed(DATASTORE_OPERATIONS, {
      ...operation,
      metadata: { ...operation?.metadata, ownerReferences: [owner] },
    } as DatastoreOperation);
    await go(controller, 'now');
    expect(state(kube, 'now')).toBe('Failed DeploymentMissing');
  });

  it('is not read before its pod has been seen to end', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'now');
    await go(controller, 'now');
    const [job] = backupJobs(kube);
    endBackup(kube, job);
    const [pod] = kube
      .objects<KubeObject>(PODS)
      .filter(({ metadata }) => metadata.labels?.['davit.dev/component'] === 'backup');
    kube.seed(PODS, { ...pod, status: { phase: 'Running' } } as KubeObject);
    await go(controller, 'now');
    expect(state(kube, 'now')).toBe('Running BackupRunning');
    kube.seed(PODS, pod as KubeObject);
    await go(controller, 'now');
    expect(state(kube, 'now')).toBe('Succeeded BackupMade');
  });

  it('that the API server refuses says why, and begins when it may', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'now');
    kube.failOn(({ verb, kind }) =>
      verb === 'create' && kind === 'Job'
        ? new Forbidden('create Job', { serverMessage: 'exceeded quota: jobs' })
        : undefined,
    );
    await expect(go(controller, 'now')).rejects.toThrow(Forbidden);
    expect(state(kube, 'now')).toBe('Pending RequestRefused');
    expect(operationIn(kube, 'now')?.status?.conditions?.[0]?.message).toContain('exceeded quota: jobs');
    controller.writes();
    await expect(go(controller, 'now')).rejects.toThrow(Forbidden);
    expect(controller.writes().filter((write) => write.includes('status'))).toEqual([]);
    kube.failOn(undefined);
    await go(controller, 'now');
    expect(state(kube, 'now')).toBe('Running BackupRunning');
  });

  it('is cancelled by its deletion, and the next one begins', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'first');
    await go(controller, 'first');
    await gone(kube, DATASTORE_OPERATIONS, 'first');
    await go(controller, 'first');
    expect([operationIn(kube, 'first'), backupJobs(kube)]).toEqual([undefined, []]);
    ask(kube, 'second');
    await go(controller, 'second');
    expect(state(kube, 'second')).toBe('Running BackupRunning');
  });

  it.each([
    ['of a deployment that does not exist', { deployment: 'none' }, 'Failed DeploymentMissing'],
    ['of an archive that nobody asked for', { backup: { archive: true } }, 'Failed NotPossible'],
  ])('%s is refused', async (_what, spec, wanted) => {
    const controller = await backedUp();
    ask(controller.kube, 'now', spec);
    await go(controller, 'now');
    expect([state(controller.kube, 'now'), backupJobs(controller.kube)]).toEqual([wanted, []]);
  });

  it('of a paused deployment waits, and begins when the pause ends', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    const paused = (value: string | null): Promise<unknown> =>
      kube.mergePatch(
        APP_DEPLOYMENTS,
        { namespace: 'team', name: 'shop' },
        { metadata: { annotations: { 'davit.dev/paused': value } } },
      );
    await paused('true');
    ask(kube, 'now');
    await go(controller, 'now');
    expect([state(kube, 'now'), backupJobs(kube)]).toEqual(['Pending Paused', []]);
    await paused(null);
    await go(controller, 'now');
    expect(state(kube, 'now')).toBe('Running BackupRunning');
  });

  it('whose Job somebody deletes has failed', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    ask(kube, 'now');
    await go(controller, 'now');
    await gone(kube, JOBS, backupJobs(kube)[0]?.metadata.name ?? '');
    await go(controller, 'now');
    expect(state(kube, 'now')).toBe('Failed WorkDeleted');
  });

  it('keeps the last ten that have ended', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    for (let index = 0; index < 12; index += 1) {
      ask(kube, `at-${index}`, { backup: { archive: true } });
      await go(controller, `at-${index}`);
    }
    for (const { metadata } of kube.objects(DATASTORE_OPERATIONS))
      if (metadata.deletionTimestamp !== undefined) await go(controller, metadata.name);
    expect(kube.objects(DATASTORE_OPERATIONS).map(({ metadata }) => metadata.name)).not.toContain('at-0');
    expect(kube.objects(DATASTORE_OPERATIONS).length).toBeLessThanOrEqual(10);
  });

  it('keeps the last ten of deployments that are not there, whatever they are called, without their annotations', async () => {
    const controller = await backedUp();
    const { kube, caches } = controller;
    for (let index = 0; index < 12; index += 1) {
      ask(kube, `ghost-${index}`, { deployment: `ghost-${index}` });
      await kube.mergePatch(
        DATASTORE_OPERATIONS,
        { namespace: 'team', name: `ghost-${index}` },
        { metadata: { annotations: { 'example.com/long': 'x'.repeat(10_000) } } },
        { fieldManager: 'somebody' },
      );
      await go(controller, `ghost-${index}`);
    }
    const left = kube.objects(DATASTORE_OPERATIONS).map(({ metadata }) => metadata.name);
    expect([left.length <= 10, left.includes('ghost-0'), left.includes('ghost-11')]).toEqual([true, false, true]);
    expect(JSON.stringify(caches.operations.list())).not.toContain('xxxx');
  });
});

it.each(['failOn', 'failAfter'] as const)('a crash at any write leaves one backup: %s', async (when) => {
  for (let at = 1; at <= 4; at += 1) {
    const dying = await backedUp();
    const { kube } = dying;
    ask(kube, 'now');
    const keys = Array.from({ length: 4 }, () => 'team/now');
    await crashed({ ...dying, reconcile: (key) => dying.reconcile(key, 'operations') }, { when, at, keys });
    const next = await aController(kube, SETTINGS);
    await go(next, 'now');
    expect([at, state(kube, 'now'), backupJobs(kube).length]).toEqual([at, 'Running BackupRunning', 1]);
    endBackup(kube, backupJobs(kube)[0]);
    await go(next, 'now');
    expect(state(kube, 'now')).toBe('Succeeded BackupMade');
  }
});
