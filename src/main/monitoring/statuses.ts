// Logs and measures what the statuses say as they change. The watch caches show every status that was written, so this is the
// only place that does it.

import type { Pod } from '../../deploy/assess/observed.ts';
import type { Caches } from '../../deploy/cluster/caches.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { BUILD_REASONS } from '../../kinds/build.ts';
import type { CodeHostIntegration } from '../../kinds/code-host-integration.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, STORE_PARTS } from '../../kinds/meta.ts';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { isPart, isWorker } from '../../kinds/worker-parts.ts';
import type { Clock } from '../../runtime/controller/clock.ts';
import { type Change, endAll } from '../../runtime/controller/store.ts';
import { PERSISTENT_VOLUME_CLAIMS } from '../../runtime/kube/api-resources.ts';
import type { Logger } from '../../runtime/logger.ts';
import { censusOf } from './census.ts';
import { makeLineLimit } from './line-limit.ts';
import type { RecordMetrics } from './metrics.ts';
import { BUILD_RESULTS, outcomesOf, ROLLOUT_RESULTS } from './outcomes.ts';
import { type Reported, type Transition, transitionsOf } from './transitions.ts';

export interface StatusOptions {
  readonly log: Logger;
  readonly metrics: RecordMetrics;
  readonly clock: Pick<Clock, 'elapsed' | 'schedule'>;
  /** How many deployments the metrics name; undefined if none. */
  readonly mostNamed?: number | undefined;
}

const MESSAGES: Readonly<Record<Transition['of'], string>> = {
  Change: 'Change observed',
  Ready: 'Condition Ready changed',
  Stalled: 'Condition Stalled changed',
  Tasks: 'Condition TasksReady changed',
  Deletion: 'Deletion continues',
  Revision: 'Revision changed',
  Build: 'Build changed',
};

/**
 * Logs each transition as one line of level info, and counts rollouts, builds and records. A record that flaps is limited
 * together with its revisions (line-limit.ts). Returns a function that stops it.
 */
export function followStatuses(
  {
    records,
    revisions,
    pods,
    providers,
    integrations,
    children,
    postgresClusters,
  }: Pick<Caches, 'records' | 'revisions' | 'pods' | 'providers' | 'integrations' | 'children' | 'postgresClusters'>,
  { log, metrics, clock, mostNamed }: StatusOptions,
): () => void {
  const limit = makeLineLimit(clock);
  metrics.startOutcomesAtZero({
    rollouts: Object.values(ROLLOUT_RESULTS),
    builds: Object.values(BUILD_RESULTS),
    buildFailures: Object.keys(BUILD_REASONS),
  });

  function tell(object: Reported, fields: object, message: string): void {
    limit.tell(subjectOf(object), (suppressed) =>
      log.info({ ...identityOf(object), ...fields, ...(suppressed > 0 && { suppressed }) }, message),
    );
  }

  function logChange<T extends Reported>({ type, object, previous }: Change<T>): void {
    if (type === 'deleted') return;
    for (const { of, ...fields } of transitionsOf(previous, object)) tell(object, fields, MESSAGES[of]);
  }

  /** The deployments that have a series of restarts, by key. */
  const named = new Map<string, { readonly namespace: string; readonly name: string }>();
  function countRestarts({ type, object, previous }: Change<Pod>): void {
    const [count, part] = [restartsBetween(previous, object), partLabel(object)];
    if (type === 'deleted' || count === 0 || part === undefined) return;
    const { namespace = '', labels } = object.metadata;
    const name = labels?.[DEPLOYMENT_LABEL] ?? '';
    const key = `${namespace}/${name}`;
    const isNamed = records.get({ namespace, name }) !== undefined && (named.has(key) || named.size < (mostNamed ?? 0));
    if (isNamed) named.set(key, { namespace, name });
    metrics.restarted(part, count, isNamed ? { namespace, name } : undefined);
  }

  const subscriptions = [
    records.onChange((change: Change<AppDeployment>) => {
      logChange(change);
      if (change.type !== 'deleted') return;
      limit.forget(subjectOf(change.object));
      const { namespace = '', name } = change.object.metadata;
      if (named.delete(`${namespace}/${name}`)) metrics.forget({ namespace, name });
      log.info(identityOf(change.object), 'Deleted');
    }),
    revisions.onChange((change: Change<AppRevision>) => {
      logChange(change);
      if (change.type !== 'deleted') measure(change, metrics);
    }),
    pods.onChange(countRestarts),
    providers.onChange((change: Change<OAuthProvider>) => logChange(change)),
    integrations.onChange((change: Change<CodeHostIntegration>) => logChange(change)),
    metrics.countRecords(() => {
      const holders = [children.get(PERSISTENT_VOLUME_CLAIMS.kind), postgresClusters].flatMap(
        (cache) => cache?.list() ?? [],
      );
      return censusOf(records.list(), revisions.list(), mostNamed, holders);
    }),
    () => limit.stop(),
    // Those that are deleted while another process leads would stay.
    () => {
      for (const of of named.values()) metrics.forget(of);
    },
  ];
  return endAll(subscriptions);
}

function measure({ object, previous }: Change<AppRevision>, metrics: StatusOptions['metrics']): void {
  for (const outcome of outcomesOf(previous, object)) {
    if (outcome.of === 'rollout') metrics.rolledOut(outcome.result, outcome.seconds);
    if (outcome.of === 'build') metrics.built(outcome.result, outcome.seconds);
    if (outcome.of === 'build failure') metrics.buildFailed(outcome.reason);
    if (outcome.of === 'build queue') metrics.buildQueued(outcome.seconds);
  }
}

/** A revision counts as its deployment. */
function subjectOf(object: Reported): string {
  return object.kind === 'AppRevision' ? object.spec.deploymentUid : (object.metadata.uid ?? '');
}

function identityOf(object: Reported): object {
  const { namespace, name } = object.metadata;
  if (object.kind !== 'AppRevision') return { kind: object.kind, namespace, name };
  return { kind: 'AppDeployment', namespace, name: object.spec.deploymentName, revision: object.spec.id };
}

/** The restarts between two states of one pod of a part or store; none of one that was not known before. */
export function restartsBetween(before: Pod | undefined, after: Pod): number {
  if (before === undefined || partLabel(after) === undefined) return 0;
  return Math.max(0, restartsOf(after) - restartsOf(before));
}

function restartsOf({ status: { initContainerStatuses: init = [], containerStatuses: main = [] } = {} }: Pod): number {
  return [...init, ...main].reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}

/** The part of a pod as a label. Names of workers are the tenants'. */
export function partLabel({ metadata: { labels } }: Pod): string | undefined {
  const component = labels?.[COMPONENT_LABEL];
  if (isWorker(component)) return 'worker';
  return isPart(component) || STORE_PARTS.some((part) => part === component) ? component : undefined;
}
