// Whether a deletion deletes the database, for records that do not say so themselves.

import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeploymentStatus } from '../../../src/kinds/app-deployment.ts';
import { defaultSettings, Settings } from '../../../src/kinds/settings.ts';
import { PERSISTENT_VOLUME_CLAIMS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, deleteRecord, edit, putRecord, record } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge, takeDown } from './harness.ts';

const DELETES = Settings.parse({ database: { deletionPolicy: 'Delete' } });
const KEPT = ['PersistentVolumeClaim shop--postgres', 'Secret shop--postgres'];

/** A record without a policy. */
async function begun(settings = defaultSettings(), status?: AppDeploymentStatus): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube, { databaseDeletionPolicy: undefined });
  if (status) kube.seed(APP_DEPLOYMENTS, { ...record(kube), status });
  const controller = await aController(kube, settings);
  await converge(controller);
  return controller;
}

function says(kube: FakeKube): unknown {
  const { databaseDeletionPolicy: now, databaseDeletionDefault: otherwise } = record(kube).status ?? {};
  return { now, otherwise };
}

/** What a deletion leaves of the database. */
async function leavesOf(controller: MemoryController): Promise<string[]> {
  const { kube } = controller;
  await deleteRecord(kube);
  await takeDown(controller);
  expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  return databaseIn(kube);
}

function databaseIn(kube: FakeKube): string[] {
  return [PERSISTENT_VOLUME_CLAIMS, SECRETS]
    .flatMap((resource) => kube.objects(resource))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .filter((name) => name.endsWith('--postgres'));
}

it('the database of a new record stays', async () => {
  const controller = await begun();
  expect(says(controller.kube)).toEqual({ now: 'Retain', otherwise: 'Retain' });
  expect(await leavesOf(controller)).toEqual(KEPT);
});

it('the database is deleted where the platform says so', async () => {
  const controller = await begun(DELETES);
  expect(says(controller.kube)).toEqual({ now: 'Delete', otherwise: 'Delete' });
  expect(await leavesOf(controller)).toEqual([]);
});

it('a record with a status of before keeps Delete', async () => {
  const controller = await begun(defaultSettings(), { state: 'READY' });
  expect(says(controller.kube)).toEqual({ now: 'Delete', otherwise: 'Delete' });
  expect(await leavesOf(controller)).toEqual([]);
});

it('a record that is deleted before its first status follows the settings', async () => {
  const kube = aServer();
  putRecord(kube, { databaseDeletionPolicy: undefined });
  const controller = await aController(kube);
  kube.failOn(({ subresource }) => (subresource === 'status' ? new Error('the controller ends here') : undefined));
  await controller.reconcile().catch(() => undefined);
  kube.failOn(undefined);
  expect(record(kube).status?.state).toBeUndefined();
  expect(await leavesOf(controller)).toEqual(KEPT);
});

it('other settings change nothing for a record that has begun', async () => {
  const controller = await begun();
  const later = await aController(controller.kube, DELETES);
  await converge(later);
  expect(says(later.kube)).toEqual({ now: 'Retain', otherwise: 'Retain' });
  expect(await leavesOf(later)).toEqual(KEPT);
});

it('a tool that writes the record back takes away what a person has set, and the status does not flap', async () => {
  const controller = await begun();
  const { kube } = controller;
  await edit(kube, { spec: { databaseDeletionPolicy: 'Delete' } });
  await converge(controller);
  expect(says(kube)).toEqual({ now: 'Delete', otherwise: 'Retain' });
  await edit(kube, { spec: { databaseDeletionPolicy: null } });
  await converge(controller);
  expect(says(kube)).toEqual({ now: 'Retain', otherwise: 'Retain' });
  for (const _again of [1, 2, 3]) {
    await edit(kube, { spec: { databaseDeletionPolicy: null } });
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  }
  expect(await leavesOf(controller)).toEqual(KEPT);
});

it.each([
  ['Delete', 'Retain', KEPT],
  ['Retain', 'Delete', []],
] as const)('%s becomes %s in the middle of a deletion', async (before, after, left) => {
  const controller = await begun();
  const { kube } = controller;
  await edit(kube, { spec: { databaseDeletionPolicy: before } });
  await converge(controller);
  await deleteRecord(kube);
  await takeDown(controller, 2);
  expect(kube.objects(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(1);
  await edit(kube, { spec: { databaseDeletionPolicy: after } });
  await takeDown(controller);
  expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  expect(databaseIn(kube)).toEqual(left);
});
