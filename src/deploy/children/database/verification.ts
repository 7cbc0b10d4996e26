// The CronJob that verifies that the newest backup can be restored: it loads it into a PostgreSQL of its pod, and compares what is there
// with what the manifest says. Its pods have no password of a database and no way to one: no network policy lets them in.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import { type VerificationPlan, verificationPlanOf } from '../../../kinds/database.ts';
import { CHECK_CONTAINER, COMPARE_CONTAINER, FETCH_CONTAINER, RESTORE_CONTAINER, VERIFY } from '../../../kinds/meta.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import { databaseAsked } from '../../record/backup-default.ts';
import { uidOf } from '../../record/metadata.ts';
import { names } from '../../record/names.ts';
import type { Inputs } from '../inputs.ts';
import { makeDatabaseCronJob } from './cron-job.ts';
import {
  backupMeans,
  type DatabaseJob,
  inFolder,
  inOwnServer,
  inStore,
  jobPod,
  ownServer,
  ownServerVolumes,
  prepareScript,
  restoredInto,
} from './job-pod.ts';
import { CHECK, COUNT, LOAD, OWN_RELATIONS } from './load-scripts.ts';

/** Undefined if nothing is to be verified. */
export function verificationPlan({
  record,
  settings,
}: Pick<Inputs, 'record' | 'settings'>): VerificationPlan | undefined {
  return verificationPlanOf(databaseAsked(record, settings), record.metadata.name, settings.backups.verify);
}

/** Undefined if nothing is verified. */
export function makeVerification(inputs: Inputs): Manifest<ICronJob> | undefined {
  const { record, revision, settings } = inputs;
  const { postgres } = revision.spec.resolved;
  const plan = verificationPlan(inputs);
  const means = backupMeans(settings);
  if (!postgres || !plan || !means) return undefined;
  const job: DatabaseJob = { inputs, postgres, means };
  const { name } = record.metadata;
  const { extensions = [] } = postgres;
  const env = [OWN_RELATIONS, { name: 'RESTORE_ID', value: uidOf(record) }];
  const known = record.status?.databaseBackup?.name;
  const pod = jobPod(
    job,
    {
      initContainers: [
        ownServer(job),
        inOwnServer(job, CHECK_CONTAINER, `${prepareScript(extensions)}${CHECK}`, env),
        inStore(job, FETCH_CONTAINER, [
          'fetch',
          `--deployment=${name}`,
          `--tenant=${inputs.tenantId}/${uidOf(record)}`,
          ...(known === undefined ? [] : [`--known=${known}`]),
          ...restoredInto(job),
        ]),
        inOwnServer(job, RESTORE_CONTAINER, `${LOAD}${COUNT}`, env),
      ],
      containers: [inFolder(job, COMPARE_CONTAINER, ['compare'])],
    },
    ownServerVolumes(job),
  );
  return makeDatabaseCronJob(inputs, { name: names(name).verification, component: VERIFY, plan, pod });
}
