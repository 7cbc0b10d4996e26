// A size that no node has, over the in-memory API server: the database that runs is kept as it is.

import { expect, it } from 'vitest';
import { Forbidden, Unavailable } from '../../../src/lib/errors.ts';
import { NODES, STATEFUL_SETS } from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject } from '../../../src/lib/kube/client.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/schema/app-revision.ts';
import { defaultSettings } from '../../../src/schema/settings.ts';
import { type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, edit, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

async function converged(settings = defaultSettings()): Promise<MemoryController> {
  const kube = aServer();
  kube.seed(NODES, aNode('4'));
  return aConverged({}, kube, settings);
}

function aNode(cpu: string): KubeObject {
  const status = { allocatable: { cpu, memory: '16Gi' } };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'only' }, status } as KubeObject;
}

async function ask(kube: FakeKube, dbCpu: number): Promise<void> {
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { dbCpu } } } });
}

/** Refused, the pods are tried again in every pass: it never ends without a write. */
async function threePasses(controller: MemoryController): Promise<void> {
  for (let pass = 0; pass < 3; pass += 1) {
    // oxlint-disable-next-line no-await-in-loop -- passes follow one another
    await controller.reconcile();
    // oxlint-disable-next-line no-await-in-loop -- as above
    await makeReady(controller.kube);
  }
  controller.writes();
}

const database = (kube: FakeKube): string =>
  JSON.stringify(kube.objects(STATEFUL_SETS).find(({ metadata }) => metadata.name === 'shop--postgres'));

it('is not applied to a database that runs, and is when a node has it; at rest nothing is written', async () => {
  const controller = await converged();
  const { kube } = controller;
  const before = database(kube);
  await ask(kube, 60);
  await threePasses(controller);
  expect(database(kube)).toBe(before);
  expect(['Stalled', 'DatabaseReady'].map((type) => says(kube, type))).toEqual(['True NoNodeFits', 'True Answering']);
  expect(record(kube).status?.state).toBe('READY');
  expect(await controller.reconcile()).toMatchObject({ requeueAfterMs: 1000 });
  expect(controller.writes().filter((write) => !write.startsWith('try '))).toEqual([]);
  kube.seed(NODES, { ...aNode('64'), metadata: { name: 'larger' } });
  await converge(controller);
  expect([says(kube, 'Ready'), database(kube) === before]).toEqual(['True Serving', false]);
});

it('asked back to what it was, the record is Ready again', async () => {
  const controller = await converged();
  const { kube } = controller;
  const before = database(kube);
  await ask(kube, 60);
  await threePasses(controller);
  await edit(kube, { spec: { sourceConfig: { resourceSpec: null } } });
  await converge(controller);
  expect([says(kube, 'Ready'), database(kube)]).toEqual(['True Serving', before]);
});

it.each([
  { reason: 'the nodes may not be listed', settings: {}, forbidden: true },
  { reason: 'the setting is off', settings: { checkNodes: false }, forbidden: false },
])('is applied where $reason', async ({ settings, forbidden }) => {
  const controller = await converged({ ...defaultSettings(), ...settings });
  const { kube } = controller;
  const before = database(kube);
  if (forbidden)
    kube.failOn(({ verb, kind }) => (verb === 'list' && kind === 'Node' ? new Forbidden('list nodes') : undefined));
  await ask(kube, 60);
  await converge(controller);
  expect([says(kube, 'Ready'), database(kube) === before]).toEqual(['True Serving', false]);
});

it('its revision stays failed while the next one cannot be made', async () => {
  const controller = await converged();
  const { kube } = controller;
  await ask(kube, 60);
  await threePasses(controller);
  const states = (): (string | undefined)[] =>
    kube
      .objects<AppRevision>(APP_REVISIONS)
      .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration)
      .map(({ status }) => status?.state);
  expect(states()).toEqual(['DEPLOYED', 'DEPLOY_FAILED']);
  kube.failOn(({ verb, kind }) => (verb === 'create' && kind === 'AppRevision' ? new Unavailable('down') : undefined));
  await ask(kube, 1);
  await expect(controller.reconcile()).rejects.toThrow('down');
  expect(states()).toEqual(['DEPLOYED', 'DEPLOY_FAILED']);
  kube.failOn(undefined);
  await converge(controller);
  expect(states()).toEqual(['DEPLOYED', 'DEPLOY_FAILED', 'DEPLOYED']);
});
