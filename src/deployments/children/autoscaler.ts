// HorizontalPodAutoscalers: they decide the number of pods of a part within the record's range.

import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { Resolved } from '../../schema/app-revision.ts';
import { names } from '../record/names.ts';
import { autoscaledParts, followsDepth, scaleOf } from '../record/scale.ts';
import type { Inputs } from './inputs.ts';
import type { Manifest } from './manifest.ts';
import { ownedMeta } from './owner.ts';

type Autoscaler = Manifest<IHorizontalPodAutoscaler>;
type Targets = Resolved['autoscaling'];
type Metrics = NonNullable<NonNullable<IHorizontalPodAutoscaler['spec']>['metrics']>;

/** One for each part with a range, with the name of its Deployment. */
export function makeAutoscalers(inputs: Inputs): Autoscaler[] {
  const { spec } = inputs.revision;
  const roles = autoscaledParts(spec.resolved).filter((role) => role !== 'queue' || !followsDepth(spec, inputs.keda));
  return roles.flatMap((role) => makeAutoscaler(inputs, role));
}

function makeAutoscaler({ record, revision }: Inputs, role: string): Autoscaler[] {
  const { resolved } = revision.spec;
  const scale = scaleOf(resolved, role);
  if (scale.kind !== 'range') return [];
  const { autoscaling: targets } = resolved;
  const name = names(record.metadata.name).part(role);
  return [
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: ownedMeta(record, name, role),
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
        minReplicas: scale.min,
        maxReplicas: scale.max,
        metrics: metricsFor(role, targets),
        behavior: { scaleDown: { stabilizationWindowSeconds: targets.scaleDownWindowSeconds } },
      },
    },
  ];
}

/** Only the main container counts: the usage of sidecars does not show the load of the application. */
function metricsFor(role: string, { cpuPercent, memoryPercent }: Targets): Metrics {
  const metric = (name: string, averageUtilization: number): Metrics[number] => ({
    type: 'ContainerResource',
    containerResource: { name, container: role, target: { type: 'Utilization', averageUtilization } },
  });
  return [metric('cpu', cpuPercent), metric('memory', memoryPercent)];
}
