// What happens to every request around its handler: its time limit, log line, headers, caller, limits, and the findings of its
// validation. Hooks run in the order in which they are registered.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LISTENERS } from '../kinds/listener.ts';
import type { Settings } from '../kinds/settings.ts';
import type { Store } from '../runtime/controller/store.ts';
import { registerTimeLimit } from '../runtime/http/handler-timeout.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import { makeUnreadAnswers, UNREAD_LIMITS, type UnreadLimits } from '../runtime/http/unread-answers.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { type Auth, registerAuth } from './auth.ts';
import { makeAuthentication } from './authentication.ts';
import { makeIdentity } from './authorization.ts';
import type { FacadeCaches } from './caches.ts';
import { type Callers, registerCallers } from './callers.ts';
import { answerError, registerNotFound } from './errors.ts';
import { registerFieldValidation } from './field-validation.ts';
import { registerOpenApi } from './openapi.ts';
import { makePodReview } from './pod-tokens.ts';
import { isProbe, type RateLimit, registerRateLimit } from './rate-limit.ts';
import { type AnswerReport, registerRequestLog } from './request-log.ts';
import { refuseFindings } from './validation.ts';
import { whenOver } from './when-over.ts';

export interface HookOptions {
  /** The facade's own credentials, for the readiness of the API server and the organization's Secrets. */
  readonly kube: KubeClient;
  readonly caches: FacadeCaches;
  readonly settings: Settings;
  readonly now: () => Date;
  /** Called once for each answer. */
  readonly onAnswer?: (report: AnswerReport) => void;
  /** Time limit of one request; for tests. */
  readonly timeLimitMs?: number;
  /** Whether requests are not counted: all are those of one person's own process. */
  readonly isUnlimited?: boolean;
  /** Limits for unread answers; for tests. */
  readonly unreadLimits?: UnreadLimits;
}

/** What the handlers need of the hooks. */
export interface Hooks {
  readonly auth: Auth;
  readonly count: RateLimit['count'];
}

/** Longer than the time limit of requests to the API server, so that the answer has the API server's error. */
const TIME_LIMIT_MS = 60_000;

const SECURITY_HEADERS = {
  // Answers contain secrets.
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
} as const;

export async function registerHooks(app: FastifyInstance, options: HookOptions): Promise<Hooks> {
  const { kube, caches, settings, now } = options;
  const { basePath, requestsPerMinute } = settings.http;
  const identity = makeIdentity({ kube, tenants: caches.tenants, settings, now });
  const authentication = makeAuthentication({
    clientOf: (sender) => identity.callerOf(sender).kube,
    // Without a host no agent gets tokens, and the facade's account has no right to review those of pods.
    ...(settings.oauth.hosts.length > 0 && { podOf: makePodReview(kube, caches.records) }),
    now,
  });
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
  app.setErrorHandler(answerError);
  registerTimeLimit(app, options.timeLimitMs ?? TIME_LIMIT_MS);
  registerRequestLog(app, {
    subjectOf: auth.subjectOf,
    basePath,
    onAnswer: options.onAnswer ?? (() => undefined),
  });
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.headers(SECURITY_HEADERS);
    done();
  });
  const callers = registerCallers(app, authentication.remembered);
  limit = await registerRateLimit(app, options.isUnlimited ? 0 : requestsPerMinute, callers);
  registerUnreadLimit(app, options.unreadLimits ?? UNREAD_LIMITS, callers);
  registerNotFound(app);
  registerFieldValidation(app);
  app.addHook('preHandler', refuseFindings);
  await registerOpenApi(app, basePath);
  return { auth, count: limit.count };
}

// Limits the bytes of answers that wait to be read, for each caller and in total. A connection that is not read is closed only
// after a time limit, and its answers stay in memory until then.

/** Bytes. Smaller answers, such as errors, are sent also to a caller that has too many unread bytes. */
const SMALL = 64 * 1024;

/** Counts callers as the rate limit does. Throws HttpError 429 with `Retry-After`. */
function registerUnreadLimit(app: FastifyInstance, limits: UnreadLimits, { callerOf }: Callers): void {
  const unread = makeUnreadAnswers(limits, (caller, bytes) =>
    app.log.warn({ caller, bytes }, 'Connection closed: unread answers use too much memory'),
  );
  const isFull = (request: FastifyRequest): boolean => unread.isFull(callerOf(request));

  app.addHook('onRequest', (request, _reply, done) => {
    const isExempt = isProbe(request) || request.routeOptions.config.countsLater === true;
    done(!isExempt && isFull(request) ? readFirst(limits) : undefined);
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = bytesOf(payload);
    // All requests of a pipeline arrive before the first answer is sent. Only reads are rejected here: the others took effect.
    if (bytes > SMALL && request.method === 'GET' && isFull(request)) return done(readFirst(limits));
    if (bytes > 0) {
      const read = unread.add(callerOf(request), bytes, request.raw.socket);
      whenOver(reply, read);
    }
    done(null, payload);
  });
}

/** Bytes in memory. A stream buffers only what its reader takes. */
function bytesOf(payload: unknown): number {
  if (Buffer.isBuffer(payload)) return payload.length;
  return typeof payload === 'string' ? 2 * payload.length : 0;
}

function readFirst({ ofCaller }: UnreadLimits): HttpError {
  const mebibytes = Math.round(ofCaller / 1024 / 1024);
  return new HttpError(
    429,
    `More than ${mebibytes} MiB of your answers are unread. Read them or close their connections, then try again.`,
    { 'retry-after': '1' },
  );
}
