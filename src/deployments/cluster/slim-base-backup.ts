// What the cache keeps of a Backup of CloudNativePG, which has the label file of PostgreSQL and whatever its plugin says.

import type { BaseBackup } from '../assess/base-backups.ts';
import { firstLabels, slimMetadata } from './slim-metadata.ts';

/** The used part of the Backup (deployments/assess/base-backups.ts). */
export function slimBaseBackup({ apiVersion, kind, metadata, spec, status = {} }: BaseBackup): BaseBackup {
  const { phase, error, startedAt, stoppedAt } = status;
  return {
    apiVersion,
    kind,
    metadata: slimMetadata(metadata, firstLabels),
    ...(spec?.cluster && { spec: { cluster: spec.cluster } }),
    status: {
      ...(phase !== undefined && { phase }),
      ...(error !== undefined && { error: error.slice(0, 1024) }),
      ...(startedAt !== undefined && { startedAt }),
      ...(stoppedAt !== undefined && { stoppedAt }),
    },
  };
}
