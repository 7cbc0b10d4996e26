// The pod of a command that runs and ends, with what the server's pods have: the template of the server, without what only serves.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { ImageComponent } from '../../schema/meta.ts';
import { STOP_SECONDS } from '../../schema/runtime-part.ts';
import type { PodParts } from './contracts/contract.ts';
import type { Inputs } from './inputs.ts';
import { commonLabels } from './labels.ts';
import { podTemplateFor } from './pod-template.ts';

export interface OneOffPod {
  readonly component: ImageComponent;
  /** Name of its container. */
  readonly container: string;
  readonly image: string;
  readonly runs: Pick<IContainer, 'command' | 'args'>;
}

/** For a revision, before any pod of it exists. */
export function oneOffPodTemplate(
  inputs: Inputs,
  { component, container, image, runs }: OneOffPod,
  parts: PodParts,
): IPodTemplateSpec {
  const { record, revision } = inputs;
  const { secretDigests: _rolled, ...plain } = inputs;
  const server = podTemplateFor(plain, 'server', revision.spec.resolved.server, image, parts);
  return asOneOff(server, {
    container,
    runs,
    labels: commonLabels(record, component),
    env: parts.env(plain, component),
  });
}

export interface RunOnce {
  /** Name of its container. */
  readonly container: string;
  readonly runs: Pick<IContainer, 'command' | 'args'>;
  readonly labels: Readonly<Record<string, string>>;
  readonly env: readonly IEnvVar[];
}

/**
 * The pod template of a server, as that of a command that runs and ends. Its labels are no selector of the deployment's: no
 * Service, autoscaler or disruption budget counts it.
 */
export function asOneOff(
  { metadata, spec }: IPodTemplateSpec,
  { container, runs, labels, env }: RunOnce,
): IPodTemplateSpec {
  const { topologySpreadConstraints: _ofServers, containers, ...pod } = spec ?? { containers: [] };
  return {
    metadata: { ...metadata, labels: { ...metadata?.labels, ...labels } },
    spec: {
      ...pod,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: STOP_SECONDS,
      containers: containers.map(
        ({ ports: _ports, lifecycle: _drain, startupProbe: _s, readinessProbe: _r, livenessProbe: _l, ...own }) => {
          const { command: _command, args: _args, ...rest } = own;
          return { ...rest, name: container, env: [...env], ...runs };
        },
      ),
    },
  };
}

/** A pod that the cluster takes away (a drain, an eviction) is replaced, and nothing else is tried again. */
export const ONCE = {
  backoffLimit: 0,
  podFailurePolicy: {
    rules: [{ action: 'Ignore' as const, onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
  },
};
