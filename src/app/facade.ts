// Builds the facade without a port. server.ts listens, tests use `inject`.

import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { CodeHosts } from '../builds/codehost/code-hosts.ts';
import { makeIntegrations } from '../builds/http/code-host-repositories/repository.ts';
import { registerRepositories } from '../builds/http/code-host-repositories/routes.ts';
import { registerRegistry } from '../builds/http/registry/routes.ts';
import { registerUploads } from '../builds/http/uploads/routes.ts';
import { registerWebhooks } from '../builds/http/webhooks/routes.ts';
import type { PlatformRegistry } from '../builds/registry/platform-registry.ts';
import { registerPlatform } from '../deployments/http/platform/routes.ts';
import { makeDeployments } from '../deployments/http/repository.ts';
import { registerDeployments } from '../deployments/http/routes.ts';
import type { FairLimiter } from '../lib/controller/fair-limiter.ts';
import type { Store } from '../lib/controller/store.ts';
import type { Tracer } from '../lib/controller/tracer.ts';
import { Unavailable } from '../lib/errors.ts';
import { makeFreshList } from '../lib/http/coalesced-list.ts';
import { registerTimeLimit } from '../lib/http/handler-timeout.ts';
import { HttpError } from '../lib/http/http-error.ts';
import { makeReadiness } from '../lib/http/readiness.ts';
import { parseBody } from '../lib/http/strict-json.ts';
import { UNREAD_LIMITS, type UnreadLimits } from '../lib/http/unread-answers.ts';
import type { KubeClient, KubeObject } from '../lib/kube/client.ts';
import type { Logger } from '../lib/logger.ts';
import { makeListeners } from '../listeners/http/repository.ts';
import { registerListeners } from '../listeners/http/routes.ts';
import { registerLogs } from '../logs/routes.ts';
import { registerAuth } from '../organization/facade/auth.ts';
import { makeAuthentication } from '../organization/facade/authentication.ts';
import { makeIdentity } from '../organization/facade/authorization.ts';
import type { FacadeCaches } from '../organization/facade/caches.ts';
import { registerCallers } from '../organization/facade/callers.ts';
import { answerError, registerErrors, registerNotFound } from '../organization/facade/errors.ts';
import {
  type LimitedBy,
  makeEventStreams,
  STREAM_LIMITS,
  type StreamKind,
  type StreamLimits,
} from '../organization/facade/event-streams.ts';
import { registerFieldValidation } from '../organization/facade/field-validation.ts';
import { registerDocs, registerOpenApi } from '../organization/facade/openapi.ts';
import { makeOrganizationSecrets } from '../organization/facade/organization-secrets.ts';
import { type RateLimit, registerRateLimit } from '../organization/facade/rate-limit.ts';
import { type AnswerReport, registerRequestLog, requestIdOf } from '../organization/facade/request-log.ts';
import { registerTracing } from '../organization/facade/tracing.ts';
import { registerUnreadLimit } from '../organization/facade/unread-limit.ts';
import {
  type App,
  refuseFindings,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from '../organization/facade/validation.ts';
import { makeProviders } from '../organization/http/oauth-providers/repository.ts';
import { registerProviders } from '../organization/http/oauth-providers/routes.ts';
import { LISTENERS } from '../schema/listener.ts';
import type { Settings } from '../schema/settings.ts';
import { type PageFiles, registerPage } from './page-routes.ts';

export interface AppDeps {
  /** The facade's own credentials, for the readiness of the API server and the organization's Secrets. */
  readonly kube: KubeClient;
  readonly caches: FacadeCaches;
  /** Adds a written object to its cache, so that a later list of this facade contains it. */
  readonly remember: (object: KubeObject) => void;
  /** Removes a deleted object from its cache before the watch reports it. */
  readonly forget?: (uid: string) => void;
  readonly codeHosts: Pick<CodeHosts, 'repositories'>;
  /** Limits concurrent writes. */
  readonly gate: Pick<FairLimiter, 'run'>;
  readonly settings: Settings;
  /** The registry of the settings. Absent if there is none. */
  readonly registry?: PlatformRegistry | undefined;
  /** The page at `/`; without it `GET /` answers every client with JSON. */
  readonly page?: PageFiles | undefined;
  readonly log: Logger;
  readonly now: () => Date;
  /** 1 to 16 random characters of a-z and 0-9. */
  readonly randomSuffix: () => string;
  /** 32 random hexadecimal digits. */
  readonly randomId: () => string;
  /** Called once for each answer. */
  readonly onAnswer?: (report: AnswerReport) => void;
  /** Absent where Davit's own spans go nowhere. */
  readonly tracer?: Tracer | undefined;
  readonly sleep?: (ms: number) => Promise<void>;
  /** Time limit of one request; for tests. */
  readonly timeLimitMs?: number;
  /** Called for each event stream that is opened (1) or has ended (-1). */
  readonly onStream?: (kind: StreamKind, change: 1 | -1) => void;
  /** Called for each event stream that a limit refuses. */
  readonly onStreamRefused?: (limit: LimitedBy) => void;
  /** Aborts when the service stops: requests that wait and event streams end at once, which would hold it up. */
  readonly signal?: AbortSignal;
  /** Limits for unread answers; for tests. */
  readonly unreadLimits?: UnreadLimits;
  /** Limits for event streams; for tests. */
  readonly streamLimits?: Partial<StreamLimits>;
}

const BODY_LIMIT = 1024 * 1024;
/** Longer than the time limit of requests to the API server, so that the answer has the API server's error. */
const TIME_LIMIT_MS = 60_000;

const SECURITY_HEADERS = {
  // Answers contain secrets.
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
} as const;

export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { kube, caches, settings, now } = deps;
  const log: FastifyBaseLogger = deps.log;
  const app = Fastify({
    loggerInstance: log,
    // request-log.ts logs requests.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    bodyLimit: BODY_LIMIT,
    trustProxy: settings.http.trustedProxies.length > 0 ? settings.http.trustedProxies : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    frameworkErrors: answerError,
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  parseJson(app);

  const sleep = deps.sleep ?? ((ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)));
  const identity = makeIdentity({ kube, tenants: caches.tenants, settings, now });
  const authentication = makeAuthentication({ clientOf: (sender) => identity.callerOf(sender).kube, now });
  let limit: RateLimit | undefined;
  const auth = registerAuth(app, {
    identity,
    authentication,
    nameOf(resource, namespace, id) {
      const store: Store = resource === LISTENERS ? caches.listeners : caches.records;
      const object = store.byUid(id.toLowerCase());
      return object?.metadata.namespace === namespace ? object.metadata.name : undefined;
    },
    count: async (request, username) => limit?.count(request, `user ${username}`),
  });
  const freshList = makeFreshList({ now, sleep });
  const deployments = makeDeployments({
    ...caches,
    remember: deps.remember,
    forget: deps.forget ?? (() => undefined),
    freshList,
    settings,
    registry: deps.registry,
    randomSuffix: deps.randomSuffix,
    gate: deps.gate,
    log: deps.log,
  });

  const secrets = makeOrganizationSecrets(kube, settings.organizationNamespace);
  const integrations = makeIntegrations({ integrations: caches.integrations, secrets, codeHosts: deps.codeHosts });
  const providers = makeProviders({
    providers: caches.providers,
    secrets,
    remember: deps.remember,
    forget: deps.forget ?? (() => undefined),
    randomSuffix: deps.randomSuffix,
  });
  const listeners = makeListeners({
    ...caches,
    freshList,
    remember: deps.remember,
    forget: deps.forget ?? (() => undefined),
    perTenant: settings.listeners.perTenant,
  });
  const platform = { settings, registry: deps.registry };
  const answers = makeReadiness(kube, now);
  const organizationId = (): string => organizationIdOf(caches.tenants, settings);

  const building = { auth, deployments, now, randomId: deps.randomId };

  registerErrors(app);
  if (deps.tracer) registerTracing(app, deps.tracer, settings.http.basePath);
  const takeTimeLimit = registerTimeLimit(app, deps.timeLimitMs ?? TIME_LIMIT_MS);
  registerRequestLog(app, {
    subjectOf: (request) => ({ ...auth.subjectOf(request), ...streams.summaryOf(request) }),
    basePath: settings.http.basePath,
    onAnswer: deps.onAnswer ?? (() => undefined),
  });
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.headers(SECURITY_HEADERS);
    done();
  });
  const callers = registerCallers(app, authentication.remembered);
  const rateLimit = await registerRateLimit(app, settings.http.requestsPerMinute, callers);
  limit = rateLimit;
  const unread = registerUnreadLimit(app, deps.unreadLimits ?? UNREAD_LIMITS, callers);
  const streams = makeEventStreams({
    auth,
    limits: { ...STREAM_LIMITS, ...deps.streamLimits },
    onStream: deps.onStream ?? (() => undefined),
    onRefused: deps.onStreamRefused ?? (() => undefined),
    onBegun: takeTimeLimit,
    unread,
  });
  const endWhatLasts = (): void => {
    deployments.close();
    streams.close();
  };
  deps.signal?.addEventListener('abort', endWhatLasts);
  app.addHook('preClose', async () => endWhatLasts());
  registerNotFound(app);
  registerFieldValidation(app);
  app.addHook('preHandler', refuseFindings);
  await registerOpenApi(app, settings.http.basePath);

  for (const prefix of new Set(['', settings.http.basePath])) {
    // oxlint-disable-next-line no-await-in-loop -- Fastify loads plugins one after another
    await app.register(
      async (scope) => {
        // The document contains each route once, under the base path of the settings.
        if (prefix !== settings.http.basePath)
          scope.addHook('onRoute', (route) => void (route.schema = { ...route.schema, hide: true }));
        registerProbes(scope, deps, answers);
        await registerDocs(scope);
        registerPage(scope, deps.page, prefix);
        const routes: App = scope.withTypeProvider<ZodTypeProvider>();
        registerDeployments(routes, { auth, deployments, settings, streams });
        registerListeners(routes, { auth, listeners });
        registerLogs(routes, { auth, deployments, listeners, kube, platform, streams });
        registerRepositories(routes, { auth, integrations });
        registerRegistry(routes, { ...building, platform });
        registerUploads(routes, { ...building, ...caches, platform, prefix });
        registerWebhooks(scope, { kube, ...caches, secrets, now, count: rateLimit.count });
        registerProviders(routes, { auth, providers, organizationId });
        registerPlatform(routes, { ...caches, auth, settings, integrations });
      },
      { prefix },
    );
  }
  await app.ready();
  return app;
}

function organizationIdOf(namespaces: Store, { organizationNamespace }: Settings): string {
  const uid = namespaces.get({ name: organizationNamespace })?.metadata.uid;
  if (uid === undefined)
    throw new Unavailable(`read namespace ${organizationNamespace}: it does not exist`, { retryAfterMs: 1000 });
  return uid;
}

/** The parsed value of a body `null`. Fastify treats null as a missing body, which some routes allow. */
const JSON_NULL = Symbol('null');

/** Accepts only JSON. A request with Content-Type application/json may have no body, as clients send with DELETE. */
function parseJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined;
    // RFC 9110, 8.4. A small compressed body could have an unlimited size.
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new HttpError(415, 'Send the body as it is, without Content-Encoding.');
    return parseBody(body) ?? JSON_NULL;
  });
}

function registerProbes(app: FastifyInstance, { caches }: AppDeps, answers: () => Promise<boolean>): void {
  const hidden = { schema: { hide: true } };
  app.get('/livez', hidden, async () => ({ status: 'ok' }));
  app.get('/readyz', hidden, async () => {
    const empty = Object.entries(caches).flatMap(([name, cache]) => (cache.hasSynced() ? [] : [name]));
    if (empty.length > 0)
      throw new HttpError(503, `Not ready: not listed yet: ${empty.join(', ')}.`, { 'retry-after': '1' });
    if (!(await answers()))
      throw new HttpError(503, 'Not ready: the Kubernetes API server does not answer.', { 'retry-after': '1' });
    return { status: 'ok' };
  });
}
