// The Job that loads a backup into the own PostgreSQL of a deployment. It is made from the CronJob of its backups, which has the
// images, the store, and where the credentials are. Pure.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IContainer } from 'kubernetes-models/v1/Container';
import { CHECK_EMPTY, LOAD, OWN_RELATIONS } from '../deployments/children/database/load-scripts.ts';
import { commonLabels } from '../deployments/record/labels.ts';
import { fetchOptionsOf } from '../deployments/record/restore-request.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { DatabaseRestore } from '../schema/database.ts';
import {
  API_VERSION,
  CHECK_CONTAINER,
  DUMP_CONTAINER,
  FETCH_CONTAINER,
  RESTORE,
  RESTORE_CONTAINER,
  UPLOAD_CONTAINER,
} from '../schema/meta.ts';
import { Failure } from './kubectl.ts';

/** Seconds for which a Job that has ended is kept. */
const KEPT_SECONDS = 3600;

export interface Restore {
  readonly record: AppDeployment;
  /** It makes the backups of the record. */
  readonly cronJob: ICronJob;
  readonly which: Readonly<DatabaseRestore>;
}

/** Throws Failure if the CronJob is not one that Davit has made. */
export function restoreJob({ record, cronJob, which }: Restore): IJob {
  const { name, uid = '' } = record.metadata;
  const job = cronJob.spec?.jobTemplate.spec;
  const pod = job?.template.spec;
  const dump = pod?.initContainers?.find((one) => one.name === DUMP_CONTAINER);
  const upload = pod?.containers.find((one) => one.name === UPLOAD_CONTAINER);
  if (!job || !pod || !dump || !upload) throw new Failure(`The CronJob of the backups of ${name} was changed.`);
  const labels = commonLabels(record, RESTORE);
  const inDatabase = (container: string, script: string): IContainer => ({
    ...dump,
    name: container,
    command: ['sh', '-c', script],
    env: [...(dump.env ?? []), OWN_RELATIONS],
  });
  const kept = (upload.args ?? []).filter((arg) => /^--(store|folder|credentials|namespace)=/.test(arg));
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: `${name}---restore-`,
      labels,
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'AppDeployment', name, uid }],
    },
    spec: {
      ...job,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: {
        metadata: { labels },
        spec: {
          ...pod,
          initContainers: [
            inDatabase(CHECK_CONTAINER, CHECK_EMPTY),
            { ...upload, name: FETCH_CONTAINER, args: ['backup', 'fetch', ...kept, ...fetchOptionsOf(which)] },
          ],
          containers: [inDatabase(RESTORE_CONTAINER, LOAD)],
        },
      },
    },
  };
}
