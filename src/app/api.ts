// Starts and stops the facade: watch caches, the HTTP application, its server.

import { randomBytes } from 'node:crypto';
import { makeCodeHosts } from '../builds/codehost/code-hosts.ts';
import { makePlatformRegistry } from '../builds/registry/platform-registry.ts';
import { systemClock } from '../lib/controller/clock.ts';
import { makeFairLimiter } from '../lib/controller/fair-limiter.ts';
import type { Checks } from '../lib/controller/health.ts';
import { slimManagedFields } from '../lib/controller/managed-fields.ts';
import type { RuntimeMetrics } from '../lib/controller/metrics.ts';
import { reflectNamespaces } from '../lib/controller/multi-namespace-reflector.ts';
import { makeReflector, type Reflector, whyNotListed } from '../lib/controller/reflector.ts';
import type { Tracer } from '../lib/controller/tracer.ts';
import { watchCertificate } from '../lib/http/tls-certificate.ts';
import { NAMESPACES } from '../lib/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../lib/kube/client.ts';
import type { Logger } from '../lib/logger.ts';
import { LIMITED_BY } from '../organization/facade/event-streams.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../schema/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../schema/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../schema/app-template.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../schema/code-host-integration.ts';
import { LISTENERS, type Listener } from '../schema/listener.ts';
import { DEPLOYMENT_LABEL } from '../schema/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../schema/oauth-provider.ts';
import type { Config } from './config.ts';
import { buildApp } from './facade.ts';
import { readPage } from './page.ts';
import { publishKeys } from './publish-keys.ts';
import { serve } from './server.ts';

export interface ApiOptions {
  readonly client: KubeClient;
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  readonly tracer?: Tracer | undefined;
  readonly signal: AbortSignal;
  /** Called when the API server's state was reset to an earlier one, such as by a restore: the caches are then wrong. */
  readonly onRewound: (what: string) => void;
}

export interface RunningApi {
  readonly ready: Checks;
  /** Resolves when everything has stopped after `signal`. */
  readonly done: Promise<void>;
}

/**
 * Concurrent writes through the HTTP API for all tenants. Each tenant may always have two. More concurrent requests would not
 * make the API server faster, and early requests would wait for late ones (docs/adr/0023).
 */
const WRITES_AT_ONCE = 12;

/** Serves the HTTP API until `signal` aborts. */
export async function runApi(options: ApiOptions): Promise<RunningApi> {
  const { client, config, log, metrics, tracer, signal, onRewound } = options;
  const { namespaces } = config.settings;
  const watching = { client, log, metrics, onRewound };
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
  const listeners = reflectNamespaces<Listener>(namespaces, {
    ...watching,
    resource: LISTENERS,
    transform: slimManagedFields,
  });
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
  const watches: Promise<unknown>[] = caches.map((cache) => cache.run(signal));
  const codeHosts = makeCodeHosts({
    hosts: config.settings.codeHosts,
    proxies: config.settings.proxy,
    onRequest: ({ kind, result, durationMs }) => metrics.codeHostRequested(kind, result, durationMs / 1000),
  });
  const now = (): Date => new Date();
  const randomId = (): string => randomBytes(16).toString('hex');
  const { builds, proxy: proxies } = config.settings;
  const { namespace } = config;
  const registry = makePlatformRegistry({ kube: client, builds, proxies, namespace, now, randomId, log });
  if (registry !== undefined && builds.registry?.tokens === true)
    watches.push(publishKeys(registry.keyRing, { clock: systemClock, log, signal }));
  const page = await readPage();
  if (page === undefined) log.info('The page at / is not served: npm run bundle:page writes it');
  metrics.startAtZero({ streamLimits: LIMITED_BY });
  const app = await buildApp({
    kube: client,
    page,
    registry,
    caches: { records, revisions, tenants, templates, listeners, providers, integrations },
    codeHosts,
    gate: makeFairLimiter({ most: WRITES_AT_ONCE }),
    remember: (object) => caches.find((cache) => cache.resource.kind === object.kind)?.overlay(object),
    // The answer to a deletion has no version, so the cached version is used. If the watch still reports an earlier change, the record
    // reappears until the watch reports the deletion.
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
    signal,
    tracer,
    onStream: metrics.streaming,
    onStreamRefused: metrics.streamRefused,
    onAnswer: ({ method, route, code, seconds }) => metrics.answered(method, route, code, seconds),
  });
  const { tls, host, port } = config.http;
  const server = await serve(app, {
    host,
    port,
    insecure: config.settings.http.insecure,
    ...(tls && { tls: await watchCertificate(tls, log, metrics.servesUntil) }),
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
