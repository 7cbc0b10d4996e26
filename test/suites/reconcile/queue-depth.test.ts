// Queue workers that follow the depth of their queue: who owns their number, and the way between the two autoscalers.

import { expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Forbidden, NotFound } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, record, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const FORBIDDEN = Settings.parse({ keda: { enabled: false } });
const resourceSpec = { queueMinScale: 0, queueMaxScale: 4 };
const FOLLOWING: Partial<AppDeployment['spec']> = {
  sourceConfig: { resourceSpec, runtime: { queueDepth: { query: 'SELECT 1' } } },
};

function autoscalers(kube: FakeKube): string[] {
  const found = [...kube.objects(HORIZONTAL_POD_AUTOSCALERS), ...kube.objects(SCALED_OBJECTS)];
  return found.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
}
function replicas(kube: FakeKube): number | undefined {
  return kube.objects<Workload>(DEPLOYMENTS).find(({ metadata }) => metadata.name === 'shop--queue')?.spec?.replicas;
}
/** As KEDA does, which gives its own autoscaler the labels of the ScaledObject. */
function putAutoscalerOfKeda(kube: FakeKube): void {
  const [scaled] = kube.objects(SCALED_OBJECTS);
  if (!scaled) throw new Error('no ScaledObject');
  const { name, uid = '', labels = {} } = scaled.metadata;
  kube.seed(HORIZONTAL_POD_AUTOSCALERS, {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: {
      name: `keda-hpa-${name}`,
      namespace: 'team',
      labels,
      ownerReferences: [{ apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', name, uid, controller: true }],
    },
  } as KubeObject);
}
async function scale(kube: FakeKube, to: number): Promise<void> {
  const place = { namespace: 'team', name: 'shop--queue' };
  await kube.mergePatch(DEPLOYMENTS, place, { spec: { replicas: to } }, { fieldManager: 'keda' });
}
async function change({ kube }: MemoryController, sourceConfig: object): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await kube.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { sourceConfig, revisionSerial } }, { fieldManager: 'person' });
}

it('KEDA decides from zero, and its own autoscaler stays', async () => {
  const controller = await aConverged(FOLLOWING);
  const { kube } = controller;
  expect([autoscalers(kube), replicas(kube), says(kube, 'Ready')]).toEqual([
    ['ScaledObject shop--queue'],
    0,
    'True Serving',
  ]);
  putAutoscalerOfKeda(kube);
  for (const count of [3, 0]) {
    await scale(kube, count);
    await converge(controller);
    expect(replicas(kube)).toBe(count);
  }
  expect(autoscalers(kube)).toEqual(['HorizontalPodAutoscaler keda-hpa-shop--queue', 'ScaledObject shop--queue']);
});

it('from CPU to the depth of the queue and back, with the pods that there are', async () => {
  const controller = await aConverged({ sourceConfig: { resourceSpec: { ...resourceSpec, queueMinScale: 1 } } });
  const { kube } = controller;
  expect(autoscalers(kube)).toEqual(['HorizontalPodAutoscaler shop--queue']);
  await scale(kube, 3);
  await change(controller, FOLLOWING.sourceConfig ?? {});
  await converge(controller);
  expect([autoscalers(kube), replicas(kube)]).toEqual([['ScaledObject shop--queue'], 3]);
  await scale(kube, 0);
  await converge(controller);
  await change(controller, { runtime: null });
  await converge(controller);
  // An autoscaler by CPU and memory starts nothing from zero.
  expect([autoscalers(kube), replicas(kube)]).toEqual([['HorizontalPodAutoscaler shop--queue'], 1]);
});

it("KEDA's webhook rejects a second autoscaler of the same pods: the first goes before, and nothing stops", async () => {
  const controller = await aConverged({ sourceConfig: { resourceSpec: { ...resourceSpec, queueMinScale: 1 } } });
  const { kube } = controller;
  await scale(kube, 3);
  kube.failOn(({ kind, verb }) =>
    kind === 'ScaledObject' && verb === 'apply' && kube.objects(HORIZONTAL_POD_AUTOSCALERS).length > 0
      ? new Forbidden('no', { serverMessage: "the workload is already managed by the hpa 'shop--queue'" })
      : undefined,
  );
  await change(controller, FOLLOWING.sourceConfig ?? {});
  await controller.reconcile();
  expect([autoscalers(kube), replicas(kube)]).toEqual([[], 3]);
  await converge(controller);
  expect([autoscalers(kube), replicas(kube), says(kube, 'Ready')]).toEqual([
    ['ScaledObject shop--queue'],
    3,
    'True Serving',
  ]);
});

it.each([
  { reason: 'a cluster without KEDA', settings: undefined, asks: true },
  { reason: 'a platform that forbids KEDA', settings: FORBIDDEN, asks: false },
])('$reason: it is CPU, and a minimum of one', async ({ settings, asks }) => {
  const server = aServer();
  const asked = new Set<string>();
  server.failOn(({ kind }) => {
    asked.add(kind);
    return kind === 'ScaledObject' || kind === 'TriggerAuthentication'
      ? new NotFound('the server could not find the requested resource')
      : undefined;
  });
  const { kube } = await aConverged(FOLLOWING, server, settings);
  expect([autoscalers(kube), replicas(kube), says(kube, 'ResourceSpecHonored')]).toEqual([
    ['HorizontalPodAutoscaler shop--queue'],
    1,
    'False MinimumIsOne',
  ]);
  expect(asked.has('ScaledObject')).toBe(asks);
});
