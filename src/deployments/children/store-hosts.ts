// Where a record's own stores answer. `<service>.<namespace>.svc` resolves with every cluster domain.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { Resolved } from '../../schema/app-revision.ts';
import { accessOf, type DatabaseAccess } from '../record/database-driver.ts';
import { namespaceOf, uidOf } from '../record/metadata.ts';
import { names } from '../record/names.ts';
import { sharedDatabaseName } from '../record/shared-database.ts';
import { POSTGRES_PORT } from './database/service.ts';

export function postgresHost(record: AppDeployment, databaseNumber = 0): string {
  return `${names(record.metadata.name, databaseNumber).postgresService}.${namespaceOf(record)}.svc`;
}

export function redisHost(record: AppDeployment): string {
  return `${names(record.metadata.name).redisService}.${namespaceOf(record)}.svc`;
}

export interface DatabasePlace extends DatabaseAccess {
  readonly host: string;
  readonly port: number;
  readonly sslMode: string;
}

/** Where a record's PostgreSQL answers, and as whom it is used: its own one, or its database on the shared server. */
export function databasePlace(
  record: AppDeployment,
  { postgres, sharedDatabase, movedDatabase }: Pick<Resolved, 'postgres' | 'sharedDatabase' | 'movedDatabase'>,
): DatabasePlace {
  if (sharedDatabase === undefined)
    return {
      ...accessOf(postgres ?? {}),
      host: postgresHost(record, movedDatabase?.number),
      port: POSTGRES_PORT,
      sslMode: 'disable',
    };
  const { installation, host, port, sslMode } = sharedDatabase;
  const name = sharedDatabaseName(installation, uidOf(record));
  return { user: name, database: name, host, port, sslMode };
}
