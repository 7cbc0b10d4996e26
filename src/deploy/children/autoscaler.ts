// HorizontalPodAutoscalers, which decide the number of pods of a part within the bounds of record/scale.ts.

import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { Resolved } from '../../kinds/app-revision.ts';
import { JOBS_PER_POD, type QueueDepth } from '../../kinds/queue-depth.ts';
import { workerNames } from '../../kinds/worker-parts.ts';
import type { KubeObject, Manifest } from '../../runtime/kube/client.ts';
import { selectorLabels } from '../record/labels.ts';
import { names } from '../record/names.ts';
import { autoscaledParts, followsDepth, scaleOf } from '../record/scale.ts';
import { postgresUri } from './env.ts';
import type { Inputs } from './inputs.ts';
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

// PodDisruptionBudgets of the main service and of the named workers: a drain evicts one pod at a time.

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

// KEDA's objects by which the queue workers follow the number of pending jobs. Source: keda.sh/v1alpha1, "ScaledObject" and the
// postgresql scaler.

/** Time between two queries, in seconds. */
const POLLING_SECONDS = 15;

interface WithSpec extends KubeObject {
  readonly spec: object;
}

/** None if the queue workers follow CPU and memory, or have a fixed number. */
export function makeQueueDepth(inputs: Inputs): WithSpec[] {
  const { record, revision, keda } = inputs;
  const { queueDepth } = revision.spec.requested.runtime ?? {};
  const scale = scaleOf(revision.spec.resolved, 'queue', true);
  if (!queueDepth || scale.kind !== 'range' || !followsDepth(revision.spec, keda)) return [];
  const { scaleDownWindowSeconds } = revision.spec.resolved.autoscaling;
  const { queue } = names(record.metadata.name);
  const { perPod = JOBS_PER_POD } = record.spec.sourceConfig.runtime?.queueDepth ?? queueDepth;
  const { secretName: name, secretKey: key } = postgresUri(inputs);
  return [
    {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'TriggerAuthentication',
      metadata: ownedMeta(record, queue, 'queue'),
      spec: { secretTargetRef: [{ parameter: 'connection', name, key }] },
    },
    {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: {
        ...ownedMeta(record, queue, 'queue'),
        // KEDA accepts no second autoscaler of the same pods: the one by CPU and memory goes before (deploy/plan/plan.ts).
        annotations: { 'validations.keda.sh/hpa-ownership': 'true' },
      },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: queue },
        minReplicaCount: scale.min,
        maxReplicaCount: scale.max,
        pollingInterval: POLLING_SECONDS,
        cooldownPeriod: scaleDownWindowSeconds,
        advanced: {
          horizontalPodAutoscalerConfig: {
            behavior: { scaleDown: { stabilizationWindowSeconds: scaleDownWindowSeconds } },
          },
        },
        triggers: [triggerFor(queueDepth, perPod, queue)],
      },
    },
  ];
}

/** Pods are started from zero for any number above zero. */
function triggerFor({ query }: Readonly<QueueDepth>, perPod: number, name: string): object {
  return {
    type: 'postgresql',
    metadata: {
      query,
      targetQueryValue: String(perPod),
      activationTargetQueryValue: '0',
    },
    authenticationRef: { name },
  };
}
