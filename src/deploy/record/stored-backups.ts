// Which backup a request means, by the list in the status of the deployment whose backups they are. Pure, and imports no zod at run time.

import type { DatabaseBackupsStatus, DatabaseRestore, StoredBackup } from '../../kinds/database.ts';

export interface Wanted extends Pick<DatabaseRestore, 'from' | 'at' | 'backup'> {
  /** Major version of the database that it is loaded into. Undefined where it is not known. */
  readonly postgresVersion?: number | undefined;
  /** Whether backups of earlier deployments of the name count. */
  readonly ofAllLives: boolean;
  /** Whether it is of another namespace, which allows the backups of its present deployment alone. */
  readonly isForeign?: boolean;
}

/** `backup`: undefined where the list does not decide it, and the restore does. `refused`: why there is no such backup, for people. */
type Chosen = { readonly backup: StoredBackup | undefined } | { readonly refused: string };

/** `list`: as the status of deployment `from` has it. Undefined where it has none, or there is no such deployment. */
export function listedBackup(list: DatabaseBackupsStatus | undefined, wanted: Wanted): Chosen {
  const { from, at, backup, ofAllLives, isForeign = false } = wanted;
  if (list === undefined) return { backup: undefined };
  const all = list.newest.filter(({ earlier }) => ofAllLives || earlier !== true);
  const latest = at === undefined ? Infinity : Date.parse(at);
  const found = all.find((one) => (backup === undefined ? Date.parse(one.takenAt) <= latest : one.name === backup));
  if (found) return unfit(found, wanted) ?? { backup: found };
  if (list.newest.some(({ name }) => name === backup))
    return {
      refused: isForeign
        ? `Backup ${backup} belongs to an earlier deployment ${from}. The current one allows only its own backups.`
        : `Backup ${backup} belongs to an earlier deployment ${from}. To use it anyway, name that deployment in restore.from, or with --from ${from}.`,
    };
  const oldestListed = list.newest.at(-1);
  const isBeyond = oldestListed !== undefined && (backup ?? oldestListed.name) <= oldestListed.name;
  if (list.count > list.newest.length && isBeyond) return { backup: undefined };
  const [newest, oldest] = [all[0], all.at(-1)];
  if (!newest || !oldest) return { refused: `The store has no backup of ${from}.` };
  const asked = backup === undefined ? `backup from ${at} or before` : `backup ${backup}`;
  return {
    refused: `The store has no ${asked} of ${from}. The earliest is from ${oldest.takenAt}, the latest from ${newest.takenAt}. To list them: kubectl davit backups ${from}`,
  };
}

/** A newer server reads the dumps of an older one, and no older one reads those of a newer one. */
function unfit({ name, postgresVersion: needs }: StoredBackup, { postgresVersion: has }: Wanted): Chosen | undefined {
  if (needs === undefined || has === undefined || needs <= has) return undefined;
  return {
    refused: `Backup ${name} was made by PostgreSQL ${needs}, but the new database would have the older version ${has}. Choose an older backup, or ask the platform team for a newer image of PostgreSQL.`,
  };
}
