// The Job that lists the backups of a deployment in the store. It is made from the CronJob of backups, which has the image, the store, and
// where the credentials are. Pure.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import { commonLabels } from '../../deployments/record/labels.ts';
import { uidOf } from '../../deployments/record/metadata.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { API_VERSION, FETCH_CONTAINER, RESTORE, UPLOAD_CONTAINER } from '../../schema/meta.ts';
import { Failure } from '../transport/kubectl.ts';

export interface Listing {
  readonly record: AppDeployment;
  /** It makes the backups of the record. */
  readonly cronJob: ICronJob;
  /** Whose backups. */
  readonly from: string;
}

/** Seconds for which a Job that has ended is kept. */
const KEPT_SECONDS = 3600;

/** It is deleted with the record. Throws Failure if the CronJob is not one that Davit has made. */
export function listingJob({ record, cronJob, from }: Listing): IJob {
  const { name } = record.metadata;
  const job = cronJob.spec?.jobTemplate.spec;
  const pod = job?.template.spec;
  const upload = pod?.containers.find((one) => one.name === UPLOAD_CONTAINER);
  if (!job || !pod || !upload) throw new Failure(`The CronJob of the backups of ${name} was changed.`);
  const kept = (upload.args ?? []).filter((arg) => /^--(store|folder|credentials|namespace)=/.test(arg));
  const lists = {
    ...upload,
    name: FETCH_CONTAINER,
    args: ['backup', 'list', ...kept, `--deployment=${from}`],
  };
  const labels = commonLabels(record, RESTORE);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: `${name}---restore-`,
      labels,
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'AppDeployment', name, uid: uidOf(record) }],
    },
    spec: {
      ...job,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: { metadata: { labels }, spec: { ...pod, initContainers: [], containers: [lists] } },
    },
  };
}
