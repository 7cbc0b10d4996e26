// PodDisruptionBudgets of the main service and of the named workers: a drain evicts one pod at a time.

import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { workerNames } from '../../schema/worker-parts.ts';
import { selectorLabels } from '../record/labels.ts';
import { names } from '../record/names.ts';
import { scaleOf } from '../record/scale.ts';
import type { Inputs } from './inputs.ts';
import type { Manifest } from './manifest.ts';
import { ownedMeta } from './owner.ts';

/**
 * Only for a minimum of two or more pods: for a single pod a budget would either block every drain or have no effect. It
 * limits unavailable pods, so that it applies at any scale. Pods that are not ready may always be evicted: otherwise a
 * crashing pod would block the drain of its node.
 */
export function makeDisruptionBudgets(inputs: Inputs): Manifest<IPodDisruptionBudget>[] {
  return ['server', ...workerNames(inputs.revision.spec.resolved)].flatMap((part) => budgetOf(inputs, part));
}

function budgetOf({ record, revision }: Inputs, part: string): Manifest<IPodDisruptionBudget>[] {
  const scale = scaleOf(revision.spec.resolved, part);
  const fewest = scale.kind === 'range' ? scale.min : scale.replicas;
  if (fewest < 2) return [];
  const { name } = record.metadata;
  return [
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: ownedMeta(record, names(name).part(part), part),
      spec: {
        maxUnavailable: 1,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selectorLabels(name, part) },
      },
    },
  ];
}
