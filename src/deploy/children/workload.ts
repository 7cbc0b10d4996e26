// The workload of one part: a Deployment, or of a singleton a StatefulSet.

import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { Scaled, Sized } from '../../kinds/app-revision.ts';
import { AUTOSCALED_ANNOTATION, SECRETS_ANNOTATION } from '../../kinds/meta.ts';
import { ownValue } from '../../runtime/json-value.ts';
import type { Manifest } from '../../runtime/kube/client.ts';
import { healthOf } from '../record/health.ts';
import { selectorLabels } from '../record/labels.ts';
import { names } from '../record/names.ts';
import { isSingleton } from '../record/parts.ts';
import { followsDepth, scaleOf } from '../record/scale.ts';
import { withApiToken } from './api-token.ts';
import type { PodParts } from './contracts/contract.ts';
import type { Inputs } from './inputs.ts';
import { ownedMeta } from './owner.ts';
import { podTemplateFor } from './pod-template.ts';

/** Time that a container of which nothing is asked has to run before its pod counts, in seconds: one that exits at once must not. */
const UNASKED_SECONDS = 10;

/** `size`: the part's resolved values; `parts`: the parts of pods in the revision's version of the contract. */
export function makeWorkload(
  inputs: Inputs,
  part: string,
  size: Readonly<Sized> | Readonly<Scaled>,
  image: string,
  parts: PodParts,
): Manifest<IDeployment> | Manifest<IStatefulSet> {
  const { record, revision, autoscaled, secretDigests = {} } = inputs;
  const { resolved } = revision.spec;
  const { name } = record.metadata;
  const isAutoscaled = autoscaled?.has(part) === true;
  const digest = ownValue(secretDigests, part)?.workload;
  const annotations = {
    ...(isAutoscaled && { [AUTOSCALED_ANNOTATION]: 'true' }),
    ...(digest !== undefined && { [SECRETS_ANNOTATION]: digest }),
  };
  const metadata = {
    ...ownedMeta(record, names(name).part(part), part),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
  const selector = { matchLabels: selectorLabels(name, part) };
  const template = withApiToken(podTemplateFor(inputs, part, size, image, parts), resolved.api);
  const unasked = healthOf(revision.spec, part).none && { minReadySeconds: UNASKED_SECONDS };
  if (isSingleton(resolved, part))
    return {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata,
      // The name of its pod is taken until the pod has ended, also where its node is lost: no other one starts before.
      spec: {
        replicas: replicasFor(inputs, part),
        serviceName: metadata.name,
        selector,
        // A pod that does not become ready is replaced as well when the template is corrected.
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate' },
        ...unasked,
        revisionHistoryLimit: 2,
        template,
      },
    };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      ...(!isAutoscaled && { replicas: replicasFor(inputs, part) }),
      selector,
      // A pod is removed only after a new one is ready.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
      ...unasked,
      progressDeadlineSeconds: resolved.progressDeadlineSeconds,
      revisionHistoryLimit: 2,
      template,
    },
  };
}

/** A workload with an autoscaler is created with the minimum, because the API server's default is 1. */
function replicasFor({ revision, keda }: Inputs, part: string): number {
  const scale = scaleOf(revision.spec.resolved, part, followsDepth(revision.spec, keda));
  return scale.kind === 'fixed' ? scale.replicas : scale.min;
}
