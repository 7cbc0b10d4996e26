// Makes a backup of the database of a deployment now, and waits until it is there.

import { hasEnded, type Job } from '../deployments/assess/jobs.ts';
import { backupToMake } from '../deployments/record/backup-request.ts';
import { isOwnedBy } from '../deployments/record/metadata.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { conditionOf } from '../schema/conditions.ts';
import type { SentBackup } from '../schema/database.ts';
import { BACKUP, COMPONENT_LABEL, isPaused } from '../schema/meta.ts';
import { bytesText } from '../schema/text.ts';
import { sentBackup, startBackup } from './backup-job.ts';
import { type Command, type Context, DEPLOYMENT, OUTPUT, ownTimeoutFlag, tell } from './command.ts';
import { untilJob } from './jobs.ts';
import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { listOf, readRecord } from './records.ts';
import { cronJobOf } from './restore.ts';
import { explainRight } from './rights.ts';
import { withinTime } from './time-limit.ts';
import { untilReported } from './until-reported.ts';

export const backupCommand: Command = {
  name: 'backup',
  purpose: 'make a backup of its database now, and wait until it is in the store',
  words: [DEPLOYMENT],
  flags: [
    { name: 'archive', help: 'make a base backup of its archive instead; so it is where it has no other backups' },
    ownTimeoutFlag('end after this time (exit code 124); the backup goes on'),
    OUTPUT,
  ],
  about: `A Job in the namespace makes it, from the CronJob of the scheduled backups, with the rights of the caller. It counts as one of these: as
many are kept in the store as the deployment asks for. Nothing is stopped meanwhile, and a deployment with a scale of 0 is backed up
as well. With --archive, CloudNativePG makes a base backup.

  PROGRAM backup shop
  PROGRAM backups shop`,
  changes: { nothing: 'No backup was made.', by: ['create'] },
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
    } = context;
    const record = await readRecord(kubectl, name);
    const decided = backupToMake(record, flags.has('archive'));
    if ('refused' in decided) throw new Failure(decided.refused);
    if (decided.kind === 'dump') return makeDump(context, record);
    const { makeBaseBackup } = await import('./base-backup.ts');
    return makeBaseBackup(context, record);
  },
};

const NEED = 'a backup';

async function makeDump(context: Context, record: AppDeployment): Promise<number> {
  const { kubectl, warn, onInterrupt, clock, suggested } = context;
  const { name } = record.metadata;
  const { metadata: cronJob } = await cronJobOf(kubectl, name).catch(explainRight(NEED));
  await needNoneRunning(context, name, cronJob?.uid).catch(explainRight(NEED));
  sayTrouble(record, warn);
  const job = await startBackup(kubectl, name).catch(explainRight(NEED));
  warn(`Job ${job} makes the backup.`);
  onInterrupt(() => `Job ${job} goes on. To end it: kubectl delete job ${job}${suggested}`);
  const limited = withinTime(context, {
    message: (seconds) => `The backup is not made after ${seconds} s. Job ${job} goes on.`,
    hint: `${PROGRAM} status ${name}`,
  });
  const pods = await untilJob(limited.kubectl, job, {
    clock,
    warn,
    until: (state) => (state.is === 'complete' ? state.pods : undefined),
    failed: (words) =>
      `The backup failed, and the store has no more than before. ${words}\nAll that its pod said: kubectl logs job/${job} --all-containers${suggested}`,
  });
  const sent = sentBackup(pods);
  const listed = await untilListed(limited, record, sent);
  const made = sent ?? listed;
  if (made === undefined)
    throw new Failure(
      `Job ${job} has ended, and its pod does not say any more which backup it made. What the store has: ${PROGRAM} backups ${name}`,
    );
  if (listed === undefined) warn(`The status of ${name} does not have it yet.`);
  tell(context, {
    says: `Backup ${made.name} of ${name} is in the store. It has the state of ${made.takenAt}, and ${bytesText(made.sizeBytes)}.`,
    result: { name, job, backup: made },
  });
  return 0;
}

/**
 * The CronJob has none begin beside another, and two dumps at once are slower than one after the other. Throws Failure. `cronJobUid`: of
 * the CronJob, which owns every Job that makes a backup.
 */
async function needNoneRunning(
  { kubectl, clock, suggested }: Context,
  name: string,
  cronJobUid: string | undefined,
): Promise<void> {
  const jobs = await listOf<Job>(kubectl, 'jobs.batch', name, { [COMPONENT_LABEL]: BACKUP });
  const own = jobs.filter((job) => isOwnedBy(job, cronJobUid));
  const running = own.find((job) => mayStillEnd(job, clock.now()));
  if (running === undefined) return;
  const { metadata, status } = running;
  const since = status?.startTime ?? metadata.creationTimestamp;
  const job = `${metadata.name}${suggested}`;
  throw new Failure(
    `Job ${metadata.name} makes a backup of ${name} already, since ${since}. To wait for it: kubectl wait --for=condition=Complete --timeout=1h job/${job}. To end it: kubectl delete job ${job}`,
  );
}

/** So long after its deadline Kubernetes may end a Job, in milliseconds. */
const ENDED_MS = 300_000;

/** Whether it is a run of which Kubernetes will see the end, so that one can wait for it: not one that somebody has suspended. */
function mayStillEnd(job: Job, now: number): boolean {
  if (hasEnded(job) || job.spec?.suspend === true) return false;
  const { activeDeadlineSeconds = Number.POSITIVE_INFINITY } = job.spec ?? {};
  const since = Date.parse(job.status?.startTime ?? job.metadata.creationTimestamp ?? '');
  return Number.isNaN(since) || now < since + activeDeadlineSeconds * 1000 + ENDED_MS;
}

/** A database that does not answer is tried for two minutes, for it may be starting. */
function sayTrouble({ status }: AppDeployment, warn: Context['warn']): void {
  const ready = conditionOf(status?.conditions, 'DatabaseReady');
  if (ready?.status === 'False') warn(`Its database may not answer, and is tried for two minutes. ${ready.message}`);
}

/** So long the controller may take to tell what a pod has reported, in milliseconds. */
const REPORTED_MS = 30_000;

/** The backup as the status has it; undefined if it is not there in time. `sent`: undefined if only the status can tell. */
function untilListed(
  context: Context,
  before: AppDeployment,
  sent: SentBackup | undefined,
): Promise<SentBackup | undefined> {
  const earlier = before.status?.databaseBackup?.name;
  return untilReported(context, before.metadata.name, {
    // Nothing is written of a paused record.
    forMs: isPaused(before.metadata.annotations) ? 0 : REPORTED_MS,
    find({ status }) {
      const { name, lastSuccessAt: takenAt = '', sizeBytes = 0 } = status?.databaseBackup ?? {};
      const isIt = sent === undefined ? name !== earlier : name === sent.name || takenAt > sent.takenAt;
      return name !== undefined && isIt ? (sent ?? { name, takenAt, sizeBytes }) : undefined;
    },
  });
}
