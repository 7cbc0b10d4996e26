// The template of a server's pods, as that of a command that runs and ends: without what only serves.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import { STOP_SECONDS } from '../../kinds/runtime-part.ts';

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
