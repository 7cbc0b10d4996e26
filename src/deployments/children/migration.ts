// The Job that migrates for a revision, before its rollout. Its pod is that of the server, which runs a command and ends.

import type { IJob } from 'kubernetes-models/batch/v1/Job';
import { MIGRATION, MIGRATION_CONTAINER, REVISION_LABEL } from '../../schema/meta.ts';
import { type Migrate, STOP_SECONDS, timeoutOf } from '../../schema/runtime.ts';
import { names } from '../record/names.ts';
import type { PodParts } from './contracts/contract.ts';
import type { Inputs } from './inputs.ts';
import { commonLabels } from './labels.ts';
import type { Manifest } from './manifest.ts';
import { ownedMeta } from './owner.ts';
import { podTemplateFor } from './pod-template.ts';

/**
 * A migration that fails is not tried again: half of one may have happened. Only a pod that the cluster took away (a drain, an
 * eviction) is replaced, after it has ended.
 */
export function makeMigration(
  inputs: Inputs,
  migrate: Readonly<Migrate>,
  image: string,
  parts: PodParts,
): Manifest<IJob> {
  const { record, revision } = inputs;
  const { id, resolved } = revision.spec;
  const { secretDigests: _rolled, ...plain } = inputs;
  const { metadata, spec } = podTemplateFor(plain, 'server', resolved.server, image, parts);
  const meta = ownedMeta(record, names(record.metadata.name).migration(id), MIGRATION);
  const { topologySpreadConstraints: _ofServers, containers, ...pod } = spec ?? { containers: [] };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...meta, labels: { ...meta.labels, [REVISION_LABEL]: id } },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: timeoutOf(migrate),
      podFailurePolicy: {
        rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
      },
      template: {
        metadata: { ...metadata, labels: { ...metadata?.labels, ...commonLabels(record, MIGRATION) } },
        spec: {
          ...pod,
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: STOP_SECONDS,
          containers: containers.map(
            ({ ports: _ports, lifecycle: _drain, startupProbe: _s, readinessProbe: _r, livenessProbe: _l, ...own }) => {
              const { command: _command, args: _args, ...container } = own;
              return {
                ...container,
                name: MIGRATION_CONTAINER,
                env: parts.env(plain, MIGRATION),
                ...(migrate.command && { command: migrate.command }),
                ...(migrate.args && { args: migrate.args }),
              };
            },
          ),
        },
      },
    },
  };
}
