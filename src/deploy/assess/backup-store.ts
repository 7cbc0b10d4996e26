// What is said where the platform has no store for backups, or the namespace of a deployment no keys for it.

import type { Entry } from './entry.ts';
import type { Observed } from './observed.ts';

/** For a record that asks for a restore. */
export const OR_WITHOUT = ', or remove source_config.database.restore';

type Make = (reason: 'BackupStoreMissing' | 'BackupCredentialsMissing', message: string) => Entry;

/** `so`: what cannot be done. `then`: what follows, or what to do instead, with its punctuation. */
export function storeMissing({ backupStore }: Observed, make: Make, so: string, then: string): Entry | undefined {
  if (backupStore !== undefined) return undefined;
  const message = `This platform has no backup store, so ${so}. Ask the platform team to set settings.backups.store${then}.`;
  return make('BackupStoreMissing', message);
}

/** The entry for a namespace without the keys of the store. Undefined if they exist, or without a store. */
export function keysMissing({ backupStore, record }: Observed, make: Make, so: string, then = ''): Entry | undefined {
  if (backupStore === undefined || backupStore.hasCredentials) return undefined;
  return make(
    'BackupCredentialsMissing',
    `Secret ${backupStore.secret} is missing in namespace ${record.metadata.namespace}, so ${so}. Ask an administrator to create it with the keys accessKeyId and secretAccessKey${then}.`,
  );
}
