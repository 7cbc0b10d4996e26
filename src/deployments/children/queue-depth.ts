// KEDA's objects by which the queue workers follow the number of pending jobs. Source: keda.sh/v1alpha1, "ScaledObject" and the
// postgresql scaler.

import type { KubeObject } from '../../lib/kube/client.ts';
import { perPodOf, type QueueDepth } from '../../schema/queue-depth.ts';
import { names } from '../record/names.ts';
import { followsDepth, scaleOf } from '../record/scale.ts';
import { postgresUri } from './env.ts';
import type { Inputs } from './inputs.ts';
import { ownedMeta } from './owner.ts';

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
        // KEDA accepts no second autoscaler of the same pods: the one by CPU and memory goes before (deployments/plan/plan.ts).
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
        triggers: [triggerFor(queueDepth, perPodOf(record.spec.sourceConfig.runtime?.queueDepth ?? queueDepth), queue)],
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
