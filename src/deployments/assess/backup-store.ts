// What is said where the namespace of a deployment has no keys for the store of backups.

import type { Observed } from './observed.ts';

/** What brings the keys, for a sentence that goes on. */
export const KEYS_ADVICE = 'An administrator creates it with the keys accessKeyId and secretAccessKey';

/** Undefined where there are keys, or no store. `so`: what cannot be done. */
export function withoutKeys({ backupStore, record }: Observed, so: string): string | undefined {
  if (backupStore === undefined || backupStore.hasCredentials) return undefined;
  return `Secret ${backupStore.secret} is missing in namespace ${record.metadata.namespace}, so ${so}.`;
}
