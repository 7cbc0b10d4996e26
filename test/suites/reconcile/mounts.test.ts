// A volume that is not mounted: the kubelet says why in an event, which is asked for where a pod takes long to begin.

import { afterEach, expect, it, vi } from 'vitest';
import type { Pod } from '../../../src/deploy/assess/observed.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, REVISION_LABEL } from '../../../src/kinds/meta.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, EVENTS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import { CONTROLLER } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge } from './harness.ts';

let controller: MemoryController;
afterEach(() => controller.stop());

/** A record whose pod is on a node since the harness's time. */
async function withBeginningPod(): Promise<FakeKube> {
  const kube = aServer();
  putRecord(kube);
  controller = await aController(kube);
  await converge(controller);
  const id = kube.objects<AppRevision>(APP_REVISIONS)[0]?.spec.id ?? '';
  const since = new Date(controller.clock.ms).toISOString();
  const waiting = { waiting: { reason: 'PodInitializing' } };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'shop-1',
      namespace: 'team',
      labels: { [DEPLOYMENT_LABEL]: 'shop', [COMPONENT_LABEL]: 'server', [REVISION_LABEL]: id },
      ownerReferences: [CONTROLLER],
    },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: since }],
      initContainerStatuses: [{ name: 'wait-for-database', state: waiting }],
      containerStatuses: [{ name: 'server', state: waiting }],
    },
  };
  const { uid } = kube.seed(PODS, pod).metadata;
  const said = (note: string): void =>
    void kube.seed(EVENTS, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `shop-1.${note.length}`, namespace: 'team' },
      reason: 'FailedMount',
      regarding: { uid },
      note,
    } as KubeObject);
  said('Unable to attach or mount volumes: timed out');
  said('MountVolume.SetUp failed for volume "v" : configmap "settings" not found');
  await kube.mergePatch(
    DEPLOYMENTS,
    { namespace: 'team', name: 'shop' },
    { status: { replicas: 1, updatedReplicas: 1, readyReplicas: 0, availableReplicas: 0 } },
    { fieldManager: 'kube-controller-manager', subresource: 'status' },
  );
  controller.writes();
  return kube;
}

function workloads(kube: FakeKube): { reason?: string; message?: string } | undefined {
  return conditionOf(kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0]?.status?.conditions, 'WorkloadsReady');
}

it('is asked about after a moment, ever more seldom, and said', async () => {
  const kube = await withBeginningPod();
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 2000 });
  expect(workloads(kube)?.reason).toBe('Progressing');
  controller.clock.ms += 2000;
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 2000 });
  expect(workloads(kube)).toMatchObject({
    reason: 'VolumeNotMounted',
    message: expect.stringContaining('configmap "settings" not found'),
  });
  controller.writes();
  controller.clock.ms += 6000;
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 8000 });
  expect(controller.writes()).toEqual([]);
});

it('is forgotten once the pod begins, and asked about no more', async () => {
  const kube = await withBeginningPod();
  controller.clock.ms += 5000;
  await controller.reconcile();
  await kube.mergePatch(
    PODS,
    { namespace: 'team', name: 'shop-1' },
    { status: { initContainerStatuses: [{ name: 'wait-for-database', state: { running: {} } }] } },
    { fieldManager: 'kubelet', subresource: 'status' },
  );
  kube.failOn(({ verb, kind }) => (verb === 'list' && kind === 'Event' ? new Error('asked') : undefined));
  // Only the limit of a deployment without a ready pod is waited for.
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 300_000 });
  expect(workloads(kube)?.reason).toBe('Progressing');
});

it('costs one list for many looks, and none in the steady state', async () => {
  const kube = await withBeginningPod();
  const list = vi.spyOn(kube, 'list');
  controller.clock.ms += 2000;
  for (let pass = 0; pass < 20; pass += 1) {
    await controller.reconcile();
    controller.clock.ms += 50;
  }
  expect(list.mock.calls).toHaveLength(1);
  expect(workloads(kube)?.reason).toBe('VolumeNotMounted');
  kube.erase(PODS, { namespace: 'team', name: 'shop-1' });
  controller.clock.ms += 60_000;
  await controller.reconcile();
  expect(list.mock.calls).toHaveLength(1);
});

it('that cannot be asked about is reported all the same, and not asked about at every look', async () => {
  const kube = await withBeginningPod();
  let asked = 0;
  kube.failOn(({ verb, kind }) => {
    if (verb !== 'list' || kind !== 'Event') return undefined;
    asked += 1;
    return new Unavailable('events are slow');
  });
  controller.clock.ms += 2000;
  for (let pass = 0; pass < 5; pass += 1) {
    await controller.reconcile();
  }
  expect(asked).toBe(1);
  expect(workloads(kube)).toMatchObject({ reason: 'Progressing' });
});
