// How the work of an operation ended, by what its pods and CloudNativePG say.

import { lastWords } from '../deployments/assess/database-jobs.ts';
import { type Job, jobEnd } from '../deployments/assess/jobs.ts';
import type { Pod } from '../deployments/assess/observed.ts';
import { jsonOf } from '../lib/json-value.ts';
import { youngestFirst } from '../lib/kube/youngest-first.ts';
import { SentBackup } from '../schema/database.ts';
import type { DatastoreOperationStatus } from '../schema/datastore-operation.ts';
import { UPLOAD_CONTAINER } from '../schema/meta.ts';
import { quoted } from '../schema/text.ts';
import type { BaseBackup } from './observed.ts';

type MadeBackup = NonNullable<DatastoreOperationStatus['backup']>;

/** What the container that has sent it said. Its pod may be anybody's work, so nothing is believed unread. */
export function sentBackup(pods: readonly Pod[]): MadeBackup | undefined {
  return pods.flatMap(({ status }) => {
    const end = status?.containerStatuses?.find(({ name }) => name === UPLOAD_CONTAINER)?.state?.terminated;
    return end?.exitCode === 0 ? (SentBackup.safeParse(jsonOf(end.message)).data ?? []) : [];
  })[0];
}

/** The last words of the container that failed, or those of the Job. */
export function wordsOfFailure(job: Job, pods: readonly Pod[]): string {
  const words = youngestFirst(pods).flatMap(lastWords)[0] ?? quoted(jobEnd(job, 'Failed')?.message);
  return `The backup failed, and the store has no more than before. ${words}.`;
}

/** Phases of a backup that has not ended. The last one waits until changes reach the archive again. */
const UNENDED: ReadonlySet<string> = new Set([
  '',
  'pending',
  'started',
  'running',
  'finalizing',
  'walArchivingFailing',
]);

export function isUnended({ status }: BaseBackup): boolean {
  return UNENDED.has(status?.phase ?? '');
}

/** Undefined while it is being made. Source: postgresql.cnpg.io/v1, "Backup". */
export function endedBase(base: BaseBackup): { readonly backup: MadeBackup } | { readonly failed: string } | undefined {
  if (isUnended(base)) return undefined;
  const { phase, error, startedAt = '', stoppedAt = startedAt } = base.status ?? {};
  if (phase !== 'completed') return { failed: `The base backup failed. CloudNativePG says: ${quoted(error ?? phase)}` };
  return { backup: { takenAt: stoppedAt } };
}
