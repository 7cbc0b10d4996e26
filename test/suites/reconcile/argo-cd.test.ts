// An Application of Argo CD with the record's name, over the in-memory API server: nothing that Davit creates is pruned by it.

import { expect, it } from 'vitest';
import { TRACING_PROJECTS } from '../../../src/kinds/tracing-project.ts';
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
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { isExempt, isTracked } from '../../support/argo-cd.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged } from './harness.ts';

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
function withoutOwner(kube: FakeKube): KubeObject[] {
  return WITHOUT_OWNER.flatMap((kind) => kube.objects(kind));
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
