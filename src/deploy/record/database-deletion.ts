// Whether the deletion of a record deletes its database. Pure.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { DeletionPolicy } from '../../kinds/database-names.ts';

/**
 * The policy while the spec sets none. It does not change once a status has it, so neither other settings nor a tool that writes the record
 * back change what a deletion does. A record whose status lacks it is older than this field, when unset meant Delete.
 */
export function deletionDefault({ status }: Pick<AppDeployment, 'status'>, ofPlatform: DeletionPolicy): DeletionPolicy {
  return status?.databaseDeletionDefault ?? (status?.state === undefined ? ofPlatform : 'Delete');
}

/** The policy in force. `ofPlatform`: settings.database.deletionPolicy. */
export function databaseDeletion(
  record: Pick<AppDeployment, 'spec' | 'status'>,
  ofPlatform: DeletionPolicy,
): DeletionPolicy {
  return record.spec.databaseDeletionPolicy ?? deletionDefault(record, ofPlatform);
}
