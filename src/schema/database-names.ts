// Names that the schema and kubectl-davit have in common: nothing of zod.

/** What runs a record's own PostgreSQL: one pod of Davit's, CloudNativePG, or a server that records share. */
export const DATABASE_DRIVERS = ['pod', 'cloudnative-pg', 'shared'] as const;

/** In place of the driver, where a record was moved to a database that is not Davit's. */
export const EXTERNAL_DATABASE = 'external';

/** As `archiveName` makes it. */
export const BACKUP_NAME_PATTERN = '^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$';
const BACKUP_NAME = new RegExp(BACKUP_NAME_PATTERN);

export function isBackupName(text: string): boolean {
  return BACKUP_NAME.test(text);
}

/** Databases of a record that were moved from before they had their data: far more than anybody moves in vain. */
export const MOST_NEVER_LOADED = 100;
