// The HTTP API in the process of one person, without a port: each route decides as it does in davit-api, with that person's credentials
// of the API server. What needs Davit's own credentials is not served.

import { randomBytes } from 'node:crypto';
import type { Settings } from '../kinds/settings.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { Logger } from '../runtime/logger.ts';
import { makeDirectCaches } from './direct-caches.ts';
import { buildApp } from './facade.ts';

export interface OwnRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface OwnAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface OwnFacadeOptions {
  /** A client with the person's credentials. */
  readonly kube: KubeClient;
  /** Namespace of the tenant. */
  readonly namespace: string;
  readonly settings: Settings;
}

/** In place of the token of a request: the credentials are the client's. */
const NO_TOKEN = 'kubeconfig';

/** Returns a function that answers requests as davit-api does. Errors are answers, too. */
export async function makeOwnFacade({
  kube,
  namespace,
  settings,
}: OwnFacadeOptions): Promise<(request: OwnRequest) => Promise<OwnAnswer>> {
  const own: KubeClient = { ...kube, withToken: () => own };
  const { organizationNamespace } = settings;
  const { caches, freshen, remember, forget } = makeDirectCaches(own, { namespace, organizationNamespace });
  const app = await buildApp({
    kube: own,
    caches,
    remember,
    forget,
    beforeEach: freshen,
    settings: { ...settings, http: { ...settings.http, basePath: '' } },
    isUnlimited: true,
    codeHosts: { repositories: () => Promise.reject(new Error('only davit-api has the credentials of code hosts')) },
    gate: { run: (_group, write) => write() },
    log: SILENT,
    now: () => new Date(),
    randomId: () => randomBytes(16).toString('hex'),
    randomSuffix: () => randomBytes(5).toString('hex'),
  });
  return async ({ method, path, headers, body }) => {
    const {
      statusCode,
      headers: answered,
      body: text,
    } = await app.inject({
      method: method as 'GET',
      url: path,
      headers: { ...headers, 'x-api-key': NO_TOKEN, 'x-tenant-id': namespace },
      ...(body !== undefined && { payload: body }),
    });
    return { status: statusCode, headers: answered, body: text };
  };
}

const nothing = (): void => undefined;
/** Every failure is an answer, and one person's program keeps no log. */
const SILENT = {
  level: 'silent',
  fatal: nothing,
  error: nothing,
  warn: nothing,
  info: nothing,
  debug: nothing,
  trace: nothing,
  silent: nothing,
  child: (): unknown => SILENT,
} as unknown as Logger;
