// The backups that the platform makes of databases whose records do not say otherwise. Pure.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { type Database, type DatabaseBackup, withBackupDefault } from '../../kinds/database.ts';
import type { Settings } from '../../kinds/settings.ts';

/** Undefined where the platform makes none. */
export function backupDefault({ backups }: Pick<Settings, 'backups'>): DatabaseBackup | undefined {
  const { store, default: wanted } = backups;
  return store !== undefined && wanted.enabled ? { verify: wanted.verify } : undefined;
}

/** What the record asks for its database, or else the platform. */
export function databaseAsked(record: AppDeployment, settings: Settings): Readonly<Database> | undefined {
  return withBackupDefault(record.spec.sourceConfig.database, backupDefault(settings));
}
