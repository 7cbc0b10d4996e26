// Starts and stops the controller: caches, leader election, and the controllers of the list.

import { hostname } from 'node:os';
import { CODE_FILES, makeCodeFiles } from '../build/code-files.ts';
import type { CodeHosts } from '../build/codehost/code-hosts.ts';
import { type BuildContext, builds, codeFiles, pullSecrets, pushes, registryUpkeep } from '../build/controller.ts';
import { type KnownCommits, pushedCommit } from '../build/pushes.ts';
import { type ListenerContext, listeners, onAllClusters } from '../clusters/hub/controller.ts';
import { operations, patchWindow } from '../databases/controller.ts';
import { waitForFreshCaches } from '../deploy/cluster/cache-barrier.ts';
import { clientSecrets, deployments, secrets } from '../deploy/controller.ts';
import { ownResources } from '../kinds/kinds.ts';
import type { Settings } from '../kinds/settings.ts';
import { leaderOnly } from '../runtime/controller/clients/leader-only.ts';
import { fairClient } from '../runtime/controller/clients/wrap-client.ts';
import { systemClock } from '../runtime/controller/clock.ts';
import {
  type ControllerDefinition,
  type RunningControllers,
  type RunOptions,
  runControllers,
} from '../runtime/controller/definition.ts';
import { makeEventRecorder } from '../runtime/controller/events.ts';
import { makeFairLimiter } from '../runtime/controller/fair-limiter.ts';
import type { Checks } from '../runtime/controller/health.ts';
import { type Led, leadAgainAndAgain } from '../runtime/controller/leading.ts';
import { listedChecks } from '../runtime/controller/reflector.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry } from '../runtime/kube/api-resources.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { type OrganizationContext, organization } from '../tokens/controller.ts';
import { type ControllerCaches, makeControllerCaches } from './caches.ts';
import type { AllMetrics } from './metrics.ts';
import { followStatuses } from './monitoring/statuses.ts';
import { type NoticeContext, notices } from './notices/controller.ts';

/** All controllers of the process. Each says in its own folder what wakes it and what it does. */
export const CONTROLLERS: readonly ControllerDefinition<BuildContext & ListenerContext & NoticeContext>[] = [
  onAllClusters(deployments),
  operations,
  patchWindow,
  secrets,
  clientSecrets,
  organization,
  listeners,
  builds,
  pullSecrets,
  pushes,
  codeFiles,
  notices,
  registryUpkeep,
];

export interface ControllerOptions extends RunOptions {
  readonly metrics: AllMetrics;
  readonly client: KubeClient;
  /** A client with separate connections, so that a busy controller can still renew its lease. */
  readonly leaseClient: KubeClient;
  readonly settings: Settings;
  /** Davit's namespace, which contains the lease and the digest key. */
  readonly namespace: string;
  readonly identity: string;
  readonly workers: number;
  readonly leaseMs: number;
  readonly signal: AbortSignal;
  /** The code hosts of builds. Absent if the platform does not build. */
  readonly codeHosts?: Pick<CodeHosts, 'commit' | 'file' | 'status' | 'token'>;
  readonly post: NoticeContext['post'];
  readonly askIssuer?: OrganizationContext['askIssuer'];
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
  const { log, signal } = options;
  const watching = new AbortController();
  const caches = makeControllerCaches(options);
  const watches = caches.all.map((cache) => cache.run(watching.signal));
  const begin = (leading: AbortSignal, holds: () => boolean): Led => startReconciling(options, caches, leading, holds);
  const done = leadAgainAndAgain({ ...options, name: 'davit-controller', begin }).finally(async () => {
    watching.abort();
    await Promise.all(watches);
  });
  signal.addEventListener('abort', () => log.info('Stopping'), { once: true });
  return { ready: listedChecks(caches.all), done };
}

/** Starts all controllers. They stop and abort together. */
function startReconciling(
  options: ControllerOptions,
  caches: ControllerCaches,
  leading: AbortSignal,
  holds: () => boolean,
): RunningControllers {
  const { log } = options;
  const instance = `${hostname()}/${options.identity}`;
  // Leadership is checked behind the limiter, when the write's turn has come.
  const client = fairClient(leaderOnly(options.client, leading, holds), makeFairLimiter());
  const known: KnownCommits = new Map();
  const files = makeCodeFiles(options.settings);
  const controllers = runControllers(
    CONTROLLERS,
    (enqueue) => ({
      ...options,
      home: { client, caches, registry: makeResourceRegistry([...BUILT_IN_RESOURCES, ...ownResources()]) },
      building: caches.builds,
      listening: caches.listening,
      notifiers: caches.notifiers,
      events: makeEventRecorder({ client, controller: 'davit.dev/controller', instance, log }),
      now: () => new Date(),
      elapsed: () => performance.now(),
      leading,
      known,
      pushedCommit: (record) => pushedCommit(known, record),
      files,
      codeFile: (record, need) => files.lookup(record, need, (key) => enqueue(CODE_FILES, key)),
      enqueue,
    }),
    options,
  );
  void wakeWhenSynced(options, caches, controllers, leading);
  return controllers;
}

// Keys are enqueued only when every cache has its first list, so that no decision uses incomplete state.
async function wakeWhenSynced(
  { client, settings, log, metrics }: ControllerOptions,
  caches: ControllerCaches,
  controllers: RunningControllers,
  leading: AbortSignal,
): Promise<void> {
  const synced = await Promise.all(caches.all.map((cache) => cache.waitForSync(leading)));
  if (synced.includes(false)) return;
  // An older record would be deployed once more, and two records can claim the same host.
  await waitForFreshCaches({ client, caches, namespaces: settings.namespaces, log, signal: leading });
  if (leading.aborted) return;
  const mostNamed = settings.metrics.perDeployment ? settings.metrics.maxDeployments : undefined;
  for (const end of [followStatuses(caches, { log, metrics, clock: systemClock, mostNamed }), controllers.wake()])
    leading.addEventListener('abort', end, { once: true });
  log.info({ records: caches.records.list().length }, 'Caches listed, reconciling');
}
