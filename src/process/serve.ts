// The processes that serve until they are stopped: configuration, clients, then the controller, the facade, or both.

import { randomBytes } from 'node:crypto';
import { APP_DEPLOYMENTS, type AppDeployment } from '../api/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../api/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../api/app-template.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../api/code-host-integration.ts';
import { LISTENERS, type Listener } from '../api/listener.ts';
import { DEPLOYMENT_LABEL } from '../api/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../api/oauth-provider.ts';
import { type Config, loadConfig } from '../config.ts';
import { NAMESPACES } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { type ClusterAccess, inClusterAccess, loadKubeConfigFile } from '../kube/config.ts';
import { makeKubeClient } from '../kube/http-client.ts';
import { type Logger, makeLogger } from '../logger.ts';
import { makeFairLimiter } from '../runtime/fair-limiter.ts';
import { type Checks, startHealthServer } from '../runtime/health.ts';
import { slimManagedFields } from '../runtime/managed-fields.ts';
import { makeMetrics, type RuntimeMetrics } from '../runtime/metrics.ts';
import { reflectNamespaces } from '../runtime/multi-namespace-reflector.ts';
import { makeReflector, type Reflector, whyNotListed } from '../runtime/reflector.ts';
import { type Asking, serverIsTooOld, watchChart, watchKinds, watchServerVersion } from './preflight.ts';

/** One part of Davit that runs: what makes it ready, and when it has ended. */
interface Part {
  readonly ready: Checks;
  readonly done: Promise<void>;
}

type Exit = (code: number) => never;

interface Context {
  readonly config: Config;
  readonly access: ClusterAccess;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  readonly signal: AbortSignal;
  readonly onRewound: (what: string) => void;
}

function accessFor({ kube }: Config): Promise<ClusterAccess> {
  if (kube.kubeconfig !== undefined)
    return loadKubeConfigFile({ path: kube.kubeconfig, ...(kube.context !== undefined && { context: kube.context }) });
  if (kube.inCluster) return inClusterAccess(kube.inCluster);
  throw new Error('No cluster is given: run inside one, or set DAVIT_KUBECONFIG (and DAVIT_CONTEXT).');
}

function clientFor({ access, metrics }: Context, userAgent: string, requestTimeoutMs = 30_000): KubeClient {
  return makeKubeClient({
    access,
    userAgent,
    requestTimeoutMs,
    onRequest: ({ verb, resource, result, durationMs }) => metrics.requested(verb, resource, result, durationMs / 1000),
  });
}

// Each part is imported only by the process that runs it: the controller needs no HTTP server, the facade no makers.
async function startController(context: Context): Promise<Part> {
  const { runController } = await import('./controller.ts');
  const { config, log, metrics, signal } = context;
  return runController({
    client: clientFor(context, 'davit-controller'),
    leaseClient: clientFor(context, 'davit-controller-lease', 5000),
    settings: config.settings,
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
}

/**
 * Through the HTTP API, of all tenants together; two of each are let in whatever others do. An API server answers no sooner
 * when it is asked for more at once, and who came first would wait for who came last (docs/adr/0023).
 */
const WRITES_AT_ONCE = 12;

async function startApi(context: Context): Promise<Part> {
  const [{ buildApp }, { serve: listen }, { watchCertificate }, { makeCodeHosts }, registries] = await Promise.all([
    import('../http/app.ts'),
    import('../http/server.ts'),
    import('../http/core/tls-certificate.ts'),
    import('../codehost/code-hosts.ts'),
    import('../registry/platform-registry.ts'),
  ]);
  const { config, metrics, signal } = context;
  const log = context.log.child({ part: 'api' });
  const client = clientFor(context, 'davit-api');
  const { namespaces } = config.settings;
  const watching = { client, log, metrics, onRewound: context.onRewound };
  const records = reflectNamespaces<AppDeployment>(namespaces, {
    ...watching,
    resource: APP_DEPLOYMENTS,
    transform: slimManagedFields,
  });
  const revisions = reflectNamespaces<AppRevision>(namespaces, {
    ...watching,
    resource: APP_REVISIONS,
    indexedLabels: [DEPLOYMENT_LABEL],
  });
  const tenants = makeReflector<KubeObject>({ ...watching, resource: NAMESPACES, metadataOnly: true });
  const listeners = reflectNamespaces<Listener>(namespaces, { ...watching, resource: LISTENERS });
  const integrations = makeReflector<CodeHostIntegration>({
    ...watching,
    resource: CODE_HOST_INTEGRATIONS,
    namespace: config.settings.organizationNamespace,
  });
  const providers = makeReflector<OAuthProvider>({
    ...watching,
    resource: OAUTH_PROVIDERS,
    namespace: config.settings.organizationNamespace,
    transform: slimManagedFields,
  });
  const templates = makeReflector<AppTemplate>({
    ...watching,
    resource: APP_TEMPLATES,
    namespace: config.settings.organizationNamespace,
    transform: slimManagedFields,
  });
  const caches = [
    records,
    revisions,
    tenants,
    templates,
    listeners,
    providers,
    integrations,
  ] as unknown as Reflector<KubeObject>[];
  const watches = caches.map((cache) => cache.run(signal));
  const codeHosts = makeCodeHosts({
    hosts: config.settings.codeHosts,
    onRequest: ({ kind, result, durationMs }) => metrics.codeHostRequested(kind, result, durationMs / 1000),
  });
  const now = (): Date => new Date();
  const randomId = (): string => randomBytes(16).toString('hex');
  const { builds } = config.settings;
  const registry = registries.makePlatformRegistry({
    kube: client,
    builds,
    namespace: config.namespace,
    now,
    randomId,
    log,
  });
  const app = await buildApp({
    kube: client,
    registry,
    caches: { records, revisions, tenants, templates, listeners, providers, integrations },
    codeHosts,
    gate: makeFairLimiter({ most: WRITES_AT_ONCE }),
    remember: (object) => caches.find((cache) => cache.resource.kind === object.kind)?.overlay(object),
    // A deletion's answer has no version. What was known of the record stands for it: should the watch still tell of an
    // earlier change, the record is there again until the watch tells of the deletion too.
    forget(uid) {
      for (const cache of caches) {
        const version = cache.byUid(uid)?.metadata.resourceVersion;
        if (version !== undefined) cache.overlayDeleted(uid, version);
      }
    },
    settings: config.settings,
    log,
    now,
    randomId,
    randomSuffix: () => randomBytes(5).toString('hex'),
  });
  const { tls, host, port } = config.http;
  const server = await listen(app, {
    host,
    port,
    insecure: config.settings.http.insecure,
    ...(tls && { tls: await watchCertificate(tls, log) }),
  });
  log.info({ url: server.url }, 'Serving the HTTP API');
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const done = stopped
    .then(() => server.close())
    .then(() => Promise.all([...watches, codeHosts.close(), registry?.close()]))
    .then(() => undefined);
  const ready = Object.fromEntries(caches.map((cache) => [`api-${cache.resource.plural}`, () => whyNotListed(cache)]));
  return { ready, done };
}

/** Without another word: caches, queues and whatever is under way all speak of a history that is no more. */
function endRewound(log: Logger, what: string, exit: Exit): never {
  log.fatal({ what }, 'The API server has gone back in time, as after the restore of a backup: starting anew');
  return exit(1);
}

/** `davit controller`, `davit api` or `davit all`, until a signal ends it. `exit` ends the process at once. */
export async function serve(command: string, exit: Exit): Promise<void> {
  const config = loadConfig();
  const log = makeLogger(config.logLevel);
  const stopping = new AbortController();
  const context: Context = {
    config,
    access: await accessFor(config),
    log,
    metrics: makeMetrics(),
    signal: stopping.signal,
    onRewound: (what) => endRewound(log, what, exit),
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());

  // Before anything else: whatever is missing is told here.
  const ready: Record<string, Checks[string]> = { start: () => 'starting' };
  const health = await startHealthServer({
    host: config.health.host,
    port: config.health.port,
    ready,
    metrics: () => context.metrics.registry.metrics(),
  });
  const asking: Asking = { client: clientFor(context, `davit-${command}`), log, signal: stopping.signal };
  const version = watchServerVersion(asking);
  Object.assign(ready, version.ready);
  if (await serverIsTooOld(asking)) await version.met;

  const requirements = [version, watchKinds(asking)];
  if (command !== 'api') requirements.push(...watchChart(asking, config.requirements));
  const parts: Part[] = [];
  if (command !== 'api') parts.push(await startController(context));
  if (command !== 'controller') parts.push(await startApi(context));
  for (const { ready: checks } of [...requirements, ...parts]) Object.assign(ready, checks);
  delete ready['start'];
  log.info({ command, identity: config.identity, health: health.port }, 'Started');
  await Promise.all([...parts, ...requirements].map(({ done }) => done));
  await health.close();
  log.info('Stopped');
}
