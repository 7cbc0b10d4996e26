// The database of a deployment beyond its size, as the API takes and gives it.

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { payloadShape, responseShape, toSnake } from '../../lib/http/casing.ts';
import { Database, DatabaseBackup, DatabaseBackupStatus } from '../../schema/database.ts';
import { mergedPart } from './runtime.ts';

const BackupPayload = z.object(payloadShape(DatabaseBackup.shape)).meta({
  id: 'DatabaseBackupRequest',
  description:
    'Scheduled backups of the own PostgreSQL. An empty object asks for them with all defaults. In a PATCH merged field by field: null sets a field back.',
});
export const DatabasePayload = z.object({ ...payloadShape(Database.shape), backup: BackupPayload.nullish() }).meta({
  id: 'DatabaseRequest',
  description: 'The own PostgreSQL beyond its size. In a PATCH absent fields are unchanged, and null takes one away.',
});
type DatabasePayload = z.output<typeof DatabasePayload>;

const BackupResponse = z
  .object(responseShape(DatabaseBackup.shape))
  .meta({ id: 'DatabaseBackup', description: 'Scheduled backups, as the record asks for them; null where unset.' });
export const DatabaseResponse = z
  .object({ ...responseShape(Database.shape), backup: BackupResponse.nullable() })
  .meta({ id: 'Database', description: 'The own PostgreSQL beyond its size; null where unset.' });

export const DatabaseBackupReport = z
  .object(responseShape(DatabaseBackupStatus.shape))
  .meta({ id: 'DatabaseBackupReport', description: 'What is known of the backups; null where nothing is known.' });

export function presentDatabase(database: Readonly<Database> | undefined): z.output<typeof DatabaseResponse> | null {
  if (database === undefined) return null;
  const { backup } = database;
  return { backup: backup === undefined ? null : toSnake(DatabaseBackup.shape, backup) };
}

export function presentBackupReport(
  status: Readonly<DatabaseBackupStatus> | undefined,
): z.output<typeof DatabaseBackupReport> | null {
  return status === undefined ? null : toSnake(DatabaseBackupStatus.shape, status);
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
  const { backup: _before, ...others } = before ?? {};
  const after: Database = { ...others, ...(backup !== undefined && { backup }) };
  if (isDeepStrictEqual(after, before ?? {})) return before;
  return Object.keys(after).length > 0 ? after : undefined;
}
