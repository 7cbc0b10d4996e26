// The pods that run a record's image. All roles have the same template, except for variables.

import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { Sized } from '../api/app-revision.ts';
import { REVISION_LABEL, type Role, SECRETS_ANNOTATION } from '../api/meta.ts';
import { APP_SECURITY, appPodSecurity, resourcesFor } from './containers.ts';
import type { PodParts } from './contracts/contract.ts';
import { initContainersFor } from './init-containers.ts';
import type { Inputs } from './inputs.ts';
import { commonLabels } from './labels.ts';
import { placementFor, pullSecretsFor } from './placement.ts';
import { volumeMountsFor, volumesFor } from './volumes.ts';

/** Delay before SIGTERM, in which load balancers learn that the server accepts no new connections. */
const DRAIN_SECONDS = 5;
/** Time in which a container has to stop after SIGTERM. */
const STOP_SECONDS = 30;

export function podTemplateFor(
  inputs: Inputs,
  role: Role,
  size: Readonly<Sized>,
  image: string,
  parts: PodParts,
): IPodTemplateSpec {
  const { record, revision, secretDigests } = inputs;
  const { resolved, requested, id } = revision.spec;
  const spec = requested.resourceSpec ?? {};
  const digest = secretDigests?.[role]?.pods;
  const annotations = { ...spec.annotations, ...(digest !== undefined && { [SECRETS_ANNOTATION]: digest }) };
  const volumes = volumesFor(spec);
  const volumeMounts = volumeMountsFor(spec);
  const takesRequests = role === 'server';
  return {
    metadata: {
      labels: { ...spec.labels, ...commonLabels(record, role), [REVISION_LABEL]: id },
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: {
      ...(spec.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }),
      automountServiceAccountToken: spec.serviceAccountName !== undefined,
      enableServiceLinks: false,
      ...pullSecretsFor(resolved, spec.imagePullSecrets),
      ...placementFor(resolved, role, record.metadata.name),
      terminationGracePeriodSeconds: (takesRequests ? DRAIN_SECONDS : 0) + STOP_SECONDS,
      securityContext: appPodSecurity(resolved.podPolicy),
      initContainers: initContainersFor(inputs, parts.waitScripts),
      containers: [
        {
          name: role,
          image,
          imagePullPolicy: resolved.pullPolicy,
          ports: [{ name: 'http', containerPort: resolved.port, protocol: 'TCP' }],
          env: parts.env(inputs, role),
          ...parts.probes(resolved),
          ...(takesRequests && { lifecycle: { preStop: { sleep: { seconds: DRAIN_SECONDS } } } }),
          resources: resourcesFor(size),
          securityContext: APP_SECURITY,
          terminationMessagePolicy: 'FallbackToLogsOnError',
          ...(volumeMounts && { volumeMounts }),
        },
      ],
      ...(volumes && { volumes }),
    },
  };
}
