// What every record that an API server has seen has, and the type cannot promise.

import type { AppDeployment } from '../api/app-deployment.ts';

/** Throws for a record that no API server has seen. */
export function uidOf(record: AppDeployment): string {
  if (record.metadata.uid === undefined) throw new TypeError(`AppDeployment ${record.metadata.name} has no uid`);
  return record.metadata.uid;
}

/** Throws for a record that no API server has seen. */
export function namespaceOf(record: AppDeployment): string {
  if (record.metadata.namespace === undefined)
    throw new TypeError(`AppDeployment ${record.metadata.name} has no namespace`);
  return record.metadata.namespace;
}
