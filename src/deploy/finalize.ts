// The finalizer of a record: added before the first child is created, removed when the teardown is finished.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { DEPLOYMENT_LABEL, FINALIZER, VARIABLES_LABEL } from '../kinds/meta.ts';
import { TRACING_PROJECTS, type TracingProject } from '../kinds/tracing-project.ts';
import type { Result } from '../runtime/controller/controller.ts';
import type { EventRecorder } from '../runtime/controller/events.ts';
import { earliestRequeue } from '../runtime/controller/requeue.ts';
import { NotFound } from '../runtime/errors.ts';
import {
  CRON_JOBS,
  DEPLOYMENTS,
  JOBS,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  STATEFUL_SETS,
} from '../runtime/kube/api-resources.ts';
import { SECRETS_NAMED } from '../tokens/caches.ts';
import { type ActionFailure, type Observed, type ObservedRecord, refTo } from './assess/observed.ts';
import { retryAfterMs } from './assess/retry.ts';
import { withOverdue } from './assess/terminating-pods.ts';
import type { Caches } from './cluster/caches.ts';
import type { Cluster } from './cluster/cluster.ts';
import { deleteObjects } from './cluster/delete.ts';
import { areConflicts, causesOf, decisiveOf, failureOf, wasLost } from './cluster/failures.ts';
import { putFinalizer, removeFinalizer } from './cluster/finalizers.ts';
import { reportRecord } from './cluster/report.ts';
import { settleAll } from './cluster/settle-all.ts';
import { hibernateClusters, markUsedLast } from './keep-databases.ts';
import { nextTeardownStep, type TeardownStep, untilHinderedMs } from './plan/teardown.ts';
import { withStableMessages } from './stable-messages.ts';
import { deletingStatus, type Hindrance } from './status.ts';

export function hasFinalizer(record: AppDeployment): boolean {
  return record.metadata.finalizers?.includes(FINALIZER) === true;
}

/**
 * Undefined if the record is gone and the cache does not know it yet: children created now would never be deleted. A
 * failure is returned as an ActionFailure.
 */
export async function addFinalizer(
  record: AppDeployment,
  home: Cluster,
): Promise<AppDeployment | ActionFailure | undefined> {
  try {
    return await putFinalizer(record, FINALIZER, home);
  } catch (error) {
    return failureOf(error, refTo(record), 'add the finalizer to');
  }
}

export interface Teardown {
  readonly home: Cluster;
  /** The home without the time limit of this pass: that it was exceeded is reported too. */
  readonly lasting: Cluster;
  readonly events: EventRecorder;
  readonly now: Date;
  /** Message if nothing may be deleted. */
  readonly paused: string | undefined;
}

/** Requeue delay: a lagging cache does not enqueue the record when objects of a live list are gone. */
const LOOK_AGAIN_MS = 1000;

/**
 * One step of the teardown. The watch enqueues the record again when the objects that it waits for are gone. A failure is
 * reported and then thrown.
 */
export async function finalize(seen: Observed, teardown: Teardown, signal: AbortSignal): Promise<Result> {
  const { home, lasting, events, now, paused } = teardown;
  const { record } = seen;
  if (!hasFinalizer(record)) return {};
  // In a terminating namespace Davit may lose its rights at any time, and the children are deleted with the namespace anyway.
  if (seen.namespaceTerminating) {
    await removeFinalizer(record, FINALIZER, home);
    return {};
  }
  const cached = withNamedByOthers({ ...seen, pods: withOverdue(seen.pods, now) }, home.caches);
  const step = nextTeardownStep(cached, now);
  const reportWaiting = (waitsFor: string, hindrance?: Hindrance, by = home): Promise<void> =>
    reportRecord(record, deletingStatus(cached, waitsFor, now, paused, hindrance), by, events);
  if (paused !== undefined) {
    await reportWaiting(step?.waitsFor ?? 'it');
    return {};
  }
  // The record must not appear ready while its parts are deleted.
  const isFirst = step !== undefined && record.status?.state !== 'AWAITING_DELETE';
  const unreported = isFirst ? await failuresOf(() => reportWaiting(step.waitsFor)) : [];
  const done = step ? await performStep(step, record, teardown) : await finish(cached, teardown);
  if (!done) return {};
  const refusals = withStableMessages(done.refusals, record);
  const causes = causesOf(refusals);
  if (areConflicts(causes) || wasLost(signal)) throw decisiveOf(causes);
  const hindrance = hindranceToReport(refusals, done.hindrance);
  if (!isFirst || hindrance)
    unreported.push(
      ...(await failuresOf(() => reportWaiting(done.waitsFor, hindrance, signal.aborted ? lasting : home))),
    );
  const failed = [...causes, ...unreported];
  if (failed.length > 0) throw decisiveOf(failed);
  return earliestRequeue(untilHinderedMs(cached, now), retryAfterMs(record, refusals, now), done.lookAgainMs);
}

async function failuresOf(work: () => Promise<void>): Promise<unknown[]> {
  try {
    await work();
    return [];
  } catch (error) {
    // The record is gone, so there is nothing to report on.
    return error instanceof NotFound ? [] : [error];
  }
}

interface Taken {
  readonly waitsFor: string;
  readonly hindrance?: string;
  readonly refusals: readonly ActionFailure[];
  readonly lookAgainMs?: number;
}

async function performStep(
  { remove, hibernate = [], mark, ...step }: TeardownStep,
  record: AppDeployment,
  teardown: Teardown,
): Promise<Taken> {
  const [deleted, hibernated, marked] = await settleAll([
    deleteObjects(remove, teardown.home),
    hibernateClusters(hibernate, record, teardown),
    mark ? markUsedLast(mark, teardown.home) : [],
  ]);
  return { ...step, refusals: [...deleted, ...hibernated, ...marked] };
}

/**
 * The end of a teardown according to the caches. They may lag, in particular after a change of leader, and children without an
 * owner would then remain forever. The remaining objects are therefore listed live, once per deletion. Undefined if all objects
 * and the finalizer are gone.
 */
async function finish(cached: Observed, teardown: Teardown): Promise<Taken | undefined> {
  const { home, now } = teardown;
  const { record } = cached;
  try {
    const live = withNamedByOthers({ ...cached, ...(await listLive(cached, home)) }, home.caches);
    const step = nextTeardownStep(live, now);
    if (step) return { ...(await performStep(step, record, teardown)), lookAgainMs: LOOK_AGAIN_MS };
    await removeFinalizer(record, FINALIZER, home);
    return undefined;
  } catch (error) {
    return {
      waitsFor: 'its finalizer',
      refusals: [failureOf(error, refTo(record), 'release')],
    };
  }
}

function hindranceToReport([refusal]: readonly ActionFailure[], words: string | undefined): Hindrance | undefined {
  if (refusal) return { message: refusal.message, stalled: refusal.cause === undefined };
  return words === undefined ? undefined : { message: words, stalled: true };
}

/** Kinds that the garbage collector does not delete, and kinds that use them or lead to them. */
async function listLive(
  { record, revisions }: ObservedRecord,
  { client, caches }: Cluster,
): Promise<Pick<Observed, 'children' | 'tracingProject'>> {
  const { metadata, spec } = record;
  const { namespace = '', name } = metadata;
  const { addresses, postgresClusters, objectStores } = caches;
  const routes = addresses?.isInstalled() ? [addresses.resource] : [];
  const ofOthers = [postgresClusters, objectStores];
  const postgres = ofOthers.flatMap((cache) => (cache?.isInstalled() ? [cache.resource] : []));
  const { tasks, database } = spec.sourceConfig;
  // A file of the repository may have given the tasks.
  const hasTasks = tasks ?? revisions.find((revision) => revision.spec.requested.tasks);
  const scheduled = hasTasks || database ? [CRON_JOBS] : [];
  const resources = [
    DEPLOYMENTS,
    STATEFUL_SETS,
    ...scheduled,
    JOBS,
    PERSISTENT_VOLUME_CLAIMS,
    ...postgres,
    SECRETS,
    ...routes,
  ];
  const isAsked = spec.tracingProjectDeletionPolicy === 'Delete';
  const [projects, ...lists] = await settleAll([
    isAsked
      ? client.listAll<TracingProject>(TRACING_PROJECTS, { namespace, fieldSelector: `metadata.name=${name}` })
      : { items: [] },
    ...resources.map((resource) =>
      client.listAll(resource, { namespace, labelSelector: `${DEPLOYMENT_LABEL}=${name}`, metadataOnly: true }),
    ),
  ]);
  return { children: lists.flatMap(({ items }) => items), tracingProject: projects.items[0] };
}

/** Keeps values that another record names; they are deleted after the last reference is gone. */
function withNamedByOthers(observed: Observed, caches: Caches): Observed {
  const { namespace = '', name, uid } = observed.record.metadata;
  const isNamed = (secret: string): boolean =>
    caches.records.byIndex(namespace, SECRETS_NAMED, secret).some((other) => other.metadata.uid !== uid) ||
    caches.revisions.byIndex(namespace, SECRETS_NAMED, secret).some(({ spec }) => spec.deploymentName !== name);
  const values = observed.children.filter(({ metadata: { labels } }) => labels?.[VARIABLES_LABEL] !== undefined);
  return {
    ...observed,
    namedByOthers: new Set(values.map(({ metadata }) => metadata.name).filter(isNamed)),
  };
}
