// The operation on the datastores of a record.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { DatastoreOperation } from '../../schema/datastore-operation.ts';
import { isBegun, isEnded } from '../../schema/operation-phases.ts';
import { isOwnedBy } from '../record/metadata.ts';
import { type Caches, DEPLOYMENT_NAMED } from './caches.ts';

/** The operation that works on the database or Redis of a record now, and does more than a backup. */
export function operationOn({ metadata }: AppDeployment, { operations }: Caches): DatastoreOperation | undefined {
  const all = operations.byIndex(metadata.namespace ?? '', DEPLOYMENT_NAMED, metadata.name);
  return all.find((one) => isBegun(one) && !isEnded(one) && isOwnedBy(one, metadata.uid));
}
