// The PodDisruptionBudget of the main service: of several pods, one at a time may be moved.

import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { names } from '../record/names.ts';
import { scaleOf } from '../record/scale.ts';
import type { Inputs } from './inputs.ts';
import { selectorLabels } from './labels.ts';
import type { Manifest } from './manifest.ts';
import { ownedMeta } from './owner.ts';

/**
 * Where there are always two pods or more: for a single one a budget would either block every drain or mean nothing.
 * A number of unavailable pods, not of available ones, so that it holds at any scale; and pods that are not ready may
 * be evicted always, or one that crashes would keep its node from ever being drained.
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
