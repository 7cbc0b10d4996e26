// How the work of an operation ended, by what its pods and CloudNativePG say.

import type { BaseBackup } from '../deploy/assess/base-backups.ts';
import { lastWords } from '../deploy/assess/database-jobs.ts';
import { hasEnded, type Job, jobEnd, podMissed, untilPodMissedMs } from '../deploy/assess/jobs.ts';
import type { Pod } from '../deploy/assess/observed.ts';
import { isUnended as isUnendedPod, workFailure } from '../deploy/assess/pod-failures.ts';
import { withOverdue } from '../deploy/assess/terminating-pods.ts';
import type { BackupKind } from '../deploy/record/backup-request.ts';
import { SentBackup } from '../kinds/database.ts';
import type { DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import { UPLOAD_CONTAINER } from '../kinds/meta.ts';
import { quoted } from '../kinds/text.ts';
import { jsonOf } from '../runtime/json-value.ts';
import { youngestFirst } from '../runtime/kube/youngest-first.ts';
import type { Said } from './steps.ts';

type MadeBackup = NonNullable<DatastoreOperationStatus['backup']>;

/** What the container that has sent it said. Its pod may be anybody's work, so nothing is believed unread. */
function sentBackup(pods: readonly Pod[]): MadeBackup | undefined {
  return pods.flatMap(({ status }) => {
    const end = status?.containerStatuses?.find(({ name }) => name === UPLOAD_CONTAINER)?.state?.terminated;
    return end?.exitCode === 0 ? (SentBackup.safeParse(jsonOf(end.message)).data ?? []) : [];
  })[0];
}

type Dump =
  | { readonly is: 'running'; readonly said: Said }
  | { readonly is: 'failed'; readonly said: Said }
  /** `backup`: undefined where its pod does not say any more which one it made. `at`: RFC 3339. */
  | { readonly is: 'complete'; readonly backup: MadeBackup | undefined; readonly at: string | undefined };

/** How far the Job of a dump is. `pods`: its own. */
export function dumpOf(job: Job, pods: readonly Pod[], now: Date): Dump {
  const lacksPod = untilPodMissedMs(job, pods, now.getTime()) === 0;
  const doing = lacksPod ? podMissed(job) : `Job ${job.metadata.name} makes the backup.`;
  const running = { reason: 'BackupRunning', message: doing };
  // The pod has ended, and the cache of pods does not show it yet.
  if (hasEnded(job) && pods.some(isUnendedPod)) return { is: 'running', said: running };
  const failed = jobEnd(job, 'Failed');
  if (failed) {
    const words = youngestFirst(pods).flatMap(lastWords)[0] ?? quoted(failed.message);
    const message = `The backup failed, and nothing was added to the store. ${words}.`;
    return { is: 'failed', said: { reason: 'BackupFailed', message } };
  }
  const complete = jobEnd(job, 'Complete');
  if (complete) return { is: 'complete', backup: sentBackup(pods), at: complete.lastTransitionTime };
  const { reason, message } = workFailure(withOverdue(pods.filter(isUnendedPod), now)) ?? running;
  return { is: 'running', said: { reason, message } };
}

/** Why there is nothing yet that a backup is made from. */
export const NOT_SCHEDULED: Readonly<Record<BackupKind, Said>> = {
  dump: {
    reason: 'NotScheduled',
    message: 'Davit has not created the CronJob of backups yet. See condition BackupReady of the deployment.',
  },
  base: {
    reason: 'NotScheduled',
    message: 'CloudNativePG has no schedule of base backups yet. See condition ArchiveReady of the deployment.',
  },
};

export function workDeleted(work: string): Said {
  return { reason: 'WorkDeleted', message: `${work} was deleted before it ended.` };
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
  if (phase !== 'completed')
    return { failed: `The base backup failed. CloudNativePG reports: ${quoted(error ?? phase)}` };
  return { backup: { takenAt: stoppedAt } };
}
