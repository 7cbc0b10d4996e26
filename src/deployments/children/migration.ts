// The Job that migrates for a revision, before its rollout. Its pod is that of the server, which runs a command and ends.

import type { IJob } from 'kubernetes-models/batch/v1/Job';
import { MIGRATION, MIGRATION_CONTAINER, REVISION_LABEL } from '../../schema/meta.ts';
import { type Migrate, timeoutOf } from '../../schema/migrate.ts';
import { names } from '../record/names.ts';
import type { PodParts } from './contracts/contract.ts';
import type { Inputs } from './inputs.ts';
import type { Manifest } from './manifest.ts';
import { ONCE, oneOffPodTemplate } from './one-off-pod.ts';
import { ownedMeta } from './owner.ts';

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
  const { id } = revision.spec;
  const meta = ownedMeta(record, names(record.metadata.name).migration(id), MIGRATION);
  const { command, args } = migrate;
  const runs = { ...(command && { command }), ...(args && { args }) };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...meta, labels: { ...meta.labels, [REVISION_LABEL]: id } },
    spec: {
      ...ONCE,
      activeDeadlineSeconds: timeoutOf(migrate),
      template: oneOffPodTemplate(inputs, { component: MIGRATION, container: MIGRATION_CONTAINER, image, runs }, parts),
    },
  };
}
