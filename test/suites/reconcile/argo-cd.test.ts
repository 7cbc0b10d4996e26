// An Application of Argo CD with the record's name, over the in-memory API server: nothing that Davit creates is pruned by it.

import { expect, it } from 'vitest';
import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  JOBS,
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/lib/kube/client.ts';
import { TRACING_PROJECTS } from '../../../src/schema/tracing-project.ts';
import { isExempt, isTracked } from '../../support/argo-cd.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const WITHOUT_OWNER = [PERSISTENT_VOLUME_CLAIMS, SECRETS, TRACING_PROJECTS];
const KINDS = [
  ...WITHOUT_OWNER,
  DEPLOYMENTS,
  STATEFUL_SETS,
  SERVICES,
  NETWORK_POLICIES,
  JOBS,
  HORIZONTAL_POD_AUTOSCALERS,
  POD_DISRUPTION_BUDGETS,
];

function everything(kube: FakeKube): KubeObject[] {
  return KINDS.flatMap((kind) => kube.objects(kind));
}
function withoutOwner(kube: FakeKube): (KubeObject & { of: Resource })[] {
  return WITHOUT_OWNER.flatMap((of) => kube.objects(of).map((object) => ({ ...object, of })));
}
function names(objects: readonly KubeObject[]): string[] {
  return objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}

const KEPT = [
  'PersistentVolumeClaim shop--postgres',
  'Secret shop--postgres',
  'Secret shop--redis',
  'TracingProject shop',
];

it('tracks nothing of a deployment, and what has no owner is exempt from pruning and deletion', async () => {
  const { kube } = await aConverged();
  expect(everything(kube).length).toBeGreaterThan(8);
  expect(names(everything(kube).filter((object) => isTracked(object, 'shop')))).toEqual([]);
  expect(names(withoutOwner(kube).filter(isExempt))).toEqual(KEPT);
});

it('what an earlier version has labelled follows once, and no pod is replaced', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  for (const { of, metadata } of withoutOwner(kube)) {
    const earlier = {
      metadata: {
        labels: { 'app.kubernetes.io/instance': 'shop' },
        annotations: { 'argocd.argoproj.io/sync-options': null },
      },
    };
    // oxlint-disable-next-line no-await-in-loop -- a few
    await kube.mergePatch(of, { namespace: 'team', name: metadata.name }, earlier, { fieldManager: 'davit' });
  }
  expect(names(withoutOwner(kube).filter((object) => isTracked(object, 'shop')))).toEqual(KEPT);
  const workloads = JSON.stringify([kube.objects(DEPLOYMENTS), kube.objects(STATEFUL_SETS)]);
  controller.writes();
  await converge(controller);
  expect(names(everything(kube).filter((object) => isTracked(object, 'shop')))).toEqual([]);
  expect(names(withoutOwner(kube).filter(isExempt))).toEqual(KEPT);
  expect(JSON.stringify([kube.objects(DEPLOYMENTS), kube.objects(STATEFUL_SETS)])).toBe(workloads);
  controller.writes();
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});

it('a tracing project that an Application of that name has in Git keeps its label', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const inGit = {
    labels: {
      'app.kubernetes.io/instance': 'shop',
      'app.kubernetes.io/managed-by': null,
      'app.kubernetes.io/name': null,
    },
  };
  const place = { namespace: 'team', name: 'shop' };
  await kube.mergePatch(TRACING_PROJECTS, place, { metadata: inGit }, { fieldManager: 'argocd' });
  await converge(controller);
  expect(kube.objects(TRACING_PROJECTS)[0]?.metadata.labels).toMatchObject({ 'app.kubernetes.io/instance': 'shop' });
});
