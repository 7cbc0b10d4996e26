// Whether a datastore can restart with the image of the platform, and with which. The facade asks before the operation is created, and the
// controller before it begins.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { DatastoreOperationSpec, DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import { STORE_NAMES, type StorePart } from '../kinds/meta.ts';
import type { Loss } from '../kinds/operation-phases.ts';
import { whyNoDatabase } from './decide-move.ts';

export type Patch = NonNullable<DatastoreOperationStatus['patch']>;

export type PatchDecided =
  | { readonly patch: Patch }
  /** Why it cannot be done, and what to do, for people. */
  | { readonly refused: string; readonly reason: 'NotPossible' }
  /** `loses`: what it loses, as a sentence; somebody may accept `loss`. */
  | { readonly refused: string; readonly reason: 'NotAccepted'; readonly loss: Loss; readonly loses: string };

/** So long a verified backup counts. */
const BACKUP_COUNTS_MS = 24 * 3_600_000;

export function decidePatch(
  record: AppDeployment,
  { patch, accept = [] }: Pick<DatastoreOperationSpec, 'patch' | 'accept'>,
  now: Date,
): PatchDecided {
  const { datastore = 'postgres' } = patch ?? {};
  const { name } = record.metadata;
  const what = STORE_NAMES[datastore];
  const refused = whyNoDatabase(record);
  if (refused !== undefined) return impossible(refused);
  const found = record.status?.datastores?.[datastore];
  if (!found) return impossible(`${name} has no ${what} of Davit. Patch an external one where it runs.`);
  const { image: from, available: to } = found;
  if (to === undefined)
    return impossible(
      `${what} of ${name} has image ${from}. The settings of the platform have no newer image of the same major version and base. ${otherImage(datastore, name)}`,
    );
  const loss = datastore === 'redis' ? 'QueueLost' : hasRecentBackup(record, now) ? undefined : 'NoBackup';
  if (loss === undefined || accept.includes(loss)) return { patch: { datastore, from, to } };
  const accepted = `kubectl davit datastores patch ${name} --datastore ${datastore} --accept ${loss}`;
  const loses = LOSES[loss](name);
  return { refused: `${loses} To patch it anyway: ${accepted}`, reason: 'NotAccepted', loss, loses };
}

function impossible(refused: string): PatchDecided {
  return { refused, reason: 'NotPossible' };
}

function otherImage(datastore: StorePart, name: string): string {
  return datastore === 'postgres'
    ? `For another major version or base: kubectl davit database upgrade ${name}`
    : 'The next revision brings another major version or base.';
}

const LOSES: Readonly<Record<Loss, (name: string) => string>> = {
  NoBackup: (name) => `No backup of ${name} was verified in the last 24 hours.`,
  QueueLost: (name) => `Redis of ${name} has no volume, so a restart loses its queue.`,
};

function hasRecentBackup({ status }: AppDeployment, now: Date): boolean {
  const {
    databaseVerification: { name, takenAt = '', verifiedAt } = {},
    databaseBackups,
    databaseNumber = 0,
  } = status ?? {};
  const all = databaseBackups?.newest ?? [];
  const isOfAnother = ({ earlier, number = databaseNumber }: (typeof all)[number]): boolean =>
    earlier === true || number !== databaseNumber;
  const listed = all.filter((one) => one.verified && !isOfAnother(one));
  const isCounted = verifiedAt !== undefined && !all.some((one) => one.name === name && isOfAnother(one));
  const times = [...(isCounted ? [takenAt] : []), ...listed.map((one) => one.takenAt)];
  return times.some((time) => now.getTime() - Date.parse(time) < BACKUP_COUNTS_MS);
}
