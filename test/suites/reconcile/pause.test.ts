// A pause, of one record or of all: nothing is made, changed or deleted, and what is seen is still said.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/api/app-deployment.ts';
import { conditionOf } from '../../../src/api/conditions.ts';
import { Settings } from '../../../src/api/settings.ts';
import { DEPLOYMENTS, NAMESPACES, SERVICES } from '../../../src/kube/api-resources.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aController, aConverged, aServer, type Harness, putRecord, record, SHOP } from './harness.ts';

const PAUSED = Settings.parse({ paused: true });

async function converged(): Promise<FakeKube> {
  const controller = await aConverged();
  controller.stop();
  return controller.kube;
}

async function pause(kube: FakeKube): Promise<void> {
  await kube.mergePatch(APP_DEPLOYMENTS, SHOP, { metadata: { annotations: { 'davit.dev/paused': 'true' } } });
}

describe.each([
  { by: 'annotation', settings: undefined },
  { by: 'setting', settings: PAUSED },
])('paused by $by', ({ by, settings }) => {
  async function paused(kube: FakeKube): Promise<Harness> {
    if (by === 'annotation') await pause(kube);
    return aController(kube, settings);
  }

  it('a new record gets a status and nothing else', async () => {
    const kube = aServer();
    putRecord(kube, {}, by === 'annotation' ? { annotations: { 'davit.dev/paused': 'true' } } : {});
    const controller = await aController(kube, settings);
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply AppDeployment shop/status']);
    expect(conditionOf(record(kube).status?.conditions, 'Stalled')).toMatchObject({ status: 'True', reason: 'Paused' });
  });

  it('neither a change nor drift is acted on; that a pod fails is still said', async () => {
    const kube = await converged();
    await kube.mergePatch(APP_DEPLOYMENTS, SHOP, {
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

  it('a deletion waits, says so, and goes on afterwards', async () => {
    const kube = await converged();
    const controller = await paused(kube);
    await kube.remove(APP_DEPLOYMENTS, SHOP, { uid: record(kube).metadata.uid ?? '' });
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply AppDeployment shop/status']);
    expect(kube.objects(DEPLOYMENTS)).toHaveLength(1);
    expect(record(kube).status?.state).toBe('AWAITING_DELETE');
    expect(conditionOf(record(kube).status?.conditions, 'Stalled')).toMatchObject({
      reason: 'Paused',
      message: expect.stringContaining('Being deleted: ') as string,
    });
    controller.stop();
    if (by === 'annotation')
      await kube.mergePatch(APP_DEPLOYMENTS, SHOP, { metadata: { annotations: { 'davit.dev/paused': null } } });
    const next = await aController(kube);
    for (let pass = 0; pass < 12 && kube.objects(APP_DEPLOYMENTS).length > 0; pass += 1) {
      // oxlint-disable-next-line no-await-in-loop -- the teardown goes step by step
      await next.reconcile();
      kube.collectGarbage();
    }
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  });

  it('a namespace that is being deleted is not held up', async () => {
    const kube = await converged();
    const controller = await paused(kube);
    await kube.remove(APP_DEPLOYMENTS, SHOP, { uid: record(kube).metadata.uid ?? '' });
    await kube.remove(NAMESPACES, { name: 'team' }, { uid: kube.objects(NAMESPACES)[0]?.metadata.uid ?? '' });
    await controller.reconcile();
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  });
});
