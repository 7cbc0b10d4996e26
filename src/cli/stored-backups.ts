// What the store of backups has, as a Job in the namespace reads it.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { isBackupName } from '../schema/database-names.ts';
import { FETCH_CONTAINER } from '../schema/meta.ts';
import type { StoredBackup, StoredBackups } from '../schema/stored-backups.ts';
import type { Context } from './command.ts';
import { createJob, untilJob } from './jobs.ts';
import { jsonIn } from './json.ts';
import { Failure, ignoreFailure } from './kubectl.ts';

export type { StoredBackup };

export interface Listing {
  /** Its CronJob knows the store. */
  readonly record: AppDeployment;
  readonly cronJob: ICronJob;
  /** Whose backups. */
  readonly from: string;
}

/** Newest first. The Job is deleted. Throws Failure. */
export async function storedBackups(
  { kubectl, warn, onInterrupt, clock }: Pick<Context, 'kubectl' | 'warn' | 'onInterrupt' | 'clock'>,
  listing: Listing,
): Promise<readonly StoredBackup[]> {
  const { listingJob } = await import('./restore-job.ts');
  const job = await createJob(kubectl, listingJob(listing));
  // It goes an hour after its end without this.
  const remove = (): Promise<unknown> =>
    kubectl(['delete', 'jobs.batch', job, '--ignore-not-found', '--wait=false']).catch(ignoreFailure);
  onInterrupt(() => {
    // kubectl outlives this program.
    void remove();
    return 'The list was not read.';
  });
  try {
    await untilJob(kubectl, job, {
      clock,
      warn,
      until: ({ is }) => (is === 'complete' ? true : undefined),
      failed: (words) =>
        `The store of backups could not be read. ${words} A Davit of before kubectl davit backups cannot list it.`,
    });
    const text = await kubectl(['logs', `job/${job}`, `--container=${FETCH_CONTAINER}`]);
    // What it has warned of stands beside.
    const line = text.split('\n').find((one) => one.startsWith('{'));
    const { backups } = jsonIn<Partial<StoredBackups>>(line) ?? {};
    if (!Array.isArray(backups)) throw new Failure('The store of backups could not be read: its list is no JSON.');
    return (backups as StoredBackups['backups']).filter(({ name }) => isBackupName(name));
  } finally {
    await remove();
  }
}
