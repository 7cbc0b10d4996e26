// Starts and stops the facade: watch caches, the HTTP application, its server.

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { makeCodeHosts } from '../build/codehost/code-hosts.ts';
import { makePlatformRegistry } from '../build/registry/platform-registry.ts';
import { publishKeys } from '../build/registry/publish-keys.ts';
import { systemClock, untilAborted } from '../runtime/controller/clock.ts';
import { makeFairLimiter } from '../runtime/controller/fair-limiter.ts';
import type { Checks } from '../runtime/controller/health.ts';
import type { RuntimeMetrics } from '../runtime/controller/metrics.ts';
import { whyNotListed } from '../runtime/controller/reflector.ts';
import { watchCertificate } from '../runtime/http/tls-certificate.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { Logger } from '../runtime/logger.ts';
import { makeOAuth } from '../tokens/oauth/oauth.ts';
import type { Config } from './config.ts';
import { buildApp } from './facade.ts';
import { makeFacadeCaches } from './facade-caches.ts';
import type { PageFiles } from './page-routes.ts';
import { serve } from './server.ts';

export interface ApiOptions {
  readonly client: KubeClient;
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
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
  const { client, config, log, metrics, signal, onRewound } = options;
  const { caches, all, remember, forget } = makeFacadeCaches(config.settings, { client, log, metrics, onRewound });
  const watches: Promise<unknown>[] = all.map((cache) => cache.run(signal));
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
  const oauth = makeOAuth({ kube: client, settings: config.settings, caches, namespace, now, log });
  if (oauth) watches.push(oauth.collector.run(signal));
  const page = await readPage();
  if (page === undefined) log.info('The page at / is not served. To create it: npm run bundle:page');
  const app = await buildApp({
    kube: client,
    page,
    registry,
    oauth,
    caches,
    codeHosts,
    gate: makeFairLimiter({ most: WRITES_AT_ONCE }),
    remember,
    forget,
    settings: config.settings,
    log,
    now,
    randomId,
    randomSuffix: () => randomBytes(5).toString('hex'),
    signal,
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
  const done = untilAborted(signal)
    .then(() => server.close())
    .then(() => Promise.all([...watches, codeHosts.close(), registry?.close(), oauth?.close()]))
    .then(() => undefined);
  const ready = Object.fromEntries(all.map((cache) => [`api-${cache.resource.plural}`, () => whyNotListed(cache)]));
  return { ready, done };
}

const NAMES = ['page.js', 'create.js', 'oidc.js', 'docs.js', 'page.css', 'icon.svg'];

/** Undefined where they have not been written, as in a start from source in a new clone. */
async function readPage(): Promise<PageFiles | undefined> {
  // The same for the source and for its bundle.
  const manifest = findPackageJSON(import.meta.url);
  if (manifest === undefined) return undefined;
  const folder = join(dirname(manifest), 'dist/page');
  try {
    return new Map(
      await Promise.all(NAMES.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
    );
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
