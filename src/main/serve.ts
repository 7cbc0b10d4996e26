// Runs the controller, the facade, both, or the agent of a listener's cluster, until a signal stops them.

// An import, so that the bundle contains it.
import manifest from '../../package.json' with { type: 'json' };
import type { CodeHosts } from '../build/codehost/code-hosts.ts';
import { canBuild } from '../deploy/record/build-source.ts';
import { type Checks, startHealthServer } from '../runtime/controller/health.ts';
import { addProcessMetrics } from '../runtime/controller/metrics.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { ClusterAccess } from '../runtime/kube/config.ts';
import { makeKubeClient } from '../runtime/kube/http-client.ts';
import { type Logger, makeLogger } from '../runtime/logger.ts';
import type { GuardedFetch } from '../runtime/outbound/guarded-fetch.ts';
import { accessFor } from './cluster-access.ts';
import { type Config, loadConfig } from './config.ts';
import { type AllMetrics, makeAllMetrics } from './metrics.ts';
import {
  type Asking,
  serverIsTooOld,
  settingsWarnings,
  warnOfTenants,
  watchChart,
  watchKinds,
  watchServerVersion,
} from './preflight.ts';

/** A running part of Davit: its readiness checks, and when it has ended. */
interface Part {
  readonly ready: Checks;
  readonly done: Promise<void>;
}

type Exit = (code: number) => never;

interface Context {
  readonly config: Config;
  readonly access: ClusterAccess;
  readonly log: Logger;
  readonly metrics: AllMetrics;
  readonly signal: AbortSignal;
  readonly onRewound: (what: string) => void;
  readonly onMoved: (hub: string) => void;
}

function clientFor({ access, metrics }: Context, userAgent: string, requestTimeoutMs = 30_000): KubeClient {
  return makeKubeClient({
    access,
    userAgent,
    requestTimeoutMs,
    onRequest: ({ verb, resource, result, durationMs }) => metrics.requested(verb, resource, result, durationMs / 1000),
  });
}

async function codeHostsFor({ config, metrics }: Context): Promise<CodeHosts> {
  const { makeCodeHosts } = await import('../build/codehost/code-hosts.ts');
  return makeCodeHosts({
    hosts: config.settings.codeHosts,
    proxies: config.settings.proxy,
    onRequest: ({ kind, result, durationMs }) => metrics.codeHostRequested(kind, result, durationMs / 1000),
  });
}

/** Few platforms have a Notifier, so the requests' module is loaded for the first one. */
function webhooksFor({ config: { settings } }: Context): {
  readonly post: GuardedFetch['fetch'];
  close(): Promise<void>;
} {
  let made: Promise<GuardedFetch> | undefined;
  async function make(): Promise<GuardedFetch> {
    const { makeGuardedFetch } = await import('../runtime/outbound/guarded-fetch.ts');
    const peer = { name: 'webhook', setting: 'webhooks.hosts' };
    return makeGuardedFetch({ hosts: settings.webhooks.hosts, peer, proxies: settings.proxy, maxBytes: 64 * 1024 });
  }
  return {
    async post(url, sent) {
      made ??= make();
      const { fetch: send } = await made;
      return send(url, sent);
    },
    close: async () => (await made)?.close(),
  };
}

// Dynamic imports: the controller does not load the HTTP server, nor the facade the makers.
async function startController(context: Context): Promise<Part> {
  const { runController } = await import('./controller.ts');
  const { config, log, metrics, signal } = context;
  const issuers = (await import('../tokens/oauth/issuer.ts')).issuersOf(config.settings);
  const codeHosts = canBuild(config.settings) ? await codeHostsFor(context) : undefined;
  const webhooks = webhooksFor(context);
  const controller = runController({
    ...(codeHosts && { codeHosts }),
    askIssuer: issuers?.askIssuer,
    post: webhooks.post,
    client: clientFor(context, 'davit-controller'),
    leaseClient: clientFor(context, 'davit-controller-lease', 5000),
    settings: config.settings,
    authorities: config.authorities,
    namespace: config.namespace,
    identity: config.identity,
    workers: config.workers,
    leaseMs: config.leaseMs,
    backoffMs: config.backoffMs,
    log: log.child({ part: 'controller' }),
    metrics,
    signal,
    onRewound: context.onRewound,
  });
  return {
    ready: controller.ready,
    done: controller.done.finally(() => Promise.all([codeHosts?.close(), webhooks.close(), issuers?.close()])),
  };
}

async function startApi(context: Context): Promise<Part> {
  const { runApi } = await import('./api.ts');
  const { config, metrics, signal, onRewound } = context;
  const log = context.log.child({ part: 'api' });
  return runApi({ client: clientFor(context, 'davit-api'), config, log, metrics, signal, onRewound });
}

async function startListener(context: Context): Promise<Part> {
  const { runListener } = await import('./agent.ts');
  const { config, metrics, signal, onRewound } = context;
  return runListener({
    local: clientFor(context, 'davit-listener'),
    leaseClient: clientFor(context, 'davit-listener-lease', 5000),
    hubClient: (access, timeoutMs) => clientFor({ ...context, access }, 'davit-listener-hub', timeoutMs),
    namespace: config.namespace,
    served: config.listenerNamespaces,
    identity: config.identity,
    version: manifest.version,
    leaseMs: config.leaseMs,
    backoffMs: config.backoffMs,
    log: context.log.child({ part: 'listener' }),
    metrics,
    signal,
    onRewound,
    onMoved: context.onMoved,
  });
}

/** Exits immediately, because caches, queues and running reconciles are based on a state that no longer exists. */
function endRewound(log: Logger, what: string, exit: Exit): never {
  log.fatal({ what }, 'The API server has an earlier state, probably restored from a backup: exiting to restart');
  return exit(1);
}

/** Runs `davit controller`, `davit api`, `davit all` or `davit listener` until a signal. `exit` ends the process immediately. */
export async function serve(command: string, exit: Exit): Promise<void> {
  const config = loadConfig();
  const log = makeLogger(config.logLevel);
  const stopping = new AbortController();
  const metrics = makeAllMetrics();
  const context: Context = {
    config,
    access: await accessFor(config),
    log,
    metrics,
    signal: stopping.signal,
    onRewound: (what) => endRewound(log, what, exit),
    onMoved: (hub) => {
      log.fatal({ hub }, 'This cluster was enrolled at another hub: exiting to restart');
      exit(1);
    },
  };
  addProcessMetrics(metrics.registry, { command, version: manifest.version });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());

  // The health server starts first, because it reports missing prerequisites.
  const ready: Record<string, Checks[string]> = { start: () => 'starting' };
  const health = await startHealthServer({
    host: config.health.host,
    port: config.health.port,
    ready,
    metrics: () => metrics.registry.metrics(),
  });
  const asking: Asking = { client: clientFor(context, `davit-${command}`), log, signal: stopping.signal };
  const version = watchServerVersion(asking);
  Object.assign(ready, version.ready);
  if (await serverIsTooOld(asking)) await version.met;

  const requirements = [version, watchKinds(asking)];
  if (command === 'controller' || command === 'all') {
    requirements.push(...watchChart(asking, config.requirements));
    for (const warning of settingsWarnings(config.settings)) log.warn(warning);
    void warnOfTenants(asking, config.settings);
  }
  const parts: Part[] = [];
  if (command === 'controller' || command === 'all') parts.push(await startController(context));
  if (command === 'api' || command === 'all') parts.push(await startApi(context));
  if (command === 'listener') parts.push(await startListener(context));
  for (const { ready: checks } of [...requirements, ...parts]) Object.assign(ready, checks);
  delete ready['start'];
  log.info({ command, identity: config.identity, health: health.port }, 'Started');
  await Promise.all([...parts, ...requirements].map(({ done }) => done));
  await health.close();
  log.info('Stopped');
}
