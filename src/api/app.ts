// Fastify as the facade uses it: bodies are JSON, schemas are zod, errors have the facade's form.

import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { Settings } from '../kinds/settings.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import { parseBody } from '../runtime/http/strict-json.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { FacadeCaches } from './caches.ts';
import { answerError } from './errors.ts';
import { routedUrl } from './published-urls.ts';
import { requestIdOf } from './request-log.ts';
import { type App, serializerCompiler, validatorCompiler, type ZodTypeProvider } from './validation.ts';

const BODY_LIMIT = 1024 * 1024;
/** The parsed value of a body `null`. Fastify treats null as a missing body, which some routes allow. */
const JSON_NULL = Symbol('null');

/** An app without hooks and routes. */
export function makeApp(log: FastifyBaseLogger, { trustedProxies, basePath }: Settings['http']): App {
  const app = Fastify({
    loggerInstance: log,
    // request-log.ts logs requests.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    rewriteUrl: ({ url = '' }) => routedUrl(url, basePath),
    bodyLimit: BODY_LIMIT,
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    frameworkErrors: answerError,
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  parseJson(app);
  return app;
}

/** Accepts only JSON. A request with Content-Type application/json may have no body, as clients send with DELETE. */
function parseJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined;
    // RFC 9110, 8.4. A small compressed body could have an unlimited size.
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new HttpError(415, 'Send the body uncompressed, without Content-Encoding.');
    return parseBody(body) ?? JSON_NULL;
  });
}

/** `answers`: whether the API server does. */
export function registerProbes(app: FastifyInstance, caches: FacadeCaches, answers: () => Promise<boolean>): void {
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

/** How long an answer is used. Shorter than the interval between two probes of a kubelet. */
const REMEMBERED_MS = 1000;
const PATIENCE_MS = 2000;

/** Sends at most one request at a time, and one a second. */
export function makeReadiness(kube: KubeClient, now: () => Date): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  let known: { readonly at: number; readonly answers: boolean } | undefined;

  async function ask(): Promise<boolean> {
    let answers = true;
    try {
      await kube.text('/readyz', { signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch {
      answers = false;
    }
    known = { at: now().getTime(), answers };
    asking = undefined;
    return answers;
  }

  return async () => {
    const age = now().getTime() - (known?.at ?? Number.NEGATIVE_INFINITY);
    if (known !== undefined && age >= 0 && age < REMEMBERED_MS) return known.answers;
    asking ??= ask();
    return asking;
  };
}
