// Metadata that every record from an API server has, although its type does not guarantee it.

import type { AppDeployment } from '../api/app-deployment.ts';

/** Throws for a record that was not read from an API server. */
export function uidOf(record: AppDeployment): string {
  if (record.metadata.uid === undefined) throw new TypeError(`AppDeployment ${record.metadata.name} has no uid`);
  return record.metadata.uid;
}

/** Throws for a record that was not read from an API server. */
export function namespaceOf(record: AppDeployment): string {
  if (record.metadata.namespace === undefined)
    throw new TypeError(`AppDeployment ${record.metadata.name} has no namespace`);
  return record.metadata.namespace;
}
