// The Job that makes a backup of the own PostgreSQL of a deployment now, from the CronJob of its backups, with the caller's rights. It is
// owned by that CronJob, so it counts among the runs whose Jobs are kept.

import { randomBytes } from 'node:crypto';
import type { Pod } from '../deployments/assess/observed.ts';
import { names } from '../deployments/record/names.ts';
import type { SentBackup } from '../schema/database.ts';
import { isBackupName } from '../schema/database-names.ts';
import { UPLOAD_CONTAINER } from '../schema/meta.ts';
import { lastMessages } from './jobs.ts';
import { jsonIn } from './json.ts';
import type { Kubectl } from './kubectl.ts';
import { FIELD_MANAGER } from './records.ts';

/** Returns its name, which no other one has. */
export async function startBackup(kubectl: Kubectl, name: string): Promise<string> {
  const cronJob = names(name).backup;
  // The longest name of a deployment leaves room for it in 63 characters.
  const job = `${cronJob}-${randomBytes(4).toString('hex')}`;
  await kubectl(['create', 'job', job, `--from=cronjob/${cronJob}`, FIELD_MANAGER]);
  return job;
}

/** What the container that has sent it said of it; undefined if its pod is gone, or said something else. */
export function sentBackup(pods: readonly Pod[]): SentBackup | undefined {
  const [report] = pods.flatMap((pod) => lastMessages(pod, ({ name }) => name === UPLOAD_CONTAINER));
  const { name, takenAt, sizeBytes } = jsonIn<Partial<SentBackup> | null>(report) ?? {};
  const isReport =
    isBackupName(String(name)) && !Number.isNaN(Date.parse(String(takenAt))) && Number.isSafeInteger(sizeBytes);
  return isReport ? ({ name, takenAt, sizeBytes } as SentBackup) : undefined;
}
