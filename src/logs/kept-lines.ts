// The logs of a record, of one of its revisions or of the runs of a task: of the pods that are there, and the last lines of those that
// failed and are gone.

import { Forbidden, NotFound } from '../lib/errors.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { APP_LOGS, type AppLog } from '../schema/app-log.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  JOB_NAME_LABEL,
  REVISION_LABEL,
  TASK,
  TASK_LABEL,
} from '../schema/meta.ts';
import { listPods, podIdsIn, podsOf, type Reading, readPods } from './pods.ts';
import { pushInTurns } from './push-in-turns.ts';

export interface LogTarget {
  readonly record: AppDeployment;
  readonly revisions: readonly AppRevision[];
  readonly revisionId?: string | undefined;
  readonly task?: string | null | undefined;
  /** Name of the Job of a run. */
  readonly run?: string | null | undefined;
}

/** Resolves to whether lines may be missing because of a limit or a node that did not answer. */
export async function readTargetLogs(kube: KubeClient, target: LogTarget, reading: Reading): Promise<boolean> {
  const { record, revisions, revisionId, task, run } = target;
  const pods =
    (task ?? run)
      ? { namespace: record.metadata.namespace ?? '', labelSelector: selectorOf(target, TASK) }
      : podsOf(record, podIdsIn(revisions, revisionId));
  const items = await listPods(kube, pods, reading.signal);
  if (task || revisionId !== undefined)
    await readKept(kube, target, new Set(items.map(({ metadata }) => metadata.name)), reading);
  return (await readPods(kube, pods, items, reading)) === true;
}

function selectorOf({ record: { metadata }, revisionId, task, run }: LogTarget, component?: string): string {
  const labels = {
    [DEPLOYMENT_LABEL]: metadata.name,
    [DEPLOYMENT_UID_LABEL]: metadata.uid,
    [COMPONENT_LABEL]: component,
    [REVISION_LABEL]: revisionId?.toLowerCase(),
    [TASK_LABEL]: task ?? undefined,
    [JOB_NAME_LABEL]: run ?? undefined,
  };
  return Object.entries(labels)
    .flatMap(([label, value]) => (value === undefined ? [] : [`${label}=${value}`]))
    .join(',');
}

/** What the pods that are there wrote is read from them. */
async function readKept(
  kube: KubeClient,
  target: LogTarget,
  pods: ReadonlySet<string>,
  { page, signal }: Reading,
): Promise<void> {
  const { namespace = '' } = target.record.metadata;
  const selector = `${selectorOf(target)}${target.task ? '' : `,!${TASK_LABEL}`}`;
  try {
    const { items } = await kube.listAll<AppLog>(APP_LOGS, { namespace, labelSelector: selector, signal });
    for (const { pod, container, log } of items.flatMap(({ spec }) => spec.containers)) {
      if (pods.has(pod)) continue;
      const sink = page.sink(`${pod}/${container}`);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      if (await pushInTurns(sink, Buffer.from(log))) sink.end();
    }
  } catch (error) {
    // A role that was made before there were AppLogs, or CRDs that are older than this Davit.
    if (!(error instanceof Forbidden) && !(error instanceof NotFound)) throw error;
  }
}
