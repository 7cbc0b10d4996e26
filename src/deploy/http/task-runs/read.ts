// A run of a command or a task, as its Job and its pod show it: read with the caller's token.

import type { AppDeployment } from '../../../kinds/app-deployment.ts';
import type { AppRevision } from '../../../kinds/app-revision.ts';
import { COMPONENT_LABEL, DEPLOYMENT_UID_LABEL, JOB_NAME_LABEL, REVISION_LABEL, TASK } from '../../../kinds/meta.ts';
import type { TaskRun } from '../../../kinds/tasks.ts';
import { undefinedIfNotFound } from '../../../runtime/errors.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { JOBS, PODS } from '../../../runtime/kube/api-resources.ts';
import type { KubeClient } from '../../../runtime/kube/client.ts';
import type { Job } from '../../assess/jobs.ts';
import type { Pod } from '../../assess/observed.ts';
import { hasBegun, runOfJob } from '../../assess/task-runs.ts';
import { revisionsOf } from '../../record/revisions.ts';

export interface SeenRun {
  readonly run: TaskRun;
  /** In which its command has begun. */
  readonly pod: string | undefined;
}

/** `name`: of its Job. Throws HttpError 404 for what is no run of the record, and what the API server refuses. */
export async function readRun(
  kube: KubeClient,
  { record, revisions }: { readonly record: AppDeployment; readonly revisions: readonly AppRevision[] },
  name: string,
): Promise<SeenRun> {
  const { namespace = '', uid } = record.metadata;
  const job = await kube.get<Job>(JOBS, { namespace, name }).catch(undefinedIfNotFound);
  const labels = job?.metadata.labels ?? {};
  const own = revisionsOf(record, revisions);
  // It may be gone from the history.
  const revision = own.find(({ spec }) => spec.id === labels[REVISION_LABEL]) ?? own[0];
  const isRun = labels[DEPLOYMENT_UID_LABEL] === uid && labels[COMPONENT_LABEL] === TASK;
  if (job === undefined || revision === undefined || !isRun)
    throw new HttpError(404, `${record.metadata.name} has no run ${name}.`);
  // After the Job: the pods of one that has ended have ended.
  const { items: pods } = await kube.list<Pod>(PODS, { namespace, labelSelector: `${JOB_NAME_LABEL}=${name}` });
  return { run: runOfJob(job, pods, revision.spec.requested), pod: pods.find(hasBegun)?.metadata.name };
}
