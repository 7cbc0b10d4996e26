// A record that another cluster is to run: it must name a Listener of its tenant, and is then left alone.

import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/api/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/api/app-revision.ts';
import { LISTENERS, type Listener } from '../../../src/api/listener.ts';
import { TRACING_PROJECTS } from '../../../src/api/tracing-project.ts';
import { enqueueOnChange } from '../../../src/controller/app-deployment/watches.ts';
import { DEPLOYMENTS } from '../../../src/kube/api-resources.ts';
import { makeMetrics } from '../../../src/runtime/metrics.ts';
import { makeWorkQueue } from '../../../src/runtime/work-queue.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aController, aServer, converge, KEY, putRecord } from './harness.ts';

const UID = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
function listen(kube: FakeKube, namespaces: string[], namespace = 'team'): void {
  kube.seed<Listener>(LISTENERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace, uid: UID },
    spec: { namespaces },
  });
}
function said(kube: FakeKube): (string | undefined)[] {
  const [record] = kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  const reason = (type: string): string | undefined =>
    record?.status?.conditions?.find((condition) => condition.type === type)?.reason;
  return [record?.status?.state, reason('PolicyAccepted'), reason('Stalled')];
}

it("is told of a Listener that is not there, not the tenant's, or does not list the namespace; then it is left alone", async () => {
  const kube = aServer();
  listen(kube, ['shops'], 'another-team');
  putRecord(kube, { sourceConfig: { listenerId: UID, listenerConfig: { k8sNamespace: 'shops' } } });
  const controller = await aController(kube);
  await converge(controller);
  expect(said(kube)).toEqual(['UNKNOWN', 'ListenerNotFound', 'ListenerNotFound']);
  kube.erase(LISTENERS, { namespace: 'another-team', name: 'edge' });

  const queue = makeWorkQueue({ name: 'test', metrics: makeMetrics() });
  const sleepAgain = enqueueOnChange(controller.caches, queue, controller.hosts);
  listen(kube, ['tools']);
  expect(await queue.take()).toBe(KEY);
  sleepAgain();
  await converge(controller);
  expect(said(kube)).toEqual(['UNKNOWN', 'ListenerNotFound', 'ListenerNotFound']);

  listen(kube, ['tools', 'shops']);
  await converge(controller);
  expect(said(kube)).toEqual(['UNKNOWN', 'Accepted', 'ListenerSilent']);
  expect([DEPLOYMENTS, APP_REVISIONS, TRACING_PROJECTS].flatMap((resource) => kube.objects(resource))).toEqual([]);
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});
