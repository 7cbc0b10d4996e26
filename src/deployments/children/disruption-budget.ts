// The PodDisruptionBudget of the main service: a drain evicts one pod at a time.

import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { names } from '../record/names.ts';
import { scaleOf } from '../record/scale.ts';
import type { Inputs } from './inputs.ts';
import { selectorLabels } from './labels.ts';
import type { Manifest } from './manifest.ts';
import { ownedMeta } from './owner.ts';

/**
 * Only for a minimum of two or more pods: for a single pod a budget would either block every drain or have no effect. It
 * limits unavailable pods, so that it applies at any scale. Pods that are not ready may always be evicted: otherwise a
 * crashing pod would block the drain of its node.
 */
export function makeDisruptionBudgets({ record, revision }: Inputs): Manifest<IPodDisruptionBudget>[] {
  const scale = scaleOf(revision.spec.resolved, 'server');
  const fewest = scale.kind === 'range' ? scale.min : scale.replicas;
  if (fewest < 2) return [];
  const { name } = record.metadata;
  return [
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: ownedMeta(record, names(name).disruptionBudget, 'server'),
      spec: {
        maxUnavailable: 1,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selectorLabels(name, 'server') },
      },
    },
  ];
}
