// The Deployment of one role.

import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { Scaled, Sized } from '../../schema/app-revision.ts';
import { AUTOSCALED_ANNOTATION, type Role, SECRETS_ANNOTATION } from '../../schema/meta.ts';
import { names } from '../record/names.ts';
import { followsDepth, scaleOf } from '../record/scale.ts';
import type { PodParts } from './contracts/contract.ts';
import type { Inputs } from './inputs.ts';
import { selectorLabels } from './labels.ts';
import type { Manifest } from './manifest.ts';
import { ownedMeta } from './owner.ts';
import { podTemplateFor } from './pod-template.ts';

/** `size`: the role's resolved values; `parts`: the parts of pods in the revision's version of the contract. */
export function makeWorkload(
  inputs: Inputs,
  role: Role,
  size: Readonly<Sized> | Readonly<Scaled>,
  image: string,
  parts: PodParts,
): Manifest<IDeployment> {
  const { record, revision, autoscaled, secretDigests } = inputs;
  const { name } = record.metadata;
  const isAutoscaled = autoscaled?.has(role) === true;
  const digest = secretDigests?.[role]?.workload;
  const annotations = {
    ...(isAutoscaled && { [AUTOSCALED_ANNOTATION]: 'true' }),
    ...(digest !== undefined && { [SECRETS_ANNOTATION]: digest }),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      ...ownedMeta(record, names(name)[role], role),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: {
      ...(!isAutoscaled && { replicas: replicasFor(inputs, role) }),
      selector: { matchLabels: selectorLabels(name, role) },
      // A pod is removed only after a new one is ready.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
      progressDeadlineSeconds: revision.spec.resolved.progressDeadlineSeconds,
      revisionHistoryLimit: 2,
      template: podTemplateFor(inputs, role, size, image, parts),
    },
  };
}

/** A workload with an autoscaler is created with the minimum, because the API server's default is 1. */
function replicasFor({ revision, keda }: Inputs, role: Role): number {
  const scale = scaleOf(revision.spec.resolved, role, followsDepth(revision.spec, keda));
  return scale.kind === 'fixed' ? scale.replicas : scale.min;
}
