// The logs of a record, of one of its revisions or of the runs of a task: of the pods that are there, and the last lines of those that
// failed and are gone.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { APP_LOGS, type AppLog } from '../kinds/app-log.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  JOB_NAME_LABEL,
  REVISION_LABEL,
  TASK,
  TASK_LABEL,
} from '../kinds/meta.ts';
import { isPart } from '../kinds/worker-parts.ts';
import { Forbidden, NotFound } from '../runtime/errors.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { DeployLogsQuery } from './payloads.ts';
import { type PodsToRead, podIdsIn, podsOf, type Reading, readLogs } from './pods.ts';
import { pushInTurns } from './push-in-turns.ts';

export interface LogTarget {
  readonly record: AppDeployment;
  readonly revisions: readonly AppRevision[];
  readonly revisionId?: string | undefined;
  readonly query: Pick<DeployLogsQuery, 'task' | 'run' | 'component' | 'previous'>;
}

/** Resolves to whether lines may be missing because of a limit or a node that did not answer. */
export async function readTargetLogs(kube: KubeClient, target: LogTarget, reading: Reading): Promise<boolean> {
  const { record, revisions, revisionId, query } = target;
  const { task, run, component, previous } = query;
  const pods: PodsToRead = {
    ...((task ?? run)
      ? { namespace: record.metadata.namespace ?? '', labelSelector: selectorOf(target, TASK) }
      : podsOf(record, podIdsIn(revisions, revisionId), component)),
    // The container of a part has its name.
    isRead: (log) => (!previous || log.previous) && (!component || !isPart(component) || log.container === component),
  };
  const isCut = (await readLogs(kube, pods, reading)) === true;
  // Last, because a pod may go while the others are read.
  if (task || run || revisionId !== undefined) await readKept(kube, target, reading);
  return isCut;
}

function selectorOf({ record: { metadata }, revisionId, query }: LogTarget, component?: string): string {
  const labels = {
    [DEPLOYMENT_LABEL]: metadata.name,
    [DEPLOYMENT_UID_LABEL]: metadata.uid,
    [COMPONENT_LABEL]: component,
    [REVISION_LABEL]: revisionId?.toLowerCase(),
    [TASK_LABEL]: query.task ?? undefined,
    [JOB_NAME_LABEL]: query.run ?? undefined,
  };
  return Object.entries(labels)
    .flatMap(([label, value]) => (value === undefined ? [] : [`${label}=${value}`]))
    .join(',');
}

/** What was read from a pod that is there is not read again. */
async function readKept(kube: KubeClient, target: LogTarget, { page, signal }: Reading): Promise<void> {
  const { namespace = '' } = target.record.metadata;
  const { task, run, component } = target.query;
  const selector = `${selectorOf({ ...target, query: { task } })}${task || run ? '' : `,!${TASK_LABEL}`}`;
  try {
    const { items } = await kube.listAll<AppLog>(APP_LOGS, { namespace, labelSelector: selector, signal });
    // An AppLog of a run has the name of its Job.
    const wanted = items.filter(({ metadata: { name } }) => !run || name === run);
    for (const { pod, container, log, component: of } of wanted.flatMap(({ spec }) => spec.containers)) {
      const by = `${pod}/${container}`;
      if (page.hasLines(by) || (component && component !== of)) continue;
      const lines = log.split(/(?<=\n)/);
      const sink = page.sink(by);
      if (await pushInTurns(sink, Buffer.from(lines.slice(-(page.lastLines(by) ?? lines.length)).join('')))) sink.end();
    }
  } catch (error) {
    // A role that was made before there were AppLogs, or CRDs that are older than this Davit.
    if (!(error instanceof Forbidden) && !(error instanceof NotFound)) throw error;
  }
}
