// What the store of backups has, as a Job in the namespace reads it.

import type { DatabaseRestore } from '../../schema/database.ts';
import { isBackupName } from '../../schema/database-names.ts';
import { FETCH_CONTAINER } from '../../schema/meta.ts';
import type { StoredBackup, StoredBackups } from '../../schema/stored-backups.ts';
import type { Context } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure, ignoreFailure, isForbidden } from '../transport/kubectl.ts';
import { createJob, untilJob } from './jobs.ts';
import { jsonIn } from './json.ts';
import type { Listing } from './listing-job.ts';

export type { StoredBackup };

function unreadable(words: string): string {
  return `The store of backups could not be read. ${words}`;
}

/** Newest first. The Job is deleted. On a terminal it says at once that it looks, and elsewhere when that takes longer. Throws Failure. */
export async function storedBackups(
  {
    kubectl,
    warn,
    onInterrupt,
    clock,
    terminal,
  }: Pick<Context, 'kubectl' | 'warn' | 'onInterrupt' | 'clock' | 'terminal'>,
  listing: Listing,
): Promise<readonly StoredBackup[]> {
  const { listingJob } = await import('./listing-job.ts');
  let isSaid = false;
  const say = (): void => {
    if (!isSaid) warn(`Reading the store's list of backups of ${listing.from}.`);
    isSaid = true;
  };
  if (terminal.isInteractive) say();
  const job = await createJob(kubectl, listingJob(listing));
  // It goes an hour after its end without this.
  const remove = (): Promise<unknown> =>
    kubectl(['delete', 'jobs.batch', job, '--ignore-not-found', '--wait=false']).catch(ignoreFailure);
  let isRead = false;
  onInterrupt(() => {
    // kubectl outlives this program.
    if (!isRead) void remove();
    return undefined;
  });
  try {
    let looks = 0;
    await untilJob(kubectl, job, {
      clock,
      warn,
      until({ is }) {
        if (is === 'complete') return true;
        looks += 1;
        // A second after the first look.
        if (looks > 1) say();
        return undefined;
      },
      failed: unreadable,
    });
    const text = await kubectl(['logs', `job/${job}`, `--container=${FETCH_CONTAINER}`]);
    // What it has warned of stands beside.
    const line = text.split('\n').find((one) => one.startsWith('{'));
    const { backups } = jsonIn<Partial<StoredBackups>>(line) ?? {};
    if (!Array.isArray(backups)) throw new Failure('The store of backups could not be read: its list is no JSON.');
    return (backups as StoredBackups['backups']).filter(({ name }) => isBackupName(name));
  } finally {
    await remove();
    isRead = true;
  }
}

interface Choice {
  readonly which: Readonly<DatabaseRestore>;
  /** The deployment whose CronJob knows the store. */
  readonly name: string;
  /** What the refusal begins with. */
  readonly nothing: string;
}

/**
 * The backup that --at or --backup chooses, or the newest. `all`: newest first. Throws Failure, with what can be asked for, if the store
 * has none.
 */
export function chosenBackup(
  all: readonly StoredBackup[],
  { which: { from, backup, at }, name, nothing }: Choice,
): StoredBackup {
  const found = all.find((one) =>
    backup === undefined ? at === undefined || Date.parse(one.takenAt) <= Date.parse(at) : one.name === backup,
  );
  if (found !== undefined) return found;
  const [newest, oldest] = [all[0], all.at(-1)];
  if (!newest || !oldest) throw new Failure(`${nothing}: the store has no backup of ${from}.`);
  const asked = backup === undefined ? `backup of ${at} or before` : `backup ${backup}`;
  const others = from === name ? '' : ` --from ${from}`;
  throw new Failure(
    `${nothing}: the store has no ${asked} of ${from}. The earliest is of ${oldest.takenAt}, the latest of ${newest.takenAt}. All: ${PROGRAM} backups ${name}${others}`,
  );
}

/** For what goes on where the caller may not look. Throws what is another failure. */
export function ignoreForbidden(error: unknown): undefined {
  if (!isForbidden(error)) throw error;
}
