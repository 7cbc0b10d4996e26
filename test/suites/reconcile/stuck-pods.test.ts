// A pod of a PostgreSQL that cannot start and that its StatefulSet keeps, over the in-memory API server: it goes once the
// template was corrected, as it was seen and not otherwise.

import { expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { Conflict } from '../../../src/runtime/errors.ts';
import { PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge } from './harness.ts';

const DATABASE = { namespace: 'team', name: 'shop--postgres' };
const POD = 'shop--postgres-0';

function setOf(kube: FakeKube): Workload {
  const found = kube.objects<Workload>(STATEFUL_SETS).find(({ metadata }) => metadata.name === DATABASE.name);
  if (!found) throw new Error('There is no StatefulSet.');
  return found;
}

/** As the StatefulSet controller does: a pod of the template, which no node takes. */
function putPod(kube: FakeKube, template: string): void {
  const { metadata } = setOf(kube);
  kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: POD,
      namespace: 'team',
      labels: { ...metadata.labels, 'controller-revision-hash': template },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: metadata.name, uid: metadata.uid ?? '', controller: true },
      ],
    },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  } as KubeObject);
}

async function setStatus(kube: FakeKube, updateRevision: string): Promise<void> {
  const observedGeneration = setOf(kube).metadata.generation;
  const status = { observedGeneration, replicas: 1, readyReplicas: 0, currentRevision: 'good', updateRevision };
  await kube.mergePatch(STATEFUL_SETS, DATABASE, { status }, { subresource: 'status' });
}

async function askFor(kube: FakeKube, dbCpu: number): Promise<void> {
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { dbCpu } } } });
}

function pods(kube: FakeKube): string[] {
  return kube.objects(PODS).map(({ metadata }) => metadata.name);
}

/** The template asks for more than any node has, and the pod of it is there. */
async function stuck(): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  await converge(controller);
  await askFor(kube, 60);
  await controller.reconcile();
  putPod(kube, 'bad');
  await setStatus(kube, 'bad');
  await controller.reconcile();
  controller.writes();
  return controller;
}

it('keeps the pod while it is of the template that is wanted, and deletes it when the corrected one was seen', async () => {
  const controller = await stuck();
  const { kube } = controller;
  await askFor(kube, 0.1);
  await controller.reconcile();
  expect([pods(kube), controller.writes().filter((write) => write.startsWith('delete Pod'))]).toEqual([[POD], []]);
  await setStatus(kube, 'good');
  controller.writes();
  await controller.reconcile();
  expect(pods(kube)).toEqual([]);
  expect(controller.writes().filter((write) => write.startsWith('delete'))).toEqual([`delete Pod ${POD}`]);
});

it('leaves a pod that has started since it was seen', async () => {
  const controller = await stuck();
  const { kube } = controller;
  await askFor(kube, 0.1);
  await controller.reconcile();
  await setStatus(kube, 'good');
  let started = false;
  kube.failOn(async ({ verb, kind }) => {
    if (verb !== 'delete' || kind !== 'Pod' || started) return undefined;
    started = true;
    await kube.mergePatch(
      PODS,
      { namespace: 'team', name: POD },
      { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
      { subresource: 'status' },
    );
    return undefined;
  });
  await expect(controller.reconcile()).rejects.toThrow(Conflict);
  await controller.reconcile();
  expect(pods(kube)).toEqual([POD]);
});

it('a paused record keeps it', async () => {
  const controller = await stuck();
  const { kube } = controller;
  await askFor(kube, 0.1);
  await controller.reconcile();
  await edit(kube, { metadata: { annotations: { 'davit.dev/paused': 'true' } } });
  await setStatus(kube, 'good');
  await controller.reconcile();
  expect(pods(kube)).toEqual([POD]);
});
