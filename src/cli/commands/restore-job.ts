// The Job that loads a backup into the own PostgreSQL of a deployment. It is made from the CronJob of its backups, which has the
// images, the store, and where the credentials are. Pure.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import { CHECK_EMPTY, LOAD, OWN_RELATIONS } from '../../deployments/children/database/load-scripts.ts';
import { restoreByHand } from '../../deployments/record/restore-by-hand.ts';
import { fetchOptionsOf } from '../../deployments/record/restore-request.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { DatabaseRestore } from '../../schema/database.ts';
import {
  CHECK_CONTAINER,
  DUMP_CONTAINER,
  FETCH_CONTAINER,
  RESTORE_CONTAINER,
  UPLOAD_CONTAINER,
} from '../../schema/meta.ts';
import { Failure } from '../transport/kubectl.ts';

export interface Restore {
  readonly record: AppDeployment;
  /** It makes the backups of the record. */
  readonly cronJob: ICronJob;
  readonly which: Readonly<DatabaseRestore>;
}

/** Throws Failure if the CronJob is not one that Davit has made. */
export function restoreJob(restore: Restore): IJob {
  return jobOfBackups(restore, ({ dump, fetch }) => ({
    initContainers: [inDatabase(dump, CHECK_CONTAINER, CHECK_EMPTY), fetch],
    containers: [inDatabase(dump, RESTORE_CONTAINER, LOAD)],
  }));
}

function inDatabase(dump: IContainer, name: string, script: string): IContainer {
  return { ...dump, name, command: ['sh', '-c', script], env: [...(dump.env ?? []), OWN_RELATIONS] };
}

export interface Listing extends Omit<Restore, 'which'> {
  /** Whose backups. */
  readonly from: string;
  /** It fails first if the database of the record is not empty. Otherwise it has no password of a database. */
  readonly needsEmpty?: true;
}

/** The Job that prints what the store has of `from`. */
export function listingJob({ record, cronJob, from, needsEmpty }: Listing): IJob {
  return jobOfBackups({ record, cronJob, which: { from } }, ({ dump, fetch }) => ({
    initContainers: needsEmpty ? [inDatabase(dump, CHECK_CONTAINER, CHECK_EMPTY)] : [],
    containers: [{ ...fetch, args: (fetch.args ?? []).map((arg) => (arg === 'fetch' ? 'list' : arg)) }],
  }));
}

interface BackupContainers {
  /** Writes dumps: it has the database's image and password. */
  readonly dump: IContainer;
  /** Fetches the backup. */
  readonly fetch: IContainer;
}

/** Throws Failure if the CronJob is not one that Davit has made. */
function jobOfBackups(
  { record, cronJob, which }: Restore,
  containersOf: (from: BackupContainers) => Pick<IPodSpec, 'initContainers' | 'containers'>,
): IJob {
  const job = cronJob.spec?.jobTemplate.spec;
  const pod = job?.template.spec;
  const dump = pod?.initContainers?.find((one) => one.name === DUMP_CONTAINER);
  const upload = pod?.containers.find((one) => one.name === UPLOAD_CONTAINER);
  if (!job || !pod || !dump || !upload)
    throw new Failure(`The CronJob of the backups of ${record.metadata.name} was changed.`);
  const kept = (upload.args ?? []).filter((arg) => /^--(store|folder|credentials|namespace)=/.test(arg));
  const fetch = { ...upload, name: FETCH_CONTAINER, args: ['backup', 'fetch', ...kept, ...fetchOptionsOf(which)] };
  return restoreByHand(record, job, { ...pod, ...containersOf({ dump, fetch }) });
}
