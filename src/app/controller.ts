// Starts and stops the controller: caches, leader election, work queues, workers.

import { hostname } from 'node:os';
import type { CodeHosts } from '../builds/codehost/code-hosts.ts';
import { makePullSecretReconciler, wakePullSecrets } from '../builds/pull-secrets.ts';
import { makePushWatch, type PushWatch, wakePushes } from '../builds/pushes.ts';
import { makeBuildReconciler } from '../builds/reconciler.ts';
import { makeRegistryAccess } from '../builds/registry/access.ts';
import type { RegistryUpkeep } from '../builds/registry/upkeep.ts';
import { makeSourceAccess } from '../builds/source-access.ts';
import { wakeBuilds } from '../builds/watches.ts';
import { makeVanished } from '../deployments/bypassed-finalizers.ts';
import { POD_CONTRACTS } from '../deployments/children/contracts.ts';
import { waitForFreshCaches } from '../deployments/cluster/cache-barrier.ts';
import type { Clusters } from '../deployments/cluster/cluster.ts';
import { makeDigestKey } from '../deployments/hmac-key.ts';
import { type HostRegistry, makeHostRegistry } from '../deployments/host-registry.ts';
import { makeReconciler } from '../deployments/reconcile.ts';
import { canBuild } from '../deployments/record/build-source.ts';
import {
  makeClientSecretCollector,
  makeSecretCollector,
  wakeClientSecretCollector,
  wakeCollector,
} from '../deployments/secret-collector.ts';
import { makeSecretFingerprints } from '../deployments/secret-fingerprints.ts';
import { enqueueOnChange } from '../deployments/watches.ts';
import { fairClient } from '../lib/controller/clients/fair.ts';
import { leaderOnly } from '../lib/controller/clients/leader-only.ts';
import { rewindGuarded } from '../lib/controller/clients/rewind-guarded.ts';
import { systemClock } from '../lib/controller/clock.ts';
import type { Cluster as ClusterOf } from '../lib/controller/cluster.ts';
import {
  type Controller,
  type Reconcile,
  type ControllerOptions as StartOptions,
  startController,
} from '../lib/controller/controller.ts';
import { type EventRecorder, makeEventRecorder } from '../lib/controller/events.ts';
import { makeFairLimiter } from '../lib/controller/fair-limiter.ts';
import type { Checks } from '../lib/controller/health.ts';
import { keyOf } from '../lib/controller/keys.ts';
import { runLeaderElection } from '../lib/controller/leader-election.ts';
import type { RuntimeMetrics } from '../lib/controller/metrics.ts';
import { whyNotListed } from '../lib/controller/reflector.ts';
import type { Tracer } from '../lib/controller/tracer.ts';
import { groupByNamespace, makeWorkQueue, type WorkQueue } from '../lib/controller/work-queue.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry } from '../lib/kube/api-resources.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import type { Logger } from '../lib/logger.ts';
import { makeHearing } from '../listeners/hub/hearing.ts';
import { makeListenerReconciler, wakeListeners } from '../listeners/hub/listeners.ts';
import { makeRecordReconciler, wakeRemoteRecords } from '../listeners/hub/records.ts';
import { followStatuses } from '../monitoring/statuses.ts';
import { makeOrganizationReconciler, wakeOrganization } from '../organization/reconciler.ts';
import { APP_DEPLOYMENTS } from '../schema/app-deployment.ts';
import { APP_REVISIONS } from '../schema/app-revision.ts';
import { CODE_HOST_INTEGRATIONS } from '../schema/code-host-integration.ts';
import { LISTENERS } from '../schema/listener.ts';
import { LISTENER_WORKS } from '../schema/listener-work.ts';
import { OAUTH_PROVIDERS } from '../schema/oauth-provider.ts';
import type { Settings } from '../schema/settings.ts';
import { TRACING_PROJECTS } from '../schema/tracing-project.ts';
import { type ControllerCaches, makeControllerCaches } from './caches.ts';
import { careForRegistry } from './registry-care.ts';

export interface ControllerOptions {
  readonly client: KubeClient;
  /** A client with separate connections, so that a busy controller can still renew its lease. */
  readonly leaseClient: KubeClient;
  readonly settings: Settings;
  /** Davit's namespace, which contains the lease and the digest key. */
  readonly namespace: string;
  readonly identity: string;
  readonly workers: number;
  readonly leaseMs: number;
  readonly backoffMs: number;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  readonly tracer?: Tracer | undefined;
  readonly signal: AbortSignal;
  /** The code hosts of builds. Absent if the platform does not build. */
  readonly codeHosts?: Pick<CodeHosts, 'commit' | 'token'>;
  /** CA certificates (PEM) that builds trust besides those of their images. */
  readonly authorities: string | undefined;
  /** Called when the API server's state was reset to an earlier one, such as by a restore: the caches are then wrong. */
  readonly onRewound: (what: string) => void;
}

export interface RunningController {
  readonly ready: Checks;
  /** Resolves when everything has stopped after `signal`. Never rejects. */
  readonly done: Promise<void>;
}

/** Starts the watches immediately, and reconciling when this process becomes the leader. */
export function runController(options: ControllerOptions): RunningController {
  const { client, settings, log, metrics, signal, onRewound } = options;
  const watching = new AbortController();
  const caches = makeControllerCaches({
    client,
    namespaces: settings.namespaces,
    organizationNamespace: settings.organizationNamespace,
    addressKind: settings.address.kind,
    keda: settings.keda.enabled,
    buildsNamespace: canBuild(settings) ? settings.builds.namespace : undefined,
    withListeners: settings.listeners.enabled,
    log,
    metrics,
    onRewound,
  });
  const watches = caches.all.map((cache) => cache.run(watching.signal));
  const done = lead(options, caches).finally(async () => {
    watching.abort();
    await Promise.all(watches);
  });
  signal.addEventListener('abort', () => log.info('Stopping'), { once: true });
  return { ready: readiness(caches), done };
}

function readiness(caches: ControllerCaches): Checks {
  // Several caches may have the same resource, in different namespaces.
  const byResource = Map.groupBy(caches.all, ({ resource }) => resource.plural);
  return Object.fromEntries(
    [...byResource].map(([plural, these]) => [
      plural,
      () => these.map(whyNotListed).find((reason) => reason !== undefined),
    ]),
  );
}

/** Takes part in leader elections until the process ends, again after leadership was lost. */
async function lead(options: ControllerOptions, caches: ControllerCaches): Promise<void> {
  const { signal, namespace, identity, leaseMs, log } = options;
  // One guard for all elections: an outage ends an election, and a backup may be restored during it.
  const leaseClient = rewindGuarded(options.leaseClient, options.onRewound);
  while (!signal.aborted) {
    const electing = new AbortController();
    let controller: Pick<Controller, 'stop' | 'abort'> | undefined;
    // The workers stop first, so that the lease is released after the last write.
    const stop = (): void => void (controller?.stop() ?? Promise.resolve()).finally(() => electing.abort());
    signal.addEventListener('abort', stop, { once: true });
    // oxlint-disable-next-line no-await-in-loop -- one election at a time
    const outcome = await runLeaderElection({
      client: leaseClient,
      namespace,
      name: 'davit-controller',
      identity,
      log,
      leaseDurationMs: leaseMs,
      renewDeadlineMs: Math.round((leaseMs * 2) / 3),
      retryPeriodMs: Math.round((leaseMs * 2) / 15),
      signal: electing.signal,
      onStarted: (leading, holds) => {
        controller = startReconciling(options, caches, leading, holds);
      },
      onStopped: () => controller?.abort(),
    });
    signal.removeEventListener('abort', stop);
    log.info({ outcome }, 'Election over');
  }
}

/** Starts all reconcilers. They stop and abort together. */
function startReconciling(
  options: ControllerOptions,
  caches: ControllerCaches,
  leading: AbortSignal,
  holds: () => boolean,
): Pick<Controller, 'stop' | 'abort'> {
  const { settings, log, metrics, tracer, identity, workers, backoffMs } = options;
  const gate = makeFairLimiter();
  // Leadership is checked behind the limiter, when the write's turn has come.
  const client = fairClient(leaderOnly(options.client, leading, holds), gate);
  const instance = `${hostname()}/${identity}`;
  const events = makeEventRecorder({ client, controller: 'davit.dev/controller', instance, log });
  const own = [
    APP_DEPLOYMENTS,
    APP_REVISIONS,
    TRACING_PROJECTS,
    OAUTH_PROVIDERS,
    CODE_HOST_INTEGRATIONS,
    LISTENERS,
    LISTENER_WORKS,
  ];
  const registry = makeResourceRegistry([...BUILT_IN_RESOURCES, ...own]);
  const home: ControllerCluster = { client, caches, registry };
  const clusters: Clusters = { home, target: home };
  const now = (): Date => new Date();
  const elapsed = (): number => performance.now();
  const makeQueue = (name: string): WorkQueue =>
    makeWorkQueue({ name, baseDelayMs: backoffMs, groupOf: groupByNamespace, ...PACE, metrics });
  const records = makeQueue('appdeployments');
  const secrets = makeQueue('secrets');
  const clientSecrets = makeQueue('client-secrets');
  const organization = makeQueue('organization');
  const listenerQueue = makeQueue('listeners');
  const buildQueues = {
    builds: makeQueue('builds'),
    pullSecrets: makeQueue('pull-secrets'),
    pushes: makeQueue('pushes'),
    upkeep: makeQueue('registry-upkeep'),
  };
  const digestKey = makeDigestKey(client, options.namespace);
  const contents = makeSecretFingerprints({ client, caches, digestKey, elapsed });
  const hosts = makeHostRegistry(caches, settings.address);
  const vanished = makeVanished(clusters, elapsed);
  for (const { close } of [hosts, vanished]) leading.addEventListener('abort', close, { once: true });
  const builds = makeBuilds(options, home, { events, now, elapsed, onPush: (key) => records.add(key) });
  const upkeep = builds && careForRegistry(options, home, leading, { queue: buildQueues.upkeep, now, elapsed });
  const local = makeReconciler({
    ...clusters,
    contents,
    hosts,
    vanished,
    settings,
    events,
    now,
    contracts: POD_CONTRACTS,
    pushedCommit: (record) => builds?.pushes.pushedCommit(record),
  });
  const listeners = makeListeners(options, home, { events, now, elapsed, local, leading });
  const collect = makeSecretCollector(home, elapsed);
  const collectClientSecret = makeClientSecretCollector(home, elapsed);
  const judge = makeOrganizationReconciler(home, settings, now);
  void beginWhenSynced(
    options,
    caches,
    hosts,
    { records, secrets, clientSecrets, organization, listeners: listenerQueue, ...buildQueues },
    upkeep,
    leading,
  );
  const start = (
    own: Pick<StartOptions, 'name' | 'queue' | 'workers' | 'workersForNewGroups' | 'reconcile'>,
  ): Controller => startController({ ...own, log, metrics, tracer });
  const controllers = [
    start({
      name: 'appdeployments',
      queue: records,
      workers,
      workersForNewGroups: workers >= ENOUGH_TO_KEEP_ONE ? 1 : 0,
      reconcile: listeners?.records ?? local,
    }),
    start({ name: 'secrets', queue: secrets, workers: 1, reconcile: collect }),
    start({
      name: 'client-secrets',
      queue: clientSecrets,
      workers: 1,
      reconcile: collectClientSecret,
    }),
    start({ name: 'organization', queue: organization, workers: 1, reconcile: judge }),
    ...(listeners
      ? [
          start({
            name: 'listeners',
            queue: listenerQueue,
            workers: 1,
            reconcile: listeners.listeners,
          }),
        ]
      : []),
    ...(builds
      ? [
          start({
            name: 'builds',
            queue: buildQueues.builds,
            workers: 4,
            reconcile: builds.build,
          }),
          start({
            name: 'pull-secrets',
            queue: buildQueues.pullSecrets,
            workers: 1,
            reconcile: builds.pullSecret,
          }),
          start({
            name: 'pushes',
            queue: buildQueues.pushes,
            workers: 4,
            reconcile: builds.pushes.reconcile,
          }),
        ]
      : []),
    ...(upkeep
      ? [
          start({
            name: 'registry-upkeep',
            queue: buildQueues.upkeep,
            workers: 1,
            reconcile: upkeep.reconcile,
          }),
        ]
      : []),
  ];
  return {
    stop: async () => {
      await Promise.all(controllers.map((controller) => controller.stop()));
    },
    abort: () => {
      for (const controller of controllers) controller.abort();
    },
  };
}

type ControllerCluster = ClusterOf<ControllerCaches>;

interface Listeners {
  readonly listeners: Reconcile;
  /** All records, whichever cluster runs them. */
  readonly records: Reconcile;
}

/** What serves further clusters; undefined where there are none. */
function makeListeners(
  { namespace, settings }: ControllerOptions,
  home: ControllerCluster,
  {
    leading,
    ...means
  }: {
    readonly events: EventRecorder;
    readonly now: () => Date;
    readonly elapsed: () => number;
    readonly local: Reconcile;
    readonly leading: AbortSignal;
  },
): Listeners | undefined {
  const { listening } = home.caches;
  if (listening === undefined) return undefined;
  const hearing = makeHearing(listening.leases, means.elapsed);
  leading.addEventListener('abort', hearing.close, { once: true });
  const account = { name: 'davit-controller', namespace };
  return {
    listeners: makeListenerReconciler({ home, listening, settings, hearing, account, ...means }),
    records: makeRecordReconciler({ home, target: home, listening, settings, ...means }),
  };
}

interface Builds {
  readonly build: Reconcile;
  readonly pullSecret: Reconcile;
  readonly pushes: PushWatch;
}

/** The reconcilers of builds. Undefined if there is no registry or no builder. */
function makeBuilds(
  { namespace, settings, codeHosts, authorities }: ControllerOptions,
  shell: ControllerCluster,
  means: {
    readonly events: EventRecorder;
    readonly now: () => Date;
    readonly elapsed: () => number;
    readonly onPush: (key: string) => void;
  },
): Builds | undefined {
  const { client, caches } = shell;
  const { registry } = settings.builds;
  const { builds } = caches;
  if (!builds || !codeHosts || registry === undefined) return undefined;
  const registryAccess = makeRegistryAccess({ client, namespace, registry, builds: settings.builds, now: means.now });
  const sources = makeSourceAccess({ client, caches, settings, codeHosts });
  return {
    build: makeBuildReconciler({ shell, settings, registry, registryAccess, sources, authorities, builds, ...means }),
    pullSecret: makePullSecretReconciler({ shell, settings, registry, registryAccess, now: means.now }),
    pushes: makePushWatch({ caches, sources, settings, ...means }),
  };
}

/** A key that changes rarely is reconciled immediately, one that changes constantly a few times a second. */
const PACE = { intervalMs: 200, burst: 3 };

/** From this number of workers on, one is reserved for other tenants: a tenant with few keys does not wait for one with many. */
const ENOUGH_TO_KEEP_ONE = 4;

// Keys are enqueued only when every cache has its first list, so that no decision uses incomplete state.
async function beginWhenSynced(
  { client, settings, log, metrics }: ControllerOptions,
  caches: ControllerCaches,
  hosts: HostRegistry,
  queues: Readonly<
    Record<
      'records' | 'secrets' | 'clientSecrets' | 'organization' | 'listeners' | 'builds' | 'pullSecrets' | 'pushes',
      WorkQueue
    >
  >,
  upkeep: RegistryUpkeep | undefined,
  leading: AbortSignal,
): Promise<void> {
  const synced = await Promise.all(caches.all.map((cache) => cache.waitForSync(leading)));
  if (synced.includes(false)) return;
  // Two records can claim the same host, so claims need current caches.
  if (caches.addresses)
    await waitForFreshCaches({ client, caches, namespaces: settings.namespaces, log, signal: leading });
  if (leading.aborted) return;
  const wakers = [
    followStatuses(caches, {
      log,
      metrics,
      clock: systemClock,
      mostNamed: settings.metrics.perDeployment ? settings.metrics.maxDeployments : undefined,
    }),
    enqueueOnChange(caches, queues.records, hosts),
    wakeOrganization(caches, queues.organization),
    ...(caches.listening
      ? [
          wakeRemoteRecords(caches, caches.listening, queues.records),
          wakeListeners(caches, caches.listening, queues.listeners),
        ]
      : []),
    ...(caches.builds
      ? [
          wakeBuilds(caches, caches.builds, { queue: queues.builds, settings }),
          ...(settings.builds.registry ? [wakePullSecrets(caches, queues.pullSecrets, settings.builds.registry)] : []),
          wakePushes(caches, queues.pushes),
        ]
      : []),
    ...(upkeep ? [upkeep.wake()] : []),
    // A paused platform deletes nothing, so the collectors get no keys.
    ...(settings.paused
      ? []
      : [wakeCollector(caches, queues.secrets), wakeClientSecretCollector(caches, queues.clientSecrets)]),
  ];
  for (const sleepAgain of wakers) {
    leading.addEventListener('abort', sleepAgain, { once: true });
  }
  const records = caches.records.list();
  for (const record of records) queues.records.add(keyOf(record.metadata.namespace, record.metadata.name));
  log.info({ records: records.length }, 'ControllerCaches listed, reconciling');
}
