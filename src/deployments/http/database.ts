// The database of a deployment beyond its size, as the API takes and gives it.

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { fromSnake, payloadShape, responseShape, toSnake } from '../../lib/http/casing.ts';
import type { FieldError } from '../../lib/http/http-error.ts';
import { asArray, asObject, isSet } from '../../lib/json-value.ts';
import type { Draft } from '../../organization/facade/validation.ts';
import {
  type AppDeployment,
  EXTENSIONS_AT_CREATION_MESSAGE,
  RESTORE_AT_CREATION_MESSAGE,
} from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import {
  ARCHIVE_DRIVER_MESSAGE,
  ARCHIVE_OR_BACKUP_MESSAGE,
  ARCHIVE_RESTORE_MESSAGE,
  AT_OR_BACKUP_MESSAGE,
  Database,
  DatabaseArchive,
  DatabaseArchiveStatus,
  DatabaseBackup,
  DatabaseBackupStatus,
  type DatabaseDriver,
  DatabaseProofStatus,
  DatabaseRestore,
  DatabaseRestoreStatus,
  EXTENSIONS_DRIVER_MESSAGE,
  ONE_POD_MESSAGE,
} from '../../schema/database.ts';
import { driverFixedMessage } from '../record/database-driver.ts';
import { externalLost } from '../record/database-move.ts';
import { namesExternalPostgres } from '../record/secret-references.ts';
import { mergedPart } from './runtime.ts';

const BackupPayload = z.object(payloadShape(DatabaseBackup.shape)).meta({
  id: 'DatabaseBackupRequest',
  description:
    'Scheduled backups of the own PostgreSQL. An empty object asks for them with all defaults. In a PATCH merged field by field: null sets a field back.',
});
const ArchivePayload = z.object(payloadShape(DatabaseArchive.shape)).meta({
  id: 'DatabaseArchiveRequest',
  description:
    'Archive of the own PostgreSQL, by which it can be restored to any point in time. An empty object asks for it with all defaults. In a PATCH merged field by field: null sets a field back.',
});
const RestorePayload = z.object({ ...payloadShape(DatabaseRestore.shape), from: DatabaseRestore.shape.from }).meta({
  id: 'DatabaseRestoreRequest',
  description:
    'The backup that the database of a new deployment begins with. In a PATCH it replaces the previous one, and null takes it away; that has an effect until it is loaded.',
});
export const DatabasePayload = z
  .object({
    ...payloadShape(Database.shape),
    backup: BackupPayload.nullish(),
    archive: ArchivePayload.nullish(),
    restore: RestorePayload.nullish(),
  })
  .meta({
    id: 'DatabaseRequest',
    description: 'The own PostgreSQL beyond its size. In a PATCH absent fields are unchanged, and null takes one away.',
  });
type DatabasePayload = z.output<typeof DatabasePayload>;

const BackupResponse = z
  .object(responseShape(DatabaseBackup.shape))
  .meta({ id: 'DatabaseBackup', description: 'Scheduled backups, as the record asks for them; null where unset.' });
const ArchiveResponse = z
  .object(responseShape(DatabaseArchive.shape))
  .meta({ id: 'DatabaseArchive', description: 'The archive, as the record asks for it; null where unset.' });
const RestoreResponse = z
  .object(responseShape(DatabaseRestore.shape))
  .meta({ id: 'DatabaseRestore', description: 'The backup that the database begins with; null where unset.' });
export const DatabaseResponse = z
  .object({
    ...responseShape(Database.shape),
    backup: BackupResponse.nullable(),
    archive: ArchiveResponse.nullable(),
    restore: RestoreResponse.nullable(),
  })
  .meta({ id: 'Database', description: 'The own PostgreSQL beyond its size; null where unset.' });

export const DatabaseBackupReport = z
  .object(responseShape(DatabaseBackupStatus.shape))
  .meta({ id: 'DatabaseBackupReport', description: 'What is known of the backups; null where nothing is known.' });
export const DatabaseArchiveReport = z
  .object(responseShape(DatabaseArchiveStatus.shape))
  .meta({ id: 'DatabaseArchiveReport', description: 'What is known of the archive; null where nothing is known.' });
export const DatabaseProofReport = z.object(responseShape(DatabaseProofStatus.shape)).meta({
  id: 'DatabaseProofReport',
  description: 'What is known of the proofs of the backups; null where nothing is known.',
});
export const DatabaseRestoreReport = z.object(responseShape(DatabaseRestoreStatus.shape)).meta({
  id: 'DatabaseRestoreReport',
  description: 'What is known of the backup that the database began with; null where nothing is known.',
});

export function presentDatabase(database: Readonly<Database> | undefined): z.output<typeof DatabaseResponse> | null {
  if (database === undefined) return null;
  const { driver, instances, extensions, backup, archive, restore } = database;
  return {
    driver: driver ?? null,
    instances: instances ?? null,
    extensions: extensions ?? null,
    backup: backup === undefined ? null : toSnake(DatabaseBackup.shape, backup),
    archive: archive === undefined ? null : toSnake(DatabaseArchive.shape, archive),
    restore: restore === undefined ? null : toSnake(DatabaseRestore.shape, restore),
  };
}

export function presentBackupReport(
  status: Readonly<DatabaseBackupStatus> | undefined,
): z.output<typeof DatabaseBackupReport> | null {
  return status === undefined ? null : toSnake(DatabaseBackupStatus.shape, status);
}

export function presentArchiveReport(
  status: Readonly<DatabaseArchiveStatus> | undefined,
): z.output<typeof DatabaseArchiveReport> | null {
  return status === undefined ? null : toSnake(DatabaseArchiveStatus.shape, status);
}

export function presentProofReport(
  status: Readonly<DatabaseProofStatus> | undefined,
): z.output<typeof DatabaseProofReport> | null {
  return status === undefined ? null : toSnake(DatabaseProofStatus.shape, status);
}

export function presentRestoreReport(
  status: Readonly<DatabaseRestoreStatus> | undefined,
): z.output<typeof DatabaseRestoreReport> | null {
  return status === undefined ? null : toSnake(DatabaseRestoreStatus.shape, status);
}

/** `before` with what was sent; the very same where the result means the same. Undefined where nothing is left. */
export function mergedDatabase(
  before: Database | undefined,
  sent: Readonly<DatabasePayload> | null | undefined,
): Database | undefined {
  if (sent === undefined || sent === null) return before;
  const backup =
    sent.backup === undefined
      ? before?.backup
      : (mergedPart(DatabaseBackup.shape, before?.backup ?? {}, sent.backup) as DatabaseBackup | undefined);
  const archive =
    sent.archive === undefined
      ? before?.archive
      : (mergedPart(DatabaseArchive.shape, before?.archive ?? {}, sent.archive) as DatabaseArchive | undefined);
  const restore = sent.restore === undefined ? before?.restore : restoreFrom(sent.restore);
  // An unset one is not sent, and null takes one away.
  const { driver = before?.driver, instances = before?.instances, extensions = before?.extensions } = sent;
  const after: Database = {
    ...(driver !== undefined && driver !== null && { driver }),
    ...(instances !== undefined && instances !== null && { instances }),
    ...(extensions !== undefined && extensions !== null && { extensions }),
    ...(backup !== undefined && { backup }),
    ...(archive !== undefined && { archive }),
    ...(restore !== undefined && { restore }),
  };
  if (isDeepStrictEqual(after, before ?? {})) return before;
  return Object.keys(after).length > 0 ? after : undefined;
}

function restoreFrom(sent: DatabasePayload['restore']): DatabaseRestore | undefined {
  return sent ? (fromSnake(DatabaseRestore.shape, sent) as DatabaseRestore) : undefined;
}

const RESTORE = ['source_config', 'database', 'restore'] as const;

/** What the schema does not say of a restore, in the words of the CRD. */
export function* restoreRule(draft: Draft): Generator<FieldError> {
  yield* oneBackupRule(asObject(databaseIn(draft)['restore']), RESTORE);
}

/** What the schema does not say of drivers, in the words of the CRD. */
export function* driverRule(draft: Draft): Generator<FieldError> {
  const { driver, instances, extensions, archive, restore } = databaseIn(draft);
  if (!isSet(driver) || driver === 'cloudnative-pg') return;
  if (typeof instances === 'number' && instances > 1) yield ofDatabase('instances', ONE_POD_MESSAGE);
  if (driver === 'shared' && asArray(extensions).length > 0) yield ofDatabase('extensions', EXTENSIONS_DRIVER_MESSAGE);
  if (isSet(archive) && asObject(archive)['enabled'] !== false) yield ofDatabase('archive', ARCHIVE_DRIVER_MESSAGE);
  if (asObject(restore)['archive'] === true) yield ofDatabase('restore', ARCHIVE_RESTORE_MESSAGE);
}

function databaseIn(draft: Draft): Draft {
  return asObject(asObject(draft['source_config'])['database']);
}

function ofDatabase(field: string, msg: string): FieldError {
  return { loc: ['source_config', 'database', field], msg, type: 'value_error' };
}

/** A driver that cannot change because there is data. `before`: the record. */
export function* otherDriver(
  { metadata: { name }, spec, status }: AppDeployment,
  asked: DatabaseDriver | undefined,
): Generator<FieldError> {
  if (asked === undefined || asked === spec.sourceConfig.database?.driver) return;
  const has = status?.databaseDriver ?? 'pod';
  if (asked === has || (status?.databaseVolumeUid ?? status?.sharedDatabase) === undefined) return;
  yield {
    loc: ['source_config', 'database', 'driver'],
    msg: driverFixedMessage(name, has, asked),
    type: 'frozen_field',
  };
}

/**
 * The reference to the database to which the record was moved, which the new spec lacks. `own`: the record's revisions, newest first.
 * `at`: what of the request leaves it out, if not the list in which it is.
 */
export function* lostExternal(
  record: AppDeployment,
  own: readonly AppRevision[],
  after: AppDeployment['spec'],
  at?: FieldError['loc'],
): Generator<FieldError> {
  const msg = externalLost(record, own, after);
  if (msg === undefined) return;
  const isSecret = namesExternalPostgres({ secrets: record.spec.secrets });
  yield { loc: at ?? ['body', isSecret ? 'secrets' : 'secret_references'], msg, type: 'frozen_field' };
}

/** `at`: where the fields are. */
export function* oneBackupRule(fields: Draft, at: FieldError['loc'] = []): Generator<FieldError> {
  if (isSet(fields['at']) && isSet(fields['backup']))
    yield { loc: [...at, 'backup'], msg: AT_OR_BACKUP_MESSAGE, type: 'value_error' };
  if (fields['archive'] === true && isSet(fields['backup']))
    yield { loc: [...at, 'archive'], msg: ARCHIVE_OR_BACKUP_MESSAGE, type: 'value_error' };
}

/** A restore and extensions that a record does not have cannot be added to it. */
export function* laterThanCreation(before: Database | undefined, after: Database | undefined): Generator<FieldError> {
  if (after?.extensions !== undefined && !isDeepStrictEqual(after.extensions, before?.extensions))
    yield { ...ofDatabase('extensions', EXTENSIONS_AT_CREATION_MESSAGE), type: 'frozen_field' };
  if (after?.restore !== undefined && before?.restore === undefined)
    yield { loc: [...RESTORE], msg: RESTORE_AT_CREATION_MESSAGE, type: 'frozen_field' };
}
