// The backups that the store has of a record. Nobody but the pods of backups may look into it: each lists it when its own backup is there,
// and says so in its last words. So the list is that of the last run whose pod was seen. A run that nobody saw, a controller that was away,
// and somebody who deletes a backup by hand make it wrong until the next run lists the store; until then a restore of what is
// gone fails with what there is. What only the run of a backup knows, such as its number, stays with its name.

import {
  BackupReport,
  type DatabaseBackupsStatus,
  type StoredBackup,
  type StoredReport,
} from '../../kinds/database.ts';
import { MOST_LISTED, timeOfBackup } from '../../kinds/database-names.ts';
import { BACKUP, UPLOAD_CONTAINER } from '../../kinds/meta.ts';
import { endedReports } from './database-jobs.ts';
import type { ObservedChildren } from './observed.ts';

export const SENT_BACKUPS = {
  component: BACKUP,
  container: UPLOAD_CONTAINER,
  schema: BackupReport,
  timeOf: ({ takenAt }: BackupReport): string => takenAt,
} as const;

/** Undefined where none was reported yet. `verified`: name of the backup that was verified last. */
export function storedBackupsOf(
  observed: ObservedChildren,
  verified: string | undefined,
): DatabaseBackupsStatus | undefined {
  const before = observed.record.status?.databaseBackups;
  const news = endedReports(observed, SENT_BACKUPS).filter(({ endedAt }) => endedAt > (before?.listedAt ?? ''));
  const list = news.reduce<DatabaseBackupsStatus | undefined>(
    (known, { report, endedAt }) => ({ listedAt: endedAt, ...listAfter(known, report) }),
    before,
  );
  return (
    list && {
      ...list,
      newest: list.newest.map((one) => (one.name === verified && !one.verified ? { ...one, verified: true } : one)),
    }
  );
}

type List = Omit<DatabaseBackupsStatus, 'listedAt'>;

function listAfter(before: List = { count: 0, newest: [] }, report: BackupReport): List {
  const { stored, ...made } = report;
  const known = new Map([...before.newest, made].map((one) => [one.name, one]));
  if (stored === undefined) {
    const isNew = before.newest.every(({ name }) => name !== made.name);
    return { count: before.count + (isNew ? 1 : 0), newest: mostRecent([...known.values()]) };
  }
  const listed = stored.newest.flatMap((entry) => listedOne(entry, known));
  // A store may be slow to list what it has.
  const isListed = listed.some(({ name }) => name === made.name);
  return { count: stored.count + (isListed ? 0 : 1), newest: mostRecent(isListed ? listed : [...listed, made]) };
}

function listedOne(
  [name, sizeBytes, marks]: StoredReport['newest'][number],
  known: ReadonlyMap<string, StoredBackup>,
): StoredBackup[] {
  const takenAt = timeOfBackup(name);
  if (takenAt === undefined) return [];
  const marked = { ...(marks.includes('h') && { byHand: true }), ...(marks.includes('e') && { earlier: true }) };
  return [{ ...known.get(name), name, takenAt, sizeBytes, ...marked }];
}

function mostRecent(all: readonly StoredBackup[]): StoredBackup[] {
  return all.toSorted((a, b) => (a.name < b.name ? 1 : -1)).slice(0, MOST_LISTED);
}
