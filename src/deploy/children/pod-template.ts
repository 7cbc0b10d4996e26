// The pods that run a record's image.

import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { IVolume } from 'kubernetes-models/v1/Volume';
import type { IVolumeMount } from 'kubernetes-models/v1/VolumeMount';
import type { Sized } from '../../kinds/app-revision.ts';
import { REVISION_LABEL, SECRETS_ANNOTATION } from '../../kinds/meta.ts';
import { drainingOf } from '../../kinds/runtime-part.ts';
import { ownValue } from '../../runtime/json-value.ts';
import { healthOf } from '../record/health.ts';
import { commonLabels } from '../record/labels.ts';
import { runtimeOf } from '../record/parts.ts';
import { podsIdOf } from '../record/shared-pods.ts';
import type { PodParts } from './contracts/contract.ts';
import { initContainersFor } from './init-containers.ts';
import type { Inputs } from './inputs.ts';
import { placementFor, pullSecretsFor, withChosen, withResources } from './placement.ts';
import { APP_SECURITY, appPodSecurity, resourcesFor } from './security-and-sizes.ts';

export function podTemplateFor(
  inputs: Inputs,
  role: string,
  size: Readonly<Sized>,
  image: string,
  parts: PodParts,
): IPodTemplateSpec {
  const { record, revision, secretDigests } = inputs;
  const { resolved, requested } = revision.spec;
  const spec = requested.resourceSpec ?? {};
  const digest = ownValue(secretDigests ?? {}, role)?.pods;
  const annotations = { ...spec.annotations, ...(digest !== undefined && { [SECRETS_ANNOTATION]: digest }) };
  // Empty lists would be fields that Davit owns. The API server validates free-form parts when the workload is applied.
  const { volumes = [], volumeMounts = [] } = spec;
  const { command, args, placement } = runtimeOf(requested.runtime, role) ?? {};
  const initContainers = initContainersFor(inputs, parts.waitScripts);
  const { terminationGracePeriodSeconds, preStop } = drainingOf(role, runtimeOf(requested.runtime, role));
  return {
    metadata: {
      labels: { ...spec.labels, ...commonLabels(record, role), [REVISION_LABEL]: podsIdOf(revision, role) },
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: {
      ...(spec.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }),
      automountServiceAccountToken: spec.serviceAccountName !== undefined,
      enableServiceLinks: false,
      ...pullSecretsFor(resolved, spec.imagePullSecrets),
      ...withChosen(placementFor(resolved, role, record.metadata.name), placement),
      terminationGracePeriodSeconds,
      securityContext: appPodSecurity(resolved.podPolicy),
      ...(initContainers.length > 0 && { initContainers }),
      containers: [
        {
          name: role,
          image,
          imagePullPolicy: resolved.pullPolicy,
          ...(command && { command }),
          ...(args && { args }),
          ports: [{ name: 'http', containerPort: healthOf(revision.spec, role).port, protocol: 'TCP' }],
          env: parts.env(inputs, role),
          ...parts.probes(revision.spec, role),
          ...(preStop && { lifecycle: { preStop } }),
          resources: withResources(resourcesFor(size), placement),
          securityContext: APP_SECURITY,
          terminationMessagePolicy: 'FallbackToLogsOnError',
          ...(volumeMounts.length > 0 && { volumeMounts: volumeMounts as IVolumeMount[] }),
        },
      ],
      ...(volumes.length > 0 && { volumes: volumes as readonly object[] as IVolume[] }),
    },
  };
}
