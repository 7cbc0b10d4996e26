// The archive of a record's own PostgreSQL: what the Barman Cloud plugin says of the store, and CloudNativePG of its instances.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { rfc3339 } from '../../kinds/conditions.ts';
import { archivePlanOf, type DatabaseArchiveStatus } from '../../kinds/database.ts';
import { BARMAN_CLOUD_PLUGIN, CNPG_CLUSTER_LABEL, CNPG_ROLE_LABEL } from '../../kinds/meta.ts';
import { quoted } from '../../kinds/text.ts';
import { activeRevision } from '../record/revisions.ts';
import { isArchiveOf, type ObjectStoreSeen, walArchiveName } from '../record/wal-archive.ts';
import { pluginMissing } from './archive-restore.ts';
import { keysMissing, storeMissing } from './backup-store.ts';
import { baseBackupsOf } from './base-backups.ts';
import { instancesOf, isPrimary, ownCluster, phaseOf } from './database-cluster.ts';
import { type Entry, entryOf, fail, firstOf, pass, unknown } from './entry.ts';
import {
  type ActionFailure,
  failureAt,
  failureOfKind,
  isOurs,
  type Observed,
  type ObservedChildren,
  type ObservedCondition,
} from './observed.ts';

/** The plugin adds it to each instance. */
const SIDECAR_CONTAINER = 'plugin-barman-cloud';

/** As the plugin has reported it; as the status has it where the plugin is away. Undefined if there is nothing to say. */
export function archiveStatusOf(
  observed: ObservedChildren & Pick<Observed, 'baseBackups'>,
): DatabaseArchiveStatus | undefined {
  const { record, names, children } = observed;
  const store = children.find((child) => isArchiveOf(child, record)) as ObjectStoreSeen | undefined;
  if (store === undefined) return record.status?.databaseArchive;
  const baseBackups = baseBackupsOf(record.metadata.name, observed.baseBackups ?? []);
  const window = store.status?.serverRecoveryWindow?.[names.postgres];
  const after = {
    ...timed('firstRecoverableAt', window?.firstRecoverabilityPoint),
    ...timed('lastBackupAt', window?.lastSuccessfulBackupTime),
    ...timed('lastFailureAt', window?.lastFailedBackupTime),
    ...(baseBackups && { baseBackups }),
  };
  return Object.keys(after).length > 0 ? after : undefined;
}

/** Validated, because anyone who may write the status of an ObjectStore can write any value. */
function timed(
  field: Exclude<keyof DatabaseArchiveStatus, 'baseBackups'>,
  text: string | undefined,
): DatabaseArchiveStatus {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? {} : { [field]: rfc3339(new Date(at)) };
}

/**
 * Whether the primary has the container that makes base backups. Once there is a schedule, it stays: CloudNativePG adds the container, and
 * an instance that is being replaced has none.
 */
export function canMakeBaseBackups(observed: ObservedChildren): boolean {
  const hasSchedule = observed.children.some((child) => child.kind === 'ScheduledBackup' && isOurs(child, observed));
  const primary = instancesOf(observed).find(isPrimary);
  const sidecar = primary?.status?.initContainerStatuses?.find(({ name }) => name === SIDECAR_CONTAINER);
  return hasSchedule || sidecar?.ready === true;
}

/** An archive that was begun goes on when its keys are gone: to end it would replace the instances, and to begin again as well. */
export function mayArchive(observed: Observed): boolean {
  return observed.backupStore?.hasCredentials === true || hasPlugin(observed);
}

interface Seen {
  readonly observed: Observed;
  readonly latest: AppRevision | undefined;
  readonly status: DatabaseArchiveStatus;
  readonly failures: readonly ActionFailure[];
}

/** In the order in which people should hear of them. */
const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  notArchivable,
  noPluginForArchive,
  ({ observed }) => storeMissing(observed, fail, 'nothing is archived', '; archiving then begins automatically'),
  archiveRefused,
  ({ observed }) => keysMissing(observed, fail, 'nothing can be archived', '; archiving then continues automatically'),
  pluginAway,
  notArchiving,
  baseBackupFailed,
  archiveStale,
  recoverable,
];

/** Undefined if the record asks for no archive. `failures`: what came of the last try. */
export function checkArchive(
  observed: Observed,
  latest: AppRevision | undefined,
  failures: readonly ActionFailure[],
): Entry | undefined {
  const { metadata, spec } = observed.record;
  const plan = archivePlanOf(spec.sourceConfig.database, metadata.name);
  if (plan === undefined) return undefined;
  const seen = { observed, latest, status: archiveStatusOf(observed) ?? {}, failures };
  return (
    firstOf(CHECKS, seen) ??
    unknown('ArchivePending', `The archive has no base backup yet.${ownCluster(observed) ? phaseOf(observed) : ''}`)
  );
}

function notArchivable({ observed, latest }: Seen): Entry | undefined {
  const shown = activeRevision(observed.revisions) ?? latest;
  if (shown === undefined || shown.spec.resolved.postgres?.driver === 'cloudnative-pg') return undefined;
  return fail(
    'ArchiveNotPossible',
    'Only a database with driver cloudnative-pg can have an archive. Remove source_config.database.archive, or move the database: kubectl davit database move.',
  );
}

function noPluginForArchive({ observed: { archives } }: Seen): Entry | undefined {
  if (archives !== undefined) return undefined;
  const { reason, message } = pluginMissing('has an archive');
  return fail(reason, message);
}

function archiveRefused({ observed: { record }, failures }: Seen): Entry | undefined {
  const failure =
    failureAt({ kind: 'ObjectStore', name: walArchiveName(record) }, failures) ??
    failureOfKind('ScheduledBackup', failures);
  return failure && entryOf(failure);
}

/** The kind is there, and what serves it is not. */
function pluginAway({ observed }: Seen): Entry | undefined {
  const { phase = '' } = ownCluster(observed)?.status ?? {};
  return /\bplugins?\b/.test(phase) ? fail('ArchiveFailing', `Nothing is archived.${phaseOf(observed)}`) : undefined;
}

function notArchiving({ observed }: Seen): Entry | undefined {
  const archiving = said(observed, 'ContinuousArchiving');
  if (archiving?.status !== 'False' || !hasPlugin(observed)) return undefined;
  return fail(
    'ArchiveFailing',
    `Database changes do not reach the archive, so PostgreSQL keeps them until its volume is full. CloudNativePG reports: ${quoted(archiving.message)}. For details, see the log of container ${SIDECAR_CONTAINER}: ${logs(observed)}.`,
  );
}

function baseBackupFailed({ observed, status: { lastFailureAt = '', lastBackupAt = '' } }: Seen): Entry | undefined {
  const found = said(observed, 'LastBackupSucceeded');
  // It is False while a base backup runs as well.
  const last = found?.reason === 'BackupStarted' ? undefined : found;
  const hasFailed = lastFailureAt > lastBackupAt || last?.status === 'False';
  if (!hasFailed || last?.status === 'True') return undefined;
  const words = last?.message === undefined ? '' : ` CloudNativePG reports: ${quoted(last.message)}.`;
  return fail(
    'ArchiveFailing',
    `The last base backup failed.${words} The next one follows the schedule. To make one now: kubectl davit backup ${observed.record.metadata.name} --archive -n ${observed.record.metadata.namespace}. For details, see the log of container ${SIDECAR_CONTAINER}: ${logs(observed)}.`,
  );
}

function archiveStale({ observed: { patience }, status: { lastBackupAt } }: Seen): Entry | undefined {
  if (patience?.archiveStale !== true) return undefined;
  const last = lastBackupAt === undefined ? '' : ` The last base backup is from ${lastBackupAt}.`;
  return fail('ArchiveStale', `No base backup was made within stale_after_hours.${last} Check the schedule.`);
}

function recoverable({ observed, status: { firstRecoverableAt, lastBackupAt } }: Seen): Entry | undefined {
  if (firstRecoverableAt === undefined || said(observed, 'ContinuousArchiving')?.status !== 'True') return undefined;
  return pass(
    'Archived',
    `The database can be restored to any point in time from ${firstRecoverableAt} on, up to a few minutes ago. The last base backup is from ${lastBackupAt}.`,
  );
}

function said(observed: Observed, type: string): ObservedCondition | undefined {
  return ownCluster(observed)?.status?.conditions?.find((one) => one.type === type);
}

/** Without it, PostgreSQL has no archive, and the condition says nothing of one. */
function hasPlugin(observed: Observed): boolean {
  return ownCluster(observed)?.spec?.plugins?.some(({ name }) => name === BARMAN_CLOUD_PLUGIN) === true;
}

function logs({ record, names }: Observed): string {
  return `kubectl logs -n ${record.metadata.namespace} -l ${CNPG_CLUSTER_LABEL}=${names.postgres},${CNPG_ROLE_LABEL}=primary -c ${SIDECAR_CONTAINER}`;
}
