// The CronJob that backs up a record's own PostgreSQL. An init container of the database's image writes a dump into the pod, and a
// container of Davit's image takes it to the store. Only the second one has the store's credentials, only the first the password.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import { type BackupPlan, backupPlanOf } from '../../../schema/database.ts';
import { BACKUP, DUMP_CONTAINER, UPLOAD_CONTAINER } from '../../../schema/meta.ts';
import { databaseAsked } from '../../record/backup-default.ts';
import { databaseNumberOf } from '../../record/database-move.ts';
import { uidOf } from '../../record/metadata.ts';
import { names } from '../../record/names.ts';
import type { Inputs } from '../inputs.ts';
import type { Manifest } from '../manifest.ts';
import { AWAIT_SERVER } from './await-server.ts';
import { dumpWithContents } from './contents-script.ts';
import { makeDatabaseCronJob } from './cron-job.ts';
import { backupMeans, type DatabaseJob, inStore, inWholeDatabase, jobPod } from './job-pod.ts';
import { OWN_WORDS } from './own-words.ts';
import { verificationPlan } from './verification.ts';

const PG_DUMP = 'pg_dump -w -F custom --no-owner --no-privileges -f dump';
const dumpBy = (lines: string): string => `set -eu
umask 077
date -u +%Y-%m-%dT%H:%M:%SZ > taken-at
${OWN_WORDS}${AWAIT_SERVER}${lines}pg_restore --list dump > /dev/null
`;
/** The dump is read once more, because a file that pg_restore cannot read is no backup. */
export const DUMP = dumpBy(`${PG_DUMP} 2> problem || own_words $?
`);
/** Also \`contents\`, by which a restore is judged. They cost as much again as the dump. */
export const DUMP_WITH_CONTENTS = dumpBy(dumpWithContents(PG_DUMP));

interface Backed extends DatabaseJob {
  readonly plan: BackupPlan;
}

/** What is backed up; undefined if no backups are asked for, or the record has no own PostgreSQL, or the platform has no store. */
export function backedUp(inputs: Inputs): Backed | undefined {
  const { record, revision, settings } = inputs;
  const { postgres } = revision.spec.resolved;
  const plan = backupPlanOf(databaseAsked(record, settings), record.metadata.name);
  const means = backupMeans(settings);
  return postgres && plan && means && { inputs, postgres, plan, means };
}

/** Undefined if nothing is backed up. */
export function makeBackup(inputs: Inputs): Manifest<ICronJob> | undefined {
  const { record, revision, settings } = inputs;
  const backed = backedUp(inputs);
  if (!backed) return undefined;
  const { plan } = backed;
  const { database } = record.spec.sourceConfig;
  const { keep = settings.backups.keep, keepDays = settings.backups.keepDays } = database?.backup ?? {};
  const { databaseBackup, databaseVerification } = record.status ?? {};
  const script = verificationPlan(inputs) === undefined ? DUMP : DUMP_WITH_CONTENTS;
  const pod = jobPod(backed, {
    initContainers: [inWholeDatabase(backed, DUMP_CONTAINER, script)],
    containers: [
      inStore(backed, UPLOAD_CONTAINER, [
        'send',
        `--deployment=${record.metadata.name}`,
        `--uid=${uidOf(record)}`,
        `--number=${databaseNumberOf(revision)}`,
        `--keep=${keep}`,
        ...(keepDays === undefined ? [] : [`--keep-days=${keepDays}`]),
        ...(databaseVerification?.name === undefined ? [] : [`--verified=${databaseVerification.name}`]),
      ]),
    ],
  });
  const { backup: name } = names(record.metadata.name);
  const isHeld = databaseBackup?.heldAfter !== undefined;
  return makeDatabaseCronJob(inputs, { name, component: BACKUP, plan, pod, isHeld });
}
