// Where a record's own stores answer. `<service>.<namespace>.svc` resolves with every cluster domain.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { Resolved } from '../../kinds/app-revision.ts';
import { accessOf, type DatabaseAccess } from '../record/database-driver.ts';
import { namespaceOf } from '../record/metadata.ts';
import { names } from '../record/names.ts';

export function postgresHost(record: AppDeployment, databaseNumber = 0): string {
  return `${names(record.metadata.name, databaseNumber).postgresService}.${namespaceOf(record)}.svc`;
}

export function redisHost(record: AppDeployment): string {
  return `${names(record.metadata.name).redisService}.${namespaceOf(record)}.svc`;
}

export interface DatabasePlace extends DatabaseAccess {
  readonly host: string;
}

/** Where a record's own PostgreSQL answers, and as whom it is used. */
export function databasePlace(
  record: AppDeployment,
  { postgres, movedDatabase }: Pick<Resolved, 'postgres' | 'movedDatabase'>,
): DatabasePlace {
  return { ...accessOf(postgres ?? {}), host: postgresHost(record, movedDatabase?.number) };
}
