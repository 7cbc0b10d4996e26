// The agent of a listener's cluster as one thing to start and stop: it takes the deployments that the hub assigns to this cluster, and
// reports on them. It connects to the hub; the hub never connects to it.

import { hostname } from 'node:os';
import { type AgentCaches, HUB_IDLE_MS, makeAgentCaches } from '../clusters/agent/caches.ts';
import { holdHubLease } from '../clusters/agent/hub-lease.ts';
import { withListable } from '../clusters/agent/listable.ts';
import { type AgentLogsOptions, makeLogReconciler, wakeLogs, withoutPage } from '../clusters/agent/logs.ts';
import { makeAgentReconciler, wakeWorks } from '../clusters/agent/works.ts';
import { ownRevisions } from '../deploy/cluster/caches.ts';
import { LISTENER_LOGS, type ListenerLog } from '../kinds/listener-log.ts';
import { MOST_BYTES_OF_CROSSING_PAGE, makeLogBudget } from '../logs/budget.ts';
import { readTargetLogs } from '../logs/kept-lines.ts';
import { makePage } from '../logs/lines.ts';
import { DeployLogsQuery } from '../logs/payloads.ts';
import { leaderOnly } from '../runtime/controller/clients/leader-only.ts';
import { systemClock, untilAborted } from '../runtime/controller/clock.ts';
import { type ControllerDefinition, runControllers } from '../runtime/controller/definition.ts';
import type { Checks } from '../runtime/controller/health.ts';
import { type Led, leadAgainAndAgain } from '../runtime/controller/leading.ts';
import type { RuntimeMetrics } from '../runtime/controller/metrics.ts';
import { makeReflector, whyNotListed } from '../runtime/controller/reflector.ts';
import { NAMESPACES } from '../runtime/kube/api-resources.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { ClusterAccess } from '../runtime/kube/config.ts';
import type { Logger } from '../runtime/logger.ts';
import { type HubAccess, openHubAccess, renewToken } from './hub-access.ts';

export interface ListenerOptions {
  readonly local: KubeClient;
  /** A client with connections of its own for the election among the replicas. */
  readonly leaseClient: KubeClient;
  readonly hubClient: (access: ClusterAccess, requestTimeoutMs?: number) => KubeClient;
  /** Davit's own namespace: the hub's address and token are in a Secret there. */
  readonly namespace: string;
  /** Namespaces of this cluster that the agent serves. */
  readonly served: readonly string[];
  readonly identity: string;
  readonly version: string;
  readonly leaseMs: number;
  readonly backoffMs: number;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  readonly signal: AbortSignal;
  readonly onRewound: (what: string) => void;
  /** Called when the cluster was enrolled at another hub. */
  readonly onMoved: (hub: string) => void;
}

export interface RunningListener {
  readonly ready: Checks;
  readonly done: Promise<void>;
}

/** Time limit of a renewal of the Lease: a connection that a firewall has forgotten is replaced before the hub counts the cluster as silent. */
const LEASE_REQUEST_MS = 10_000;

/** Throws an Error for people if it is not configured. */
export async function runListener(options: ListenerOptions): Promise<RunningListener> {
  const { local, namespace, served, signal } = options;
  if (served.length === 0)
    throw new Error(
      'DAVIT_LISTENER_NAMESPACES is empty. List the namespaces that the hub may use, separated by commas.',
    );
  const hub = await openHubAccess(local, namespace, options.onMoved);
  const clusterId = (await local.get(NAMESPACES, { name: 'kube-system' }, { metadataOnly: true })).metadata.uid ?? '';
  const state: Leading['state'] = { why: () => undefined };
  const begin = (leading: AbortSignal, holds: () => boolean): Led => {
    const working = work({ ...options, hub, clusterId, state }, leading, holds).catch((err: unknown) => {
      if (!leading.aborted) options.log.error({ err }, 'The agent has stopped');
    });
    void working.finally(() => {
      // Another replica leads.
      if (leading.aborted) state.why = () => undefined;
    });
    // `work` ends on its own, by `signal` or by `leading`.
    return { stop: () => working, abort: () => working };
  };
  const done = leadAgainAndAgain({ ...options, name: 'davit-listener', begin });
  signal.addEventListener('abort', () => options.log.info('Stopping'), { once: true });
  return { ready: { hub: () => state.why() }, done };
}

interface Leading extends ListenerOptions {
  readonly hub: HubAccess;
  readonly clusterId: string;
  /** Why the agent does not work, for the readiness probe. */
  readonly state: { why: () => string | undefined };
}

/** Works until `leading` aborts. */
async function work(options: Leading, leading: AbortSignal, holds: () => boolean): Promise<void> {
  const { hub, clusterId, state, served, identity, version, log, metrics, onRewound } = options;
  const { namespace } = hub.access;
  const ends = AbortSignal.any([leading, options.signal]);
  const plain = options.hubClient(hub.access);
  const hubClient = leaderOnly(plain, ends, holds);
  const local = leaderOnly(options.local, ends, holds);
  state.why = () => `hub ${hub.access.server} has not answered yet`;
  const renewing = renewToken(hubClient, hub, log, ends);
  const lease = await holdHubLease({
    hub: leaderOnly(options.hubClient(hub.access, LEASE_REQUEST_MS), ends, holds),
    namespace,
    clusterId,
    version,
    identity: `${hostname()}/${identity}`,
    clock: systemClock,
    log,
    signal: ends,
  });
  await withListable({ ...options, local, clock: systemClock, signal: ends }, async (listable, signal) => {
    const { listenerId, epoch } = lease;
    const watching = { log, metrics, onRewound };
    const caches = makeAgentCaches({ ...watching, hub: plain, local, namespace, served: listable, listenerId });
    const requests = makeReflector<ListenerLog>({
      ...watching,
      client: plain,
      resource: LISTENER_LOGS,
      namespace,
      transform: withoutPage,
      idleMs: HUB_IDLE_MS,
    });
    state.why = () => caches.all.map(whyNotListed).find((why) => why !== undefined);
    const watches = [...caches.all, requests].map((cache) => cache.run(signal));
    const synced = await Promise.all(caches.all.map((cache) => cache.waitForSync(signal)));
    if (!synced.includes(false)) {
      // Not before: the hub shows a cluster as connected that renews it.
      const renewals = lease.renew(signal);
      const clusters = { hub: hubClient, local, caches, namespace, clusterId };
      const works: ControllerDefinition<undefined> = {
        name: 'listener-works',
        workers: 4,
        maxDelayMs: 60_000,
        begin: (_context, queue) => ({
          reconcile: makeAgentReconciler({ ...clusters, served, listenerId, epoch }),
          wake: () => wakeWorks(caches, queue),
        }),
      };
      const controllers = runControllers([works, logAnswers({ ...clusters, requests })], () => undefined, options);
      const asleep = controllers.wake();
      log.info({ listener: listenerId, works: caches.works.list().length }, 'Connected to the hub');
      await untilAborted(signal);
      asleep();
      controllers.abort();
      await Promise.all([controllers.stop(), renewals]);
    }
    await Promise.all(watches);
  });
  await renewing;
}

interface Answering extends Pick<AgentLogsOptions, 'hub' | 'requests' | 'namespace' | 'clusterId'> {
  readonly caches: AgentLogsOptions['caches'] & Pick<AgentCaches, 'revisions'>;
  readonly local: KubeClient;
}

function logAnswers({ local, ...rest }: Answering): ControllerDefinition<undefined> {
  const budget = makeLogBudget();
  const readPage: AgentLogsOptions['readPage'] = async (copy, revision, query, signal) => {
    const wanted = DeployLogsQuery.parse(query);
    const page = makePage(wanted, { mostBytes: MOST_BYTES_OF_CROSSING_PAGE });
    const { namespace = '' } = copy.metadata;
    const revisions = ownRevisions(copy, rest.caches);
    const target = { record: copy, revisions, revisionId: revision, query: wanted };
    return JSON.stringify(page.done(await readTargetLogs(local, target, { page, budget, tenant: namespace, signal })));
  };
  return {
    name: 'listener-logs',
    workers: 2,
    begin: (_context, queue) => ({
      reconcile: makeLogReconciler({ ...rest, readPage }),
      wake: () => wakeLogs(rest.requests, queue),
    }),
  };
}
