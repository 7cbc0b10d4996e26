// Rules of a request's database beyond its size.

import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '../../lib/http/http-error.ts';
import { asObject, isSet } from '../../lib/json-value.ts';
import type { Draft } from '../../organization/facade/validation.ts';
import {
  type AppDeployment,
  EXTENSIONS_AT_CREATION_MESSAGE,
  RESTORE_AT_CREATION_MESSAGE,
} from '../../schema/app-deployment.ts';
import {
  ARCHIVE_DRIVER_MESSAGE,
  ARCHIVE_OR_BACKUP_MESSAGE,
  ARCHIVE_RESTORE_MESSAGE,
  AT_OR_BACKUP_MESSAGE,
  type Database,
  type DatabaseDriver,
  ONE_POD_MESSAGE,
} from '../../schema/database.ts';
import { driverFixedMessage } from '../record/database-driver.ts';

const RESTORE = ['source_config', 'database', 'restore'] as const;

/** What the schema does not say of a restore, in the words of the CRD. */
export function* restoreRule(draft: Draft): Generator<FieldError> {
  yield* oneBackupRule(asObject(databaseIn(draft)['restore']), RESTORE);
}

/** What the schema does not say of drivers, in the words of the CRD. */
export function* driverRule(draft: Draft): Generator<FieldError> {
  const { driver, instances, archive, restore } = databaseIn(draft);
  if (!isSet(driver) || driver === 'cloudnative-pg') return;
  if (typeof instances === 'number' && instances > 1) yield ofDatabase('instances', ONE_POD_MESSAGE);
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
  if (asked === has || status?.databaseVolumeUid === undefined) return;
  yield {
    loc: ['source_config', 'database', 'driver'],
    msg: driverFixedMessage(name, has, asked),
    type: 'frozen_field',
  };
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
