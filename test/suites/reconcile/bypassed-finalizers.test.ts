// A record that is deleted in the moment in which it gets its finalizer: the API server lets it go at once
// (kubernetes/kubernetes#77988), while the pass under way makes its children.

import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { TRACING_PROJECTS } from '../../../src/kinds/tracing-project.ts';
import { Conflict, Forbidden } from '../../../src/runtime/errors.ts';
import { BUILT_IN_RESOURCES, NAMESPACES, PERSISTENT_VOLUME_CLAIMS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, KEY, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord, record } from '../../kit/memory/record.ts';
import { converge } from './harness.ts';

const OF_A_RECORD = [...BUILT_IN_RESOURCES, APP_REVISIONS, TRACING_PROJECTS].filter((one) => one !== NAMESPACES);

/** The first pass over a record that goes, finalizer and all, as soon as the first of its objects has been made. */
async function vanished(spec: Partial<AppDeployment['spec']> = {}): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube, spec);
  const controller = await aController(kube);
  kube.failAfter(({ verb, kind }) => {
    if (verb === 'create' && kind === 'TracingProject') kube.erase(APP_DEPLOYMENTS, SHOP);
    return undefined;
  });
  await controller.reconcile();
  kube.failAfter(undefined);
  expect(left(controller)).toContain('PersistentVolumeClaim shop--postgres');
  return controller;
}

function left({ kube }: MemoryController): string[] {
  kube.collectGarbage();
  return OF_A_RECORD.flatMap((resource) => kube.objects(resource))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .toSorted();
}

it('nothing is left but the tracing project, and it is at rest', async () => {
  const controller = await vanished();
  controller.writes();
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 2000 });
  expect(left(controller)).toEqual(['TracingProject shop']);
  expect(controller.writes()).toContain('delete PersistentVolumeClaim shop--postgres');
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});

it('a volume that changes in the moment of its deletion is deleted soon after', async () => {
  const controller = await vanished();
  controller.kube.failOn(({ verb, kind }) =>
    verb === 'delete' && kind === 'PersistentVolumeClaim' ? new Conflict('the object has been modified') : undefined,
  );
  await expect(controller.reconcile()).rejects.toThrow(Conflict);
  expect(left(controller)).toContain('PersistentVolumeClaim shop--postgres');
  controller.kube.failOn(undefined);
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 2000 });
  expect(left(controller)).toEqual(['TracingProject shop']);
});

it('a refused deletion is logged and retried, and the next record of the name is reported', async () => {
  const controller = await vanished();
  const { kube } = controller;
  kube.failOn(({ verb, kind }) =>
    verb === 'delete' && kind === 'PersistentVolumeClaim'
      ? new Forbidden('forbidden', { serverMessage: 'no volume goes' })
      : undefined,
  );
  await expect(controller.reconcile()).rejects.toThrow('no volume goes');
  putRecord(kube);
  await expect(controller.reconcile()).rejects.toThrow('no volume goes');
  expect(record(kube).status?.conditions).not.toBeUndefined();
});

it('what arrives later goes too; after half a minute nobody looks any more', async () => {
  const controller = await vanished();
  const [claim] = controller.kube.objects(PERSISTENT_VOLUME_CLAIMS);
  if (!claim) throw new Error('no volume was made');
  await controller.reconcile();
  const { name, namespace, labels } = claim.metadata;
  controller.kube.seed(PERSISTENT_VOLUME_CLAIMS, { ...claim, metadata: { name, namespace, labels } } as KubeObject);
  controller.clock.ms += 29_000;
  expect(await controller.reconcile()).toEqual({ requeueAfterMs: 2000 });
  expect(left(controller)).toEqual(['TracingProject shop']);
  controller.clock.ms += 2000;
  expect(await controller.reconcile()).toEqual({});
});

it('what the record wants kept is kept, and what it wants deleted is deleted', async () => {
  const controller = await vanished({ databaseDeletionPolicy: 'Retain', tracingProjectDeletionPolicy: 'Delete' });
  await controller.reconcile();
  expect(left(controller)).toEqual(['PersistentVolumeClaim shop--postgres', 'Secret shop--postgres']);
});

it('the next record of the name gets its own', async () => {
  const controller = await vanished();
  putRecord(controller.kube);
  await controller.reconcile();
  left(controller);
  await converge(controller);
  expect(record(controller.kube).status?.state).toBe('READY');
  const { uid } = record(controller.kube).metadata;
  const claim = controller.kube.objects(PERSISTENT_VOLUME_CLAIMS)[0];
  expect(claim?.metadata.labels?.['davit.dev/deployment-uid']).toBe(uid);
});

it('whoever takes the finalizer off keeps what there is', async () => {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  await converge(controller);
  await edit(kube, { metadata: { finalizers: [] } });
  kube.erase(APP_DEPLOYMENTS, SHOP);
  controller.writes();
  await controller.reconcile(KEY);
  expect(controller.writes()).toEqual([]);
  expect(left(controller)).toContain('PersistentVolumeClaim shop--postgres');
});

it('a record that is only missing from a list may have lost its finalizer by hand: nothing is deleted', async () => {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  await converge(controller);
  kube.failOn(({ verb, kind }) => (verb === 'watch' && kind === 'AppDeployment' ? new Error('later') : undefined));
  kube.endWatches();
  kube.erase(APP_DEPLOYMENTS, SHOP);
  kube.compact();
  kube.failOn(undefined);
  controller.writes();
  await expect.poll(() => controller.caches.records.get(SHOP), { timeout: 60_000 }).toBeUndefined();
  await controller.reconcile(KEY);
  expect(controller.writes()).toEqual([]);
  expect(left(controller)).toContain('PersistentVolumeClaim shop--postgres');
});
