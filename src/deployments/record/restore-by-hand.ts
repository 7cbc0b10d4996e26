// What the Jobs have in common that somebody makes with the plugin to load or fetch a backup. Pure.

import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { API_VERSION, RESTORE } from '../../schema/meta.ts';
import { commonLabels } from './labels.ts';
import { uidOf } from './metadata.ts';

/** Seconds for which a Job that has ended is kept. */
const KEPT_SECONDS = 3600;

/** It is deleted with the record. */
export function restoreByHand(
  record: AppDeployment,
  spec: Omit<NonNullable<IJob['spec']>, 'template' | 'ttlSecondsAfterFinished'>,
  pod: IPodSpec,
): IJob {
  const { name } = record.metadata;
  const labels = commonLabels(record, RESTORE);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: `${name}---restore-`,
      labels,
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'AppDeployment', name, uid: uidOf(record) }],
    },
    spec: { ...spec, ttlSecondsAfterFinished: KEPT_SECONDS, template: { metadata: { labels }, spec: pod } },
  };
}
