// The CronJob that backs up a record's own PostgreSQL. An init container of the database's image writes a dump into the pod, and a
// container of Davit's image takes it to the store. Only the second one has the store's credentials, only the first the password.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import { type BackupPlan, backupPlanOf } from '../../../kinds/database.ts';
import { BACKUP, DUMP_CONTAINER, UPLOAD_CONTAINER } from '../../../kinds/meta.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import { databaseAsked } from '../../record/backup-default.ts';
import { databaseNumberOf } from '../../record/database-move.ts';
import { uidOf } from '../../record/metadata.ts';
import { names } from '../../record/names.ts';
import type { Inputs } from '../inputs.ts';
import { makeDatabaseCronJob } from './cron-job.ts';
import { dumpScript } from './dump-scripts.ts';
import { backupMeans, type DatabaseJob, inStore, inWholeDatabase, jobPod } from './job-pod.ts';
import { verificationPlan } from './verification.ts';

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
  const isWhole = backed.postgres.user !== undefined;
  const script = dumpScript({ isWhole, isCounted: verificationPlan(inputs) !== undefined });
  const pod = jobPod(backed, {
    initContainers: [inWholeDatabase(backed, DUMP_CONTAINER, script)],
    containers: [
      inStore(backed, UPLOAD_CONTAINER, [
        'send',
        `--deployment=${record.metadata.name}`,
        `--uid=${uidOf(record)}`,
        `--number=${databaseNumberOf(revision)}`,
        `--tenant=${inputs.tenantId}`,
        ...(inputs.clusterId === undefined ? [] : [`--cluster-uid=${inputs.clusterId}`]),
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
