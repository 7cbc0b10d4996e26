// The CronJobs of Davit's own work on a record's own PostgreSQL.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import { everySecondsOf } from '../../../kinds/tasks.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import { commonLabels } from '../../record/labels.ts';
import type { Inputs } from '../inputs.ts';
import { ONCE } from '../one-off-pod.ts';
import { ownedMeta } from '../owner.ts';

/** A run that could not begin for so long is skipped. */
const LATEST_START_SECONDS = 3600;

export interface DatabaseCronJob {
  readonly name: string;
  readonly component: 'backup' | 'verify';
  readonly plan: { readonly schedule: string; readonly timeZone: string | undefined };
  readonly pod: IPodSpec;
  /** Whether no run begins by the schedule. */
  readonly isHeld?: boolean;
}

export function makeDatabaseCronJob(
  { record, settings }: Inputs,
  { name, component, plan, pod, isHeld = false }: DatabaseCronJob,
): Manifest<ICronJob> {
  const labels = commonLabels(record, component);
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: ownedMeta(record, name, component),
    spec: {
      schedule: plan.schedule,
      ...(plan.timeZone !== undefined && { timeZone: plan.timeZone }),
      concurrencyPolicy: 'Forbid',
      suspend: isHeld,
      startingDeadlineSeconds: LATEST_START_SECONDS + (everySecondsOf(plan.schedule) ?? 0),
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 1,
      jobTemplate: {
        metadata: { labels },
        spec: {
          ...ONCE,
          activeDeadlineSeconds: settings.backups.timeoutSeconds,
          template: { metadata: { labels }, spec: pod },
        },
      },
    },
  };
}
