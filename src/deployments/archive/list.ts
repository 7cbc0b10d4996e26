// Lists the backups that are in the store.

import type { ObjectStore } from '../../lib/outbound/object-store.ts';
import { rfc3339 } from '../../schema/conditions.ts';
import type { StoredBackups } from '../../schema/stored-backups.ts';
import { backupsAmong, dumpKey, type Owner, timeOf } from './archive.ts';

/** The complete ones of all lives of a deployment, newest first. Throws StoreFailed. */
export async function listBackups(store: ObjectStore, from: Omit<Owner, 'uid'>): Promise<StoredBackups> {
  const objects = await store.list(`${from.prefix}/${from.namespace}/${from.deployment}/`);
  const sizes = new Map(objects.map(({ key, size }) => [key, size]));
  const complete = backupsAmong([...sizes.keys()], from).filter(({ isComplete }) => isComplete);
  return {
    backups: complete.map(({ name, owner }) => ({
      name,
      takenAt: rfc3339(new Date(timeOf(name) ?? 0)),
      sizeBytes: sizes.get(dumpKey(owner, name)) ?? 0,
      uid: owner.uid,
    })),
  };
}
