// What a teardown waits for, says, and leaves alone.

import { expect, it, vi } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, deleteRecord, OF_VALUES, putRecord, putSecret, record } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge, takeDown } from './harness.ts';

/** As a pod that uses the volume does. */
function protectVolume(kube: FakeKube): void {
  const [claim] = kube.objects(PERSISTENT_VOLUME_CLAIMS);
  if (!claim) throw new Error('no volume');
  kube.seed(PERSISTENT_VOLUME_CLAIMS, {
    ...claim,
    metadata: { ...claim.metadata, finalizers: ['kubernetes.io/pvc-protection'] },
  });
}

async function deleted(spec: Partial<AppDeployment['spec']> = {}): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube, spec);
  const controller = await aController(kube);
  await converge(controller);
  await deleteRecord(kube);
  return controller;
}

async function toTheEnd(controller: MemoryController, passes?: number): Promise<boolean> {
  await takeDown(controller, passes);
  return controller.kube.objects(APP_DEPLOYMENTS).length === 0;
}

function waitsFor(kube: FakeKube): { message: string | undefined; stalled: string | undefined } {
  const { conditions } = record(kube).status ?? {};
  return { message: conditionOf(conditions, 'Ready')?.message, stalled: conditionOf(conditions, 'Stalled')?.status };
}

/** The caches of these kinds show nothing, as those of a process that has just taken over may. */
function lag({ caches }: MemoryController, kinds: readonly string[]): void {
  for (const [kind, cache] of caches.children) if (kinds.includes(kind)) vi.spyOn(cache, 'byLabel').mockReturnValue([]);
}

function aPod(name: string, metadata: Partial<KubeObject['metadata']>, spec: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'team',
      labels: { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'postgres' },
      ...metadata,
    },
    spec,
  } as KubeObject;
}

const OF_POSTGRES = [
  { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'shop--postgres', uid: 'set', controller: true },
];

it.each([
  { kinds: ['PersistentVolumeClaim', 'Secret'] },
  { kinds: ['PersistentVolumeClaim'] },
  { kinds: ['Secret'] },
  { kinds: ['PersistentVolumeClaim', 'Secret', 'StatefulSet', 'Deployment'] },
])('the record is not let go while the caches of $kinds lag: nothing is left without an owner', async ({ kinds }) => {
  const controller = await deleted();
  const { kube } = controller;
  lag(controller, kinds);
  expect(await toTheEnd(controller)).toBe(true);
  for (const resource of [PERSISTENT_VOLUME_CLAIMS, SECRETS, STATEFUL_SETS, DEPLOYMENTS])
    expect(kube.objects(resource), resource.kind).toEqual([]);
});

it('what is kept on request is kept, and what the caches do not show comes again soon', async () => {
  const controller = await deleted({ databaseDeletionPolicy: 'Retain' });
  lag(controller, ['Secret']);
  expect(await takeDown(controller)).toContain(1000);
  expect(controller.kube.objects(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(1);
  expect(controller.kube.objects(SECRETS).map(({ metadata }) => metadata.name)).toEqual(['shop--postgres']);
});

it('costs a few live lists at the end, and none before', async () => {
  const controller = await deleted();
  const lists = vi.spyOn(controller.kube, 'listAll');
  expect(await toTheEnd(controller)).toBe(true);
  // Clusters and ObjectStores are among them, where the cluster has CloudNativePG and its plugin.
  expect(lists.mock.calls.length).toBeLessThanOrEqual(7);
});

it('while they cannot be had the record stays, and says why', async () => {
  const controller = await deleted();
  const { kube } = controller;
  kube.failOn(({ verb, kind }) =>
    verb === 'list' && kind === 'PersistentVolumeClaim'
      ? new Unavailable('x', { serverMessage: 'etcd is slow' })
      : undefined,
  );
  await toTheEnd(controller).catch(() => undefined);
  expect(waitsFor(kube).message).toContain('etcd is slow');
  kube.failOn(undefined);
  expect(await toTheEnd(controller)).toBe(true);
});

it('volume and passwords are deleted only as they were seen', async () => {
  const controller = await deleted();
  await toTheEnd(controller);
  const bodies = controller.kube.writes.filter(
    ({ verb, kind }) => verb === 'delete' && ['Secret', 'PersistentVolumeClaim'].includes(kind),
  );
  expect(bodies.length).toBeGreaterThan(2);
  for (const { ref, body } of bodies)
    expect(body, ref.name).toMatchObject({ uid: expect.any(String), resourceVersion: expect.stringMatching(/^\d+$/) });
});

it('a volume that was changed meanwhile is looked at again before it is deleted', async () => {
  const controller = await deleted();
  const { kube } = controller;
  let changed = false;
  kube.failOn(({ verb, kind }) => {
    if (verb !== 'delete' || kind !== 'PersistentVolumeClaim' || changed) return undefined;
    changed = true;
    const [claim] = kube.objects(PERSISTENT_VOLUME_CLAIMS);
    if (claim) kube.seed(PERSISTENT_VOLUME_CLAIMS, { ...claim, metadata: { ...claim.metadata, labels: {} } });
    return undefined;
  });
  await toTheEnd(controller).catch(() => undefined);
  expect(changed).toBe(true);
  // Its labels were taken off, so that it is nobody's to delete.
  expect(kube.objects(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(1);
  expect(await toTheEnd(controller)).toBe(true);
  expect(kube.objects(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(1);
});

it('a copy that kubectl debug made keeps the labels and is not waited for', async () => {
  const controller = await deleted();
  controller.kube.seed(PODS, aPod('shop-copy', {}));
  expect(await toTheEnd(controller)).toBe(true);
});

it('a copy that uses the volume is named', async () => {
  const controller = await deleted();
  const { kube } = controller;
  protectVolume(kube);
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'shop--postgres' } }];
  kube.seed(PODS, aPod('shop-copy', {}, { nodeName: 'n1', volumes }));
  expect(await toTheEnd(controller)).toBe(false);
  expect(waitsFor(kube)).toEqual({
    message:
      'Being deleted: waiting for the deletion of the PostgreSQL volume and password. PersistentVolumeClaim shop--postgres is used by pod shop-copy on node n1. Delete that pod.',
    stalled: 'True',
  });
});

it('a volume that somebody else holds is named after a minute', async () => {
  const controller = await deleted();
  const { kube } = controller;
  protectVolume(kube);
  await toTheEnd(controller);
  const going = Date.parse(kube.objects(PERSISTENT_VOLUME_CLAIMS)[0]?.metadata.deletionTimestamp ?? '');
  controller.clock.ms = going + 1000;
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 59_001 });
  expect(waitsFor(kube).stalled).toBe('False');
  controller.clock.ms = going + 61_000;
  await controller.reconcile();
  expect(waitsFor(kube)).toMatchObject({
    message: expect.stringContaining('kubectl describe pvc shop--postgres'),
    stalled: 'True',
  });
});

it('the pod and node that are waited for are named, and what to do about a dead one once it is overdue', async () => {
  const controller = await deleted();
  const { kube } = controller;
  const pod = aPod(
    'shop--postgres-0',
    { ownerReferences: OF_POSTGRES, finalizers: ['example.com/holds'] },
    { nodeName: 'n1' },
  );
  const { uid = '' } = kube.seed(PODS, pod).metadata;
  await kube.remove(PODS, { namespace: 'team', name: 'shop--postgres-0' }, { uid });
  const ends = Date.parse(kube.objects(PODS)[0]?.metadata.deletionTimestamp ?? '');
  controller.clock.ms = ends;
  for (let pass = 0; pass < 5; pass += 1) {
    await controller.reconcile();
  }
  controller.clock.ms = ends + 1000;
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 119_000 });
  expect(waitsFor(kube)).toEqual({
    message: 'Being deleted: waiting for the deletion of PostgreSQL (pod shop--postgres-0 on node n1).',
    stalled: 'False',
  });
  controller.clock.ms += 119_000;
  await controller.reconcile();
  expect(waitsFor(kube)).toMatchObject({
    message: expect.stringContaining('but finalizers hold it (example.com/holds)'),
    stalled: 'True',
  });
  controller.writes();
  controller.clock.ms += 600_000;
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});

it.each([
  { who: 'the other record', values: 'shop--vars-1', stays: true },
  { who: 'nobody else', values: 'shop--vars-2', stays: false },
])('values that $who names: kept is $stays', async ({ values, stays }) => {
  const kube = aServer();
  putSecret(kube, 'shop--vars-1', { A: '' }, { labels: OF_VALUES });
  putRecord(kube, { secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
  putRecord(kube, { secrets: [{ name: 'A', secretName: values, secretKey: 'A' }] }, { name: 'other', labels: {} });
  const controller = await aController(kube);
  await controller.reconcile();
  await deleteRecord(kube);
  await takeDown(controller);
  expect(kube.objects(APP_DEPLOYMENTS).map(({ metadata }) => metadata.name)).toEqual(['other']);
  expect(kube.objects(SECRETS).some(({ metadata }) => metadata.name === 'shop--vars-1')).toBe(stays);
});

it('values that were sent for the next record of the name stay', async () => {
  const kube = aServer();
  putSecret(kube, 'shop--vars-1', { A: '' }, { labels: OF_VALUES });
  putRecord(kube, { secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
  const controller = await aController(kube);
  await controller.reconcile();
  await deleteRecord(kube);
  // The HTTP API writes the values before the record, which it can only create when this one is gone.
  putSecret(kube, 'shop--vars-2', { A: '' }, { labels: OF_VALUES });
  await takeDown(controller);
  expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  expect(kube.objects(SECRETS).flatMap(({ metadata: { name } }) => (name.includes('--vars-') ? [name] : []))).toEqual([
    'shop--vars-2',
  ]);
});
