// The backups of a record's own PostgreSQL. What they came to stands in the status, because their pods and Jobs go; a pod's own
// report is the only evidence of a backup.

import type { AppRevision } from '../../kinds/app-revision.ts';
import {
  archivePlanOf,
  type BackupReport,
  backupPlanOf,
  type DatabaseBackupStatus,
  withBackupDefault,
} from '../../kinds/database.ts';
import { BACKUP, EMPTY_DATABASE_ANNOTATION } from '../../kinds/meta.ts';
import { bytesText } from '../../kinds/text.ts';
import { activeRevision } from '../record/revisions.ts';
import { keysMissing, storeMissing } from './backup-store.ts';
import { beginningFails, databaseJobPods, newestFailure, reportsOf, toBackUpAgain } from './database-jobs.ts';
import { type Entry, fail, firstOf, pass, refusalAt, unknown } from './entry.ts';
import { runsOf } from './jobs.ts';
import {
  type ActionFailure,
  dataHolderOf,
  isNextDatabase,
  knownDatabase,
  type Observed,
  type ObservedChildren,
} from './observed.ts';
import { SENT_BACKUPS } from './stored-backups.ts';

/** As the status has it, with what the pods and Jobs say now. Undefined if there is nothing to say. */
export function backupStatusOf(observed: ObservedChildren): DatabaseBackupStatus | undefined {
  const { heldAfter: _held, ...before } = observed.record.status?.databaseBackup ?? {};
  const reports = reportsOf(observed, SENT_BACKUPS);
  const [newest] = reports;
  const success: DatabaseBackupStatus =
    newest === undefined || (before.lastSuccessAt ?? '') >= newest.takenAt
      ? {}
      : { name: newest.name, lastSuccessAt: newest.takenAt, sizeBytes: newest.sizeBytes };
  const heldAfter = heldAfterOf(observed, reports);
  const after = {
    ...before,
    ...success,
    ...lastFailure(observed, before),
    ...(heldAfter !== undefined && { heldAfter }),
  };
  return Object.keys(after).length > 0 ? after : undefined;
}

/**
 * The last backup of a database that a person has given up, as long as the present one, which began empty, has none that somebody asked for:
 * backups of an empty database would take the place of the good ones. Undefined where the schedule is followed.
 */
function heldAfterOf(observed: ObservedChildren, reports: readonly BackupReport[]): string | undefined {
  const { record } = observed;
  const { databaseBackup } = record.status ?? {};
  if (isNextDatabase(observed)) return undefined;
  const { volumeUid } = knownDatabase(observed);
  const holder = dataHolderOf(observed)?.metadata.uid;
  const beginsEmpty =
    volumeUid !== undefined &&
    holder !== undefined &&
    holder !== volumeUid &&
    record.metadata.annotations?.[EMPTY_DATABASE_ANNOTATION] === volumeUid;
  const after = databaseBackup?.heldAfter ?? (beginsEmpty ? databaseBackup?.name : undefined);
  if (after === undefined) return undefined;
  return reports.some(({ name, byHand }) => byHand === true && name > after) ? undefined : after;
}

function lastFailure(observed: ObservedChildren, { lastFailureAt }: DatabaseBackupStatus): DatabaseBackupStatus {
  return newestFailure(observed, runsOf(observed, BACKUP), BACKUP, lastFailureAt);
}

interface Seen {
  readonly observed: Observed;
  readonly latest: AppRevision | undefined;
  readonly status: DatabaseBackupStatus;
  readonly failures: readonly ActionFailure[];
}

/** In the order in which people should hear of them. */
const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  notOwned,
  ({ observed }) => storeMissing(observed, fail, 'no backups are made', '; backups then begin automatically'),
  ({ observed: { names }, failures }) => refusalAt({ kind: 'CronJob', name: names.backup }, failures),
  ({ observed }) => keysMissing(observed, fail, 'no backup can be sent', '; the next backup then uses it'),
  held,
  podFails,
  lastRunFailed,
  stale,
  lastBackup,
];

/** Undefined if there is no own database, or an archive protects it. `failures`: what came of the last try. */
export function checkBackup(
  observed: Observed,
  latest: AppRevision | undefined,
  failures: readonly ActionFailure[],
): Entry | undefined {
  const { metadata, spec } = observed.record;
  const { database } = spec.sourceConfig;
  const plan = backupPlanOf(withBackupDefault(database, observed.backupDefault), metadata.name);
  const isOwn = shownRevision(observed, latest)?.spec.resolved.postgres !== undefined;
  if (plan === undefined) return isOwn ? unprotected(observed) : undefined;
  // The default of the platform is for own databases alone.
  if (database?.backup === undefined && !isOwn) return undefined;
  const seen = { observed, latest, status: backupStatusOf(observed) ?? {}, failures };
  return (
    firstOf(CHECKS, seen) ?? unknown('BackupPending', `No backup has been made yet. The schedule is ${plan.schedule}.`)
  );
}

function shownRevision({ revisions }: Observed, latest: AppRevision | undefined): AppRevision | undefined {
  return activeRevision(revisions) ?? latest;
}

/**
 * False, because it is known that nothing can be restored, and no failure, because the settings or the record ask for no backups. Ready and
 * Available do not depend on BackupReady.
 */
function unprotected({ record, backupStore }: Observed): Entry | undefined {
  const { name, namespace } = record.metadata;
  const { database } = record.spec.sourceConfig;
  if (archivePlanOf(database, name) !== undefined) return undefined;
  const why =
    backupStore === undefined
      ? 'This platform has no backup store (settings.backups.store).'
      : `Backups are off. To make one every day: kubectl patch appd ${name} -n ${namespace} --type=merge -p '{"spec":{"sourceConfig":{"database":{"backup":{"enabled":true}}}}}'.`;
  return fail('NotConfigured', `Nothing protects the database. ${why}`);
}

function notOwned({ observed, latest }: Seen): Entry | undefined {
  const shown = shownRevision(observed, latest);
  if (shown === undefined || shown.spec.resolved.postgres !== undefined) return undefined;
  return fail(
    'BackupNotPossible',
    'The deployment has no PostgreSQL of its own, and Davit does not back up external databases. Remove source_config.database.backup, and back up the external database where it runs.',
  );
}

function held({ observed: { record }, status: { heldAfter } }: Seen): Entry | undefined {
  if (heldAfter === undefined) return undefined;
  const { name, namespace } = record.metadata;
  return fail(
    'BackupsHeld',
    `The database began empty, but the store has backups of the previous database. To keep them, no backup is made on schedule. To load the newest one into a new database: kubectl davit database restore ${name} -n ${namespace} --backup ${heldAfter}. To back up the current database from now on: kubectl davit backup ${name} -n ${namespace}.`,
  );
}

function podFails({ observed }: Seen): Entry | undefined {
  const trouble = beginningFails(databaseJobPods(observed, BACKUP));
  return trouble && fail('BackupFailing', `A backup cannot begin. ${trouble.message}`);
}

function lastRunFailed({ observed, status }: Seen): Entry | undefined {
  const { lastFailureAt, lastFailure, lastSuccessAt = '', name } = status;
  if (lastFailureAt === undefined || lastFailureAt <= lastSuccessAt) return undefined;
  const last = name === undefined ? 'There is no backup yet.' : `The last backup is ${name}.`;
  return fail(
    'BackupFailing',
    `The last run failed at ${lastFailureAt}. ${lastFailure}. ${last} ${toBackUpAgain(observed)}`,
  );
}

function stale({ observed: { patience }, status: { name, lastSuccessAt } }: Seen): Entry | undefined {
  if (patience?.backupStale !== true) return undefined;
  const last = name === undefined ? '' : ` The last backup, ${name}, is from ${lastSuccessAt}.`;
  return fail('BackupStale', `No backup was made within stale_after_hours.${last} Check the schedule and its CronJob.`);
}

function lastBackup({ status: { name, lastSuccessAt, sizeBytes = 0 } }: Seen): Entry | undefined {
  if (name === undefined) return undefined;
  return pass('BackedUp', `The last backup, ${name}, has the state of ${lastSuccessAt} (${bytesText(sizeBytes)}).`);
}
