// Whether somebody can have a backup of a record's own PostgreSQL made now, and of which kind. Pure, and imports no zod at run time.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { ConditionType } from '../../kinds/app-deployment-conditions.ts';
import { type ConditionInput, conditionOf } from '../../kinds/conditions.ts';
import { runsHere } from './listener-assignment.ts';
import { namesExternalPostgres } from './secret-references.ts';

/** `dump`: one of those that CronJob `NAME---backup` makes. `base`: a base backup of the archive. */
export type BackupKind = 'dump' | 'base';

interface Means {
  readonly condition: ConditionType;
  /** Reasons with which a run would only wait for a person, or has nothing that makes it. */
  readonly impossible: ReadonlySet<string>;
}

const MEANS: Readonly<Record<BackupKind, Means>> = {
  dump: {
    condition: 'BackupReady',
    impossible: new Set(['BackupNotPossible', 'BackupStoreMissing', 'BackupCredentialsMissing', 'NotConfigured']),
  },
  base: {
    condition: 'ArchiveReady',
    impossible: new Set([
      'ArchiveNotPossible',
      'ArchivePluginMissing',
      'BackupStoreMissing',
      'BackupCredentialsMissing',
    ]),
  },
};

/** `isArchive`: a base backup is asked for. Without it, a record that asks for an archive alone gets one as well. */
export function backupToMake(
  record: AppDeployment,
  isArchive: boolean,
): { readonly kind: BackupKind } | { readonly refused: string } {
  const { metadata, spec, status } = record;
  const { name } = metadata;
  const [hasBackups, hasArchive] = [isBackedUp(record), isWanted(spec.sourceConfig.database?.archive)];
  const refused = whyNothingToBackUp(record);
  if (refused !== undefined) return { refused };
  if (isArchive && !hasArchive)
    return { refused: `${name} has no archive (source_config.database.archive). Leave out --archive.` };
  const kind = isArchive || (hasArchive && !hasBackups) ? 'base' : 'dump';
  const hindrance = backupHindrance(status?.conditions, kind);
  if (hindrance !== undefined) return { refused: `No backup of ${name} can be made now. ${hindrance}` };
  if (!hasBackups && !hasArchive) return { refused: `${name} has no database yet, so there is nothing to back up.` };
  return { kind };
}

/** Why no backup can be made, as the condition says it: with what to do. */
export function backupHindrance(
  conditions: readonly Pick<ConditionInput, 'type' | 'reason' | 'message'>[] | undefined,
  kind: BackupKind = 'dump',
): string | undefined {
  const { condition, impossible } = MEANS[kind];
  const found = conditionOf(conditions, condition);
  return found && impossible.has(found.reason) ? found.message : undefined;
}

/** Whether backups are made: the record asks for them, or its status says that the platform makes them. */
export function isBackedUp({ spec, status }: Pick<AppDeployment, 'spec' | 'status'>): boolean {
  const { backup } = spec.sourceConfig.database ?? {};
  if (backup !== undefined) return isWanted(backup);
  const ready = conditionOf(status?.conditions, 'BackupReady');
  return ready !== undefined && ready.reason !== 'NotConfigured';
}

function isWanted(asked: { readonly enabled?: boolean | undefined } | undefined): boolean {
  return asked !== undefined && asked.enabled !== false;
}

/** Why there is no database here that could be backed up. */
function whyNothingToBackUp(record: AppDeployment): string | undefined {
  const { metadata, spec } = record;
  const { name } = metadata;
  if (metadata.deletionTimestamp !== undefined) return `${name} is being deleted.`;
  if (!runsHere(record))
    return `${name} runs in the cluster of a listener, and its backups are made there: use the kubeconfig of that cluster.`;
  if (spec.sourceConfig.runtime?.database === 'none')
    return `${name} has no database (runtime.database: none), so there is nothing to back up.`;
  if (namesExternalPostgres(record.spec))
    return `${name} uses an external database, which Davit does not back up. Back it up where it runs.`;
  return undefined;
}
