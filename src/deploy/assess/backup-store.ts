// What is said where the platform has no store for backups, or the namespace of a deployment no keys for it.

import type { Entry } from './entry.ts';
import type { Observed } from './observed.ts';

/** For a record that asks for a restore. */
export const OR_WITHOUT = ', or remove source_config.database.restore';

type Make = (reason: 'BackupStoreMissing' | 'BackupCredentialsMissing', message: string) => Entry;

/** `so`: what cannot be done. `then`: what follows, or what to do instead, with its punctuation. */
export function storeMissing({ backupStore }: Observed, make: Make, so: string, then: string): Entry | undefined {
  if (backupStore !== undefined) return undefined;
  const message = `This platform has no store for backups, so ${so}. Ask the platform team to set settings.backups.store${then}.`;
  return make('BackupStoreMissing', message);
}

/** The same of the keys. Undefined where there is no store. */
export function keysMissing({ backupStore, record }: Observed, make: Make, so: string, then = ''): Entry | undefined {
  if (backupStore === undefined || backupStore.hasCredentials) return undefined;
  return make(
    'BackupCredentialsMissing',
    `Secret ${backupStore.secret} is missing in namespace ${record.metadata.namespace}, so ${so}. An administrator creates it with the keys accessKeyId and secretAccessKey${then}.`,
  );
}
