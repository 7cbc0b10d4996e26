// Runs a command or a task now: creates its Job with the caller's token.

import { keyDigits, usedFor } from '../../../api/request-key.ts';
import type { AppDeployment } from '../../../kinds/app-deployment.ts';
import type { AppRevision } from '../../../kinds/app-revision.ts';
import {
  DEPLOYMENT_UID_LABEL,
  FACADE_FIELD_MANAGER,
  IDEMPOTENCY_KEY_ANNOTATION,
  REVISION_LABEL,
  TASK_LABEL,
} from '../../../kinds/meta.ts';
import { type TaskRun, taskSecondsOf } from '../../../kinds/tasks.ts';
import { AlreadyExists } from '../../../runtime/errors.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { JOBS, REPLICA_SETS } from '../../../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../../runtime/kube/client.ts';
import { runsHere } from '../../record/listener-assignment.ts';
import { uidOf } from '../../record/metadata.ts';
import { names } from '../../record/names.ts';
import {
  activeOf,
  NoSuchTask,
  NotRunnable,
  oneOffJob,
  type ReplicaSet,
  runOf,
  serverLabels,
  templateOf,
} from '../../record/one-off-job.ts';

/** What is asked for. `seconds`: after which it is ended. */
export type Asked = ({ readonly command: readonly string[] } | { readonly task: string }) & {
  readonly seconds: number | undefined;
};

export interface RunStart {
  readonly record: AppDeployment;
  readonly revisions: readonly AppRevision[];
  readonly asked: Asked;
  /** Digest of the request's Idempotency-Key. */
  readonly key: string | undefined;
  /** For a request without a key: 1 to 16 random characters of a-z and 0-9. */
  readonly suffix: string;
}

/** Time of a command for which none is asked, as of a task. */
const RUN_SECONDS = taskSecondsOf({});
/** Hexadecimal digits of a key in the name of a Job. */
const KEY_DIGITS = 16;

/**
 * Creates the Job, or finds the one that an earlier request with this key created. Throws HttpError 404 if the active revision has no
 * such task, 409 if nothing can be run, and what the API server refuses.
 */
export async function startRun(kube: KubeClient, start: RunStart): Promise<TaskRun> {
  const { record, asked, key } = start;
  const job = await jobOfRun(kube, start);
  try {
    return presented(await kube.create(JOBS, job, { fieldManager: FACADE_FIELD_MANAGER }));
  } catch (error) {
    if (key === undefined || !(error instanceof AlreadyExists)) throw error;
    const { name, namespace = '' } = job.metadata;
    const earlier = await kube.get(JOBS, { namespace, name });
    const { labels = {}, annotations = {} } = earlier.metadata;
    const isOurs = labels[DEPLOYMENT_UID_LABEL] === uidOf(record) && annotations[IDEMPOTENCY_KEY_ANNOTATION] === key;
    if (!isOurs) throw error;
    if (!('task' in asked) || labels[TASK_LABEL] !== asked.task) usedFor(`ran task "${labels[TASK_LABEL]}"`);
    return presented(earlier);
  }
}

async function jobOfRun(kube: KubeClient, { record, revisions, asked, key, suffix }: RunStart): Promise<KubeObject> {
  const { name, namespace = '' } = record.metadata;
  if (!runsHere(record))
    throw new HttpError(
      409,
      `${name} runs in the cluster of a Listener, and so do its Jobs. With the kubeconfig of that cluster: kubectl davit run ${name} ${'task' in asked ? `--task ${asked.task}` : '-- COMMAND'}`,
    );
  try {
    const active = activeOf(record, revisions);
    const run = 'task' in asked ? asked : { command: asked.command, seconds: RUN_SECONDS };
    const what = runOf(run, active, name);
    const labelSelector = Object.entries(serverLabels(record, active))
      .map((label) => label.join('='))
      .join(',');
    const { items } = await kube.list<ReplicaSet>(REPLICA_SETS, { namespace, labelSelector });
    const template = templateOf(items, name, 'See its status.');
    const { metadata, ...job } = oneOffJob({
      record,
      active,
      template,
      ...what,
      seconds: asked.seconds ?? what.seconds,
    });
    const { generateName: _random, ...rest } = metadata ?? {};
    return {
      ...job,
      metadata: {
        ...rest,
        namespace,
        name: names(name).run(key === undefined ? suffix : keyDigits(key, KEY_DIGITS)),
        ...(key !== undefined && { annotations: { [IDEMPOTENCY_KEY_ANNOTATION]: key } }),
      },
    } as KubeObject;
  } catch (error) {
    if (error instanceof NoSuchTask) throw new HttpError(404, error.message);
    if (error instanceof NotRunnable) throw new HttpError(409, error.message);
    throw error;
  }
}

function presented({ metadata }: KubeObject): TaskRun {
  const revisionId = metadata.labels?.[REVISION_LABEL];
  return { job: metadata.name, state: 'Running', ...(revisionId !== undefined && { revisionId }) };
}
