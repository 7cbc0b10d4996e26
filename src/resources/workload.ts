// The Deployment of one role.

import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { Scaled, Sized } from '../api/app-revision.ts';
import { type Role, SECRETS_ANNOTATION } from '../api/meta.ts';
import { names } from '../record/names.ts';
import type { Inputs } from './inputs.ts';
import { selectorLabels } from './labels.ts';
import type { Made } from './made.ts';
import { ownedMeta } from './owner.ts';
import { podTemplateFor } from './pod-template.ts';

/** `size`: the role's part of the revision's resolved values; one without a scale (the executor) has one replica. */
export function makeWorkload(
  inputs: Inputs,
  role: Role,
  size: Readonly<Sized> | Readonly<Scaled>,
  image: string,
): Made<IDeployment> {
  const { record, revision, autoscaled, secretDigests } = inputs;
  const { name } = record.metadata;
  const digest = secretDigests?.[role]?.workload;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      ...ownedMeta(record, names(name)[role], role),
      ...(digest !== undefined && { annotations: { [SECRETS_ANNOTATION]: digest } }),
    },
    spec: {
      ...(!autoscaled?.has(role) && { replicas: replicasFor(size, revision.spec.resolved.server) }),
      selector: { matchLabels: selectorLabels(name, role) },
      // Serving goes on: a pod is taken away only when a new one is ready.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
      progressDeadlineSeconds: revision.spec.resolved.progressDeadlineSeconds,
      revisionHistoryLimit: 2,
      template: podTemplateFor(inputs, role, size, image),
    },
  };
}

/** Nothing runs once the main service may not; otherwise the smallest scale, at least one where any is allowed. */
function replicasFor(size: Readonly<Sized> | Readonly<Scaled>, server: Readonly<Scaled>): number {
  if (server.maxScale === 0) return 0;
  return 'maxScale' in size ? Math.min(Math.max(size.minScale, 1), size.maxScale) : 1;
}
