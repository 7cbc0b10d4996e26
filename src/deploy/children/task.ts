// The CronJob of a task that has a schedule. Its pods are like those of the server of the active revision.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import { MIGRATION, MIGRATION_CONTAINER, REVISION_LABEL, TASK, TASK_CONTAINER, TASK_LABEL } from '../../kinds/meta.ts';
import { type Migrate, timeoutOf } from '../../kinds/migrate.ts';
import { everySecondsOf, type Task, taskSecondsOf } from '../../kinds/tasks.ts';
import type { Manifest } from '../../runtime/kube/client.ts';
import { names } from '../record/names.ts';
import type { PodParts } from './contracts/contract.ts';
import type { Inputs } from './inputs.ts';
import { ONCE, oneOffPodTemplate } from './one-off-pod.ts';
import { ownedMeta } from './owner.ts';

/** A run that could not begin for so long is skipped. Without it a CronJob fails after 100 missed runs. */
const LATEST_START_SECONDS = 90;
/** Ended runs that are kept, of each result. */
const KEPT_RUNS = 3;

const POLICIES = { forbid: 'Forbid', replace: 'Replace', allow: 'Allow' } as const;

/** Suspended while the deployment is scaled to zero. `schedule`: that of the task. */
export function makeTask(
  inputs: Inputs,
  task: Readonly<Task>,
  schedule: string,
  image: string,
  parts: PodParts,
): Manifest<ICronJob> {
  const { record, revision } = inputs;
  const meta = ownedMeta(record, names(record.metadata.name).task(task.name), TASK);
  const labels = { ...meta.labels, [TASK_LABEL]: task.name };
  const runs = { command: task.command };
  const { metadata, spec } = oneOffPodTemplate(
    inputs,
    { component: TASK, container: TASK_CONTAINER, image, runs },
    parts,
  );
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { ...meta, labels },
    spec: {
      schedule,
      ...(task.timeZone !== undefined && { timeZone: task.timeZone }),
      concurrencyPolicy: POLICIES[task.concurrency ?? 'forbid'],
      suspend: revision.spec.resolved.server.maxScale === 0,
      startingDeadlineSeconds: LATEST_START_SECONDS + (everySecondsOf(schedule) ?? 0),
      successfulJobsHistoryLimit: KEPT_RUNS,
      failedJobsHistoryLimit: KEPT_RUNS,
      jobTemplate: {
        // Its pods have the id of the server's, which may be of an earlier revision.
        metadata: { labels: { ...labels, [REVISION_LABEL]: revision.spec.id } },
        spec: {
          ...ONCE,
          activeDeadlineSeconds: taskSecondsOf(task),
          template: {
            metadata: { ...metadata, labels: { ...metadata?.labels, [TASK_LABEL]: task.name } },
            ...(spec && { spec }),
          },
        },
      },
    },
  };
}

// The Job that migrates for a revision, before its rollout. Its pod is that of the server, which runs a command and ends.

/**
 * A migration that fails is not tried again: half of one may have happened. Only a pod that the cluster took away (a drain, an
 * eviction) is replaced, after it has ended.
 */
export function makeMigration(
  inputs: Inputs,
  migrate: Readonly<Migrate>,
  image: string,
  parts: PodParts,
): Manifest<IJob> {
  const { record, revision } = inputs;
  const { id } = revision.spec;
  const meta = ownedMeta(record, names(record.metadata.name).migration(id), MIGRATION);
  const { command, args } = migrate;
  const runs = { ...(command && { command }), ...(args && { args }) };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...meta, labels: { ...meta.labels, [REVISION_LABEL]: id } },
    spec: {
      ...ONCE,
      activeDeadlineSeconds: timeoutOf(migrate),
      template: oneOffPodTemplate(inputs, { component: MIGRATION, container: MIGRATION_CONTAINER, image, runs }, parts),
    },
  };
}
