// What a record names in Secrets, wherever it stands in the record.

import type { SecretReference } from '../api/app-deployment.ts';

/** A record's spec, or a revision's `requested`. */
export interface NamesSecrets {
  readonly secrets: readonly SecretReference[];
  readonly secretReferences?: readonly SecretReference[] | undefined;
}

/** All of them, `secrets` before `secretReferences`. */
export function referencesOf({ secrets, secretReferences = [] }: NamesSecrets): SecretReference[] {
  return [...secrets, ...secretReferences];
}
