// That the walk's comparison can fail, and for what: it leaves out what an autoscaler decides, and nothing else.

import { expect, it } from 'vitest';
import { AUTOSCALED_ANNOTATION } from '../../../src/kinds/meta.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { differencesOf, picture } from './picture.ts';

type Child = KubeObject & { readonly spec?: object };

function workload(replicas: number, { autoscaled = true, more = {} } = {}): Child {
  const annotations = autoscaled ? { [AUTOSCALED_ANNOTATION]: 'true' } : {};
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop--queue', annotations },
    spec: { replicas, ...more },
  };
}
function scaled(minReplicaCount: number): Child {
  return {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: { name: 'shop--queue' },
    spec: { minReplicaCount },
  };
}

it.each<{ name: string; walked: Child[]; fresh: Child[]; says: string[] }>([
  { name: 'another number of pods by an autoscaler', walked: [workload(5)], fresh: [workload(1)], says: [] },
  {
    name: 'no pods at all, which an autoscaler never changes',
    walked: [workload(0)],
    fresh: [workload(1)],
    says: ["Deployment shop--queue.spec.hasPods: false, and a fresh record's true"],
  },
  {
    name: 'no pods where KEDA may have none',
    walked: [workload(0), scaled(0)],
    fresh: [workload(1), scaled(0)],
    says: [],
  },
  {
    name: 'no pods where KEDA keeps one',
    walked: [workload(0), scaled(1)],
    fresh: [workload(1), scaled(1)],
    says: ["Deployment shop--queue.spec.hasPods: false, and a fresh record's true"],
  },
  {
    name: 'another minimum of KEDA',
    walked: [workload(1), scaled(1)],
    fresh: [workload(1), scaled(0)],
    says: [
      "Deployment shop--queue.spec.hasPods: true, and a fresh record's nothing",
      "ScaledObject shop--queue.spec.minReplicaCount: 1, and a fresh record's 0",
    ],
  },
  {
    name: 'another template beside KEDA',
    walked: [workload(1, { more: { template: 'a' } }), scaled(0)],
    fresh: [workload(1, { more: { template: 'b' } }), scaled(0)],
    says: ['Deployment shop--queue.spec.template: "a", and a fresh record\'s "b"'],
  },
  {
    name: 'another fixed number',
    walked: [workload(2, { autoscaled: false })],
    fresh: [workload(1, { autoscaled: false })],
    says: ["Deployment shop--queue.spec.replicas: 2, and a fresh record's 1"],
  },
  {
    name: 'an autoscaler too many',
    walked: [workload(1), scaled(1)],
    fresh: [workload(1)],
    says: ['ScaledObject shop--queue is left over'],
  },
  {
    name: 'an autoscaler too few',
    walked: [workload(1)],
    fresh: [workload(1), scaled(1)],
    says: ['ScaledObject shop--queue is missing'],
  },
])('$name', ({ walked, fresh, says }) => {
  expect(differencesOf(picture(walked), picture(fresh))).toEqual(says);
});
