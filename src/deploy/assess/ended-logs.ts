// Which logs outlive their pods: those of the containers that ended a revision or a run of a task, for a week, and not too many of them.

import { MOST_CONTAINERS } from '../../kinds/app-log.ts';
import { runsBeside } from '../../kinds/listed-events.ts';
import { COMPONENT_LABEL, REVISION_LABEL, TASK, TASK_LABEL } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { type EndedContainer, endedContainers } from './ended-containers.ts';
import { jobEnd, podsOfJob, runsOf } from './jobs.ts';
import { isOurs, type ObservedChildren, type Pod } from './observed.ts';
import { isControlled } from './terminating-pods.ts';

const KEPT_MS = 7 * 24 * 3_600_000;
/** AppLogs of the revisions of one record, and as many of the runs of its tasks. */
export const MOST_OF_RECORD = 10;
export const MOST_OF_NAMESPACE = 200;

/** A log that an AppLog of this name shall keep. */
export interface EndedLog {
  readonly name: string;
  readonly revisionId?: string;
  readonly task?: string;
  /** When it ended, in milliseconds since 1970. */
  readonly at: number;
  readonly containers: readonly EndedContainer[];
}

export interface KeptLogs {
  readonly save: readonly EndedLog[];
  readonly drop: readonly KubeObject[];
}

type Watched = Pick<ObservedChildren, 'record' | 'children' | 'pods' | 'revisions'>;

/** `there`: the AppLogs of the record's namespace. What is dropped here is older than what stays, so it is not saved again. */
export function keptLogs(observed: Watched, there: readonly KubeObject[], now: Date): KeptLogs {
  const own = there.filter((log) => isOurs(log, observed));
  const oldest = now.getTime() - KEPT_MS;
  const recent = [...endedRevisions(observed), ...endedRuns(observed)].filter(({ at }) => at > oldest);
  const ended = recent.filter(({ name }) => !own.some(({ metadata }) => metadata.name === name));
  // What would be saved again is no older than its source: the API server's clock may be behind.
  const timeOf = (log: KubeObject): number =>
    Math.max(madeAt(log), recent.find(({ name }) => name === log.metadata.name)?.at ?? 0);
  const stay = [false, true].flatMap((isOfTask) =>
    [
      ...own
        .filter((log) => (log.metadata.labels?.[TASK_LABEL] !== undefined) === isOfTask)
        .map((log) => ({ log, at: timeOf(log) }))
        .filter(({ at }) => at > oldest),
      ...ended.filter(({ task }) => (task !== undefined) === isOfTask).map((log) => ({ log, at: log.at })),
    ]
      .toSorted((a, b) => b.at - a.at)
      .slice(0, MOST_OF_RECORD)
      .map(({ log }) => log),
  );
  const drop = own.filter((log) => !stay.includes(log));
  const others = there.filter((log) => !drop.includes(log)).toSorted((a, b) => madeAt(a) - madeAt(b));
  const save = ended.filter(
    (log) => stay.includes(log) && (others.length < MOST_OF_NAMESPACE || log.at > madeAt(others[0])),
  );
  const surplus = Math.max(0, others.length + save.length - MOST_OF_NAMESPACE);
  return { save, drop: [...drop, ...others.slice(0, surplus)] };
}

/** The shortest time between two looks at the age of AppLogs. */
const LOOK_AGAIN_MS = 60_000;

/** Milliseconds until the next AppLog of the record is too old, and no less than a minute; undefined if it has none. */
export function untilLogExpiredMs({ children }: Pick<ObservedChildren, 'children'>, now: Date): number | undefined {
  const ends = children.filter(({ kind }) => kind === 'AppLog').map((log) => madeAt(log) + KEPT_MS);
  return ends.length > 0 ? Math.max(LOOK_AGAIN_MS, Math.min(...ends) - now.getTime() + 1) : undefined;
}

function madeAt(log: KubeObject | undefined): number {
  return Date.parse(log?.metadata.creationTimestamp ?? '');
}

function endedRevisions({ revisions, pods }: Watched): EndedLog[] {
  return revisions
    .filter(({ status }) => status?.failure !== undefined || status?.state === 'DEPLOY_FAILED')
    .flatMap(({ metadata: { name }, spec: { id }, status }) => {
      const own = pods.filter((pod) => {
        const { labels } = pod.metadata;
        return isControlled(pod) && labels?.[REVISION_LABEL] === id && !runsBeside(labels[COMPONENT_LABEL]);
      });
      return logOf({ name, revisionId: id }, own, status?.stateChangedAt);
    });
}

function endedRuns(observed: Watched): EndedLog[] {
  return runsOf(observed, TASK).flatMap((job) => {
    const failed = jobEnd(job, 'Failed');
    const { name, labels } = job.metadata;
    const { [TASK_LABEL]: task, [REVISION_LABEL]: revisionId } = labels ?? {};
    if (failed === undefined || task === undefined) return [];
    const own = podsOfJob(observed.pods, job);
    return logOf({ name, task, ...(revisionId !== undefined && { revisionId }) }, own, failed.lastTransitionTime);
  });
}

/** Nothing where no container of the pods has failed: what ended the revision is said elsewhere. */
function logOf(
  about: Pick<EndedLog, 'name' | 'revisionId' | 'task'>,
  pods: readonly Pod[],
  since: string | undefined,
): EndedLog[] {
  const newestFirst = pods
    .flatMap(endedContainers)
    .toSorted((a, b) => ((a.finishedAt ?? '') < (b.finishedAt ?? '') ? 1 : -1));
  // Pods of one part end in the same way.
  const containers = [
    ...new Map(newestFirst.toReversed().map((one) => [`${one.component}/${one.container}`, one])).values(),
  ].slice(-MOST_CONTAINERS);
  const at = Date.parse(since ?? newestFirst[0]?.finishedAt ?? '');
  return containers.length > 0 && !Number.isNaN(at) ? [{ ...about, at, containers }] : [];
}
