// The CronJob that backs up a record's own PostgreSQL. An init container of the database's image writes a dump into the pod, and a
// container of Davit's image takes it to the store. Only the second one has the store's credentials, only the first the password.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import { type BackupPlan, backupPlanOf } from '../../../schema/database.ts';
import { BACKUP, DUMP_CONTAINER, UPLOAD_CONTAINER } from '../../../schema/meta.ts';
import { commonLabels } from '../../record/labels.ts';
import { uidOf } from '../../record/metadata.ts';
import { names } from '../../record/names.ts';
import type { Inputs } from '../inputs.ts';
import type { Manifest } from '../manifest.ts';
import { ONCE } from '../one-off-pod.ts';
import { ownedMeta } from '../owner.ts';
import { AWAIT_SERVER } from './await-server.ts';
import { backupMeans, type DatabaseJob, inDatabase, inStore, jobPod } from './job-pod.ts';
import { OWN_WORDS } from './own-words.ts';

/** A backup that could not begin for so long is skipped. */
const LATEST_START_SECONDS = 3600;

/** The dump is read once more, because a file that pg_restore cannot read is no backup. */
export const DUMP = `set -eu
umask 077
date -u +%Y-%m-%dT%H:%M:%SZ > taken-at
${OWN_WORDS}${AWAIT_SERVER}pg_dump -w -F custom --no-owner --no-privileges -f dump 2> problem || own_words $?
pg_restore --list dump > /dev/null
`;

interface Backed extends DatabaseJob {
  readonly plan: BackupPlan;
}

/** What is backed up; undefined if the record asks for no backups, has no own PostgreSQL, or the platform has no store. */
export function backedUp(inputs: Inputs): Backed | undefined {
  const { record, revision, settings } = inputs;
  const { postgres } = revision.spec.resolved;
  const plan = backupPlanOf(record.spec.sourceConfig.database, record.metadata.name);
  const means = backupMeans(settings);
  return postgres && plan && means && { inputs, postgres, plan, means };
}

/** Undefined if nothing is backed up. */
export function makeBackup(inputs: Inputs): Manifest<ICronJob> | undefined {
  const { record, settings } = inputs;
  const backed = backedUp(inputs);
  if (!backed) return undefined;
  const { plan } = backed;
  const labels = commonLabels(record, BACKUP);
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: ownedMeta(record, names(record.metadata.name).backup, BACKUP),
    spec: {
      schedule: plan.schedule,
      ...(plan.timeZone !== undefined && { timeZone: plan.timeZone }),
      concurrencyPolicy: 'Forbid',
      suspend: false,
      startingDeadlineSeconds: LATEST_START_SECONDS,
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 1,
      jobTemplate: {
        metadata: { labels },
        spec: {
          ...ONCE,
          activeDeadlineSeconds: settings.backups.timeoutSeconds,
          template: {
            metadata: { labels },
            spec: jobPod(backed, {
              initContainers: [inDatabase(backed, DUMP_CONTAINER, DUMP)],
              containers: [
                inStore(backed, UPLOAD_CONTAINER, [
                  'send',
                  `--deployment=${record.metadata.name}`,
                  `--uid=${uidOf(record)}`,
                  `--keep=${plan.keep}`,
                ]),
              ],
            }),
          },
        },
      },
    },
  };
}
