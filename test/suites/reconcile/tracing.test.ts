// The tracing project of a record: made or taken up, never changed, and deleted only where that is asked for.

import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { TRACING_PROJECTS, type TracingProject } from '../../../src/kinds/tracing-project.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, deleteRecord, putRecord } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge, takeDown } from './harness.ts';

function projects(kube: FakeKube): TracingProject[] {
  return kube.objects<TracingProject>(TRACING_PROJECTS);
}
function uidOfRecord(kube: FakeKube): string {
  return kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0]?.metadata.uid ?? '';
}
async function teardown(controller: MemoryController): Promise<void> {
  await deleteRecord(controller.kube);
  await takeDown(controller);
  expect(controller.kube.objects(APP_DEPLOYMENTS)).toEqual([]);
}
/** One that somebody made before the record. */
function aServerWithProject(): FakeKube {
  const kube = aServer();
  kube.seed<TracingProject>(TRACING_PROJECTS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'TracingProject',
    metadata: { name: 'shop', namespace: 'team', labels: { theirs: 'yes' } },
    spec: { description: 'Ours for years.' },
  });
  return kube;
}

it('one of that name is taken up as it is, and outlives the record', async () => {
  const kube = aServerWithProject();
  const [before] = projects(kube);
  putRecord(kube);
  const controller = await aController(kube);
  await converge(controller);
  expect(projects(kube)).toMatchObject([
    { metadata: { uid: before?.metadata.uid, labels: { theirs: 'yes' } }, spec: { description: 'Ours for years.' } },
  ]);
  expect(projects(kube)[0]?.status?.deploymentUid).toBe(uidOfRecord(kube));
  await teardown(controller);
  expect(projects(kube)[0]?.metadata.uid).toBe(before?.metadata.uid);
});

it('a record recreated takes up that of the one before', async () => {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  await converge(controller);
  const [first] = projects(kube);
  await teardown(controller);
  putRecord(kube, {}, { uid: '99999999-9999-4999-8999-999999999999' });
  await converge(controller);
  expect(projects(kube)).toMatchObject([
    { metadata: { uid: first?.metadata.uid }, status: { deploymentUid: '99999999-9999-4999-8999-999999999999' } },
  ]);
});

it('goes with the record where that is asked for, whoever made it, and last of all', async () => {
  const kube = aServerWithProject();
  putRecord(kube, { tracingProjectDeletionPolicy: 'Delete' });
  const controller = await aController(kube);
  await converge(controller);
  controller.writes();
  await teardown(controller);
  expect(projects(kube)).toEqual([]);
  const deletions = controller.writes().filter((write) => write.startsWith('delete'));
  expect(deletions.at(-1)).toBe('delete TracingProject shop');
});

it('one that a person deletes comes back', async () => {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  await converge(controller);
  kube.erase(TRACING_PROJECTS, { namespace: 'team', name: 'shop' });
  await converge(controller);
  expect(projects(kube)).toHaveLength(1);
});
