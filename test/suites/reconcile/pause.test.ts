// A pause, of one record or of all: nothing is made, changed or deleted, and what is seen is still said.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { DEPLOYMENTS, NAMESPACES, SERVICES } from '../../../src/runtime/kube/api-resources.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import {
  aServer,
  conditionIn,
  deleteNamespace,
  deleteRecord,
  edit,
  putRecord,
  record,
} from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, takeDown } from './harness.ts';

const PAUSED = Settings.parse({ paused: true });

async function converged(): Promise<FakeKube> {
  const controller = await aConverged();
  controller.stop();
  return controller.kube;
}

async function pause(kube: FakeKube): Promise<void> {
  await edit(kube, { metadata: { annotations: { 'davit.dev/paused': 'true' } } });
}

describe.each([
  { by: 'annotation', settings: undefined },
  { by: 'setting', settings: PAUSED },
])('paused by $by', ({ by, settings }) => {
  async function paused(kube: FakeKube): Promise<MemoryController> {
    if (by === 'annotation') await pause(kube);
    return aController(kube, settings);
  }

  it('a new record gets a status and nothing else', async () => {
    const kube = aServer();
    putRecord(kube, {}, by === 'annotation' ? { annotations: { 'davit.dev/paused': 'true' } } : {});
    const controller = await aController(kube, settings);
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply AppDeployment shop/status']);
    expect(conditionIn(kube, 'Stalled')).toMatchObject({ status: 'True', reason: 'Paused' });
  });

  it('neither a change nor drift is acted on; that a pod fails is still said', async () => {
    const kube = await converged();
    await edit(kube, {
      spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:9' } },
    });
    kube.erase(SERVICES, SHOP);
    const controller = await paused(kube);
    await controller.reconcile();
    const writes = controller.writes();
    expect(writes).toContain('apply AppDeployment shop/status');
    expect(writes.filter((write) => !write.endsWith('/status'))).toEqual([]);
    await kube.mergePatch(
      DEPLOYMENTS,
      SHOP,
      { status: { availableReplicas: 0, readyReplicas: 0 } },
      { subresource: 'status' },
    );
    await controller.reconcile();
    expect(record(kube).status).toMatchObject({ state: 'UNKNOWN', replicas: '0/1' });
    await controller.reconcile();
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('a scale that is not acted on is not what the status reports', async () => {
    const kube = await converged();
    const controller = await paused(kube);
    await edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } } });
    await controller.reconcile();
    expect(record(kube).status).toMatchObject({ state: 'READY', replicas: '1/1' });
    expect(conditionIn(kube, 'Available')).toMatchObject({ status: 'True' });
  });

  it('a deletion waits, says so, and goes on afterwards', async () => {
    const kube = await converged();
    const controller = await paused(kube);
    await deleteRecord(kube);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply AppDeployment shop/status']);
    expect(kube.objects(DEPLOYMENTS)).toHaveLength(1);
    expect(record(kube).status?.state).toBe('AWAITING_DELETE');
    expect(conditionIn(kube, 'Stalled')).toMatchObject({
      reason: 'Paused',
      message: expect.stringContaining('Being deleted: ') as string,
    });
    controller.stop();
    if (by === 'annotation') await edit(kube, { metadata: { annotations: { 'davit.dev/paused': null } } });
    const next = await aController(kube);
    await takeDown(next);
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  });

  it('a namespace that is being deleted is not held up', async () => {
    const kube = await converged();
    const controller = await paused(kube);
    await deleteRecord(kube);
    await deleteNamespace(kube);
    await controller.reconcile();
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  });
});

describe.each([
  ['paused', pause],
  [
    'not a tenant',
    (kube: FakeKube): Promise<unknown> =>
      kube.mergePatch(
        NAMESPACES,
        { name: 'team' },
        { metadata: { labels: { 'davit.dev/tenant': null } } },
        { fieldManager: 'person' },
      ),
  ],
])('what a person takes away of a record that is %s is not said to serve', (_how, leave) => {
  const available = (kube: FakeKube): string => {
    const { status, reason, message } = conditionIn(kube, 'Available') ?? {};
    return `${status} ${reason} ${message}`;
  };

  it('its Service', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    await leave(kube);
    await controller.reconcile();
    expect(available(kube)).toMatch(/^True Serving/);
    kube.erase(SERVICES, SHOP);
    await controller.reconcile();
    expect(available(kube)).toMatch(/^False .*/);
    expect(record(kube).status?.state).toBe('UNKNOWN');
    expect(conditionIn(kube, 'WorkloadsReady')).toMatchObject({
      status: 'False',
      message: 'Service shop is missing, so no traffic reaches the pods of the server.',
    });
  });

  it('its pods', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    await leave(kube);
    await kube.mergePatch(DEPLOYMENTS, SHOP, { spec: { replicas: 0 } }, { fieldManager: 'person' });
    await makeReady(kube);
    await controller.reconcile();
    expect(available(kube)).toMatch(/^False .*/);
    expect(conditionIn(kube, 'WorkloadsReady')).toMatchObject({
      status: 'False',
      message: 'The server was scaled to 0, but the record specifies 1 or more.',
    });
  });
});
