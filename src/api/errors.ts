// Converts every error to an answer `{"detail": ...}`. A rejection of the API server keeps its message, its outage becomes 503, and
// an unexpected error becomes a 500 without details.

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppDeploymentSpec } from '../kinds/app-deployment.ts';
import {
  AlreadyExists,
  CodeHostFailed,
  type CodeHostFailure,
  Conflict,
  Forbidden,
  Gone,
  Invalid,
  NotFound,
  RegistryFailed,
  type RegistryFailure,
  ServerError,
  Unauthorized,
  Unavailable,
} from '../runtime/errors.ts';
import { requestPath } from '../runtime/http/casing.ts';
import { type FieldError, HttpError } from '../runtime/http/http-error.ts';
import { unauthenticated } from './auth.ts';
import { inApiWords } from './field-words.ts';

/** Call it before the routes are registered. A path that exists with another method gets 405 instead of 404 (RFC 9110, 15.5.6). */
export function registerNotFound(app: FastifyInstance): void {
  const routes: { readonly methods: readonly string[]; readonly path: RegExp }[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    const pattern = url.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll(/:\w+/g, '[^/]+');
    routes.push({ methods: [method].flat(), path: new RegExp(`^${pattern}/?$`) });
  });
  // Before the body is read, which is not needed.
  app.addHook('onRequest', (request, _reply, done) => done(request.is404 ? nowhere(request) : undefined));
  // The documentation page's route handles files that do not exist.
  app.setNotFoundHandler((request, reply) => answerError(nowhere(request), request, reply));

  function nowhere(request: FastifyRequest): HttpError {
    const path = pathOf(request);
    const methods = new Set(routes.filter((route) => route.path.test(path)).flatMap((route) => route.methods));
    if (methods.size === 0 || methods.has(request.method))
      return new HttpError(
        404,
        `Not Found: ${request.method} ${path} does not exist. /docs and /openapi.json list all endpoints.`,
      );
    const allow = [...methods].toSorted().join(', ');
    return new HttpError(405, `${path} accepts ${allow}, not ${request.method}.`, { allow });
  }
}

/** The path as the caller sent it, without the query. */
export function pathOf(request: FastifyRequest): string {
  return (request.url.split('?', 1)[0] ?? '').slice(0, 200);
}

export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refused = refusedFor(error);
  // A request that its sender aborted fails in many ways, none of which is an error of Davit.
  if (refused.status >= 500 && !request.raw.socket.destroyed) {
    request.log[refused.status === 500 ? 'error' : 'warn'](
      { route: request.routeOptions.url, err: error },
      'Request failed',
    );
  }
  void reply
    .code(refused.status)
    .headers({ ...refused.headers, 'x-request-id': request.id })
    .send({ detail: inWordsOfTheApi(refused.detail) });
}

export function refusedFor(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof ServerError) return fromServer(error);
  if (error instanceof CodeHostFailed) return fromCodeHost(error);
  if (error instanceof RegistryFailed) return new HttpError(REGISTRY_STATUS[error.why], error.message);
  return (
    fromFastify(error) ??
    new HttpError(500, "Internal error. Davit's log has the details under the x-request-id of this answer.")
  );
}

function fromServer(error: ServerError): HttpError {
  const words =
    error.serverMessage?.replace(POLICY, '') ?? 'The Kubernetes API server rejected the request without a message.';
  if (error instanceof Unauthorized)
    return unauthenticated(
      'The Kubernetes API server does not accept this token, or it has expired. Send another one.',
    );
  if (error instanceof Forbidden) return new HttpError(403, words);
  if (error instanceof NotFound) return new HttpError(404, words);
  if (error instanceof AlreadyExists || error instanceof Conflict) return new HttpError(409, words);
  if (error instanceof Invalid) return new HttpError(422, findingsOf(error, words));
  const waitMs = error instanceof Unavailable ? error.retryAfterMs : error instanceof Gone ? 1000 : undefined;
  const seconds = String(Math.max(1, Math.ceil((waitMs ?? 1000) / 1000)));
  return new HttpError(503, `The Kubernetes API server does not answer or is overloaded. Try again in ${seconds} s.`, {
    'retry-after': seconds,
  });
}

/** The rules of the custom resources, and the API server, have other names for fields than requests. */
function inWordsOfTheApi(detail: HttpError['detail']): HttpError['detail'] {
  return typeof detail === 'string' ? detail : detail.map((finding) => ({ ...finding, msg: inApiWords(finding.msg) }));
}

const CODE_HOST_STATUS: Readonly<Record<CodeHostFailure, number>> = {
  refused: 424,
  // The cause is the integration or the platform, not the caller.
  forbidden: 424,
  limited: 429,
  unreachable: 502,
  malformed: 502,
  timeout: 504,
  missing: 404,
};

function fromCodeHost({ why, message, retryAfterSeconds }: CodeHostFailed): HttpError {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return new HttpError(CODE_HOST_STATUS[why], message, headers);
}

const REGISTRY_STATUS: Readonly<Record<RegistryFailure, number>> = {
  // The cause is the platform, not the caller.
  refused: 502,
  full: 507,
  readOnly: 503,
  unreachable: 502,
  timeout: 504,
  malformed: 502,
  // The image is the caller's.
  tooLarge: 422,
};

const TYPES: Readonly<Record<string, string>> = {
  FieldValueRequired: 'missing',
  FieldValueNotSupported: 'enum',
  FieldValueTypeInvalid: 'type_error',
  FieldValueTooLong: 'too_long',
  FieldValueTooMany: 'too_long',
};

function findingsOf(error: Invalid, words: string): FieldError[] {
  const causes = error.causes.filter(({ message }) => !UNCHECKED.test(message));
  if (causes.length === 0) return [{ loc: ['body'], msg: words, type: 'value_error' }];
  return causes.map(({ field, message, reason }) => {
    const loc = ['body', ...requestPath(AppDeploymentSpec, field === '<nil>' ? '' : field)];
    const type = TYPES[reason] ?? 'value_error';
    if (reason === 'FieldValueDuplicate') return { ...duplicate(loc, message), type };
    return {
      loc,
      msg:
        message
          .replace(POLICY, '')
          .replace(INTRODUCTION, '')
          .replace(/^Required value$/, 'is required') || words,
      type,
    };
  });
}

/** How the API server introduces the sentence of a policy of Davit, which says what is wrong. Others may say nothing but their name. */
const POLICY =
  /^(?:\S+ "[^"]*" is forbidden: )?ValidatingAdmissionPolicy 'davit-[a-z-]+' with binding '[^']*' denied request: /;

/** It follows from another cause, such as a field that is required. */
const UNCHECKED = /some validation rules were not checked/;
/** How the API server introduces the message of a rule: with the value if it is a string, and in older releases with its type. */
const INTRODUCTION =
  /^(?:Required value: |Forbidden: |Invalid value: (?:"(?:[^"\\]|\\.)*": |(?!["{[\d-]|true:|false:|null:)))/;

/** `Duplicate value: {"name":"v"}` of an element of a list, or `Duplicate value: "v"`. */
function duplicate(loc: FieldError['loc'], message: string): Pick<FieldError, 'loc' | 'msg'> {
  const [, key] = /^Duplicate value: \{"(\w+)":/.exec(message) ?? [];
  return key === undefined
    ? { loc, msg: 'this name appears twice' }
    : { loc: [...loc, key], msg: `this ${key} is a duplicate` };
}

/**
 * The answer to a record with these findings: all of them, and what the API server's rules say of the same write. `dryRun`: asks for it.
 */
export async function refusal(findings: readonly FieldError[], dryRun: () => Promise<unknown>): Promise<HttpError> {
  const error = await dryRun().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const said = new Set(findings.map(({ msg }) => inApiWords(msg)));
  // An admission policy names no field, and judges what a finding of ours says.
  const more = error instanceof Invalid ? findingsOf(error, '').filter(({ loc }) => loc.length > 1) : [];
  const isNew = ({ msg, type }: FieldError): boolean => type !== 'too_long' && !said.has(inApiWords(msg));
  return new HttpError(422, [...findings, ...more.filter(isNew)]);
}

/** Fastify's own errors, by their status. Their messages name Fastify's parts, not what to do. */
function fromFastify(error: unknown): HttpError | undefined {
  const { statusCode, code } = (typeof error === 'object' && error !== null ? error : {}) as Partial<FastifyError>;
  switch (statusCode) {
    // A file of the documentation page outside of its folder.
    case 403:
      return new HttpError(404, 'Not Found: the path is not valid. /docs and /openapi.json list all endpoints.');
    case 400:
      return new HttpError(
        400,
        code === 'FST_ERR_BAD_URL'
          ? 'The path is not a valid URL path.'
          : 'The request could not be read: its length differs from Content-Length, or it ended early.',
      );
    case 408:
      return new HttpError(408, 'The request took too long to arrive.');
    case 413:
      return new HttpError(413, 'The body is larger than 1 MiB.');
    case 414:
      return new HttpError(414, 'The path, or a part of it, is too long.');
    case 415:
      return new HttpError(415, 'Send the body as JSON, with the header Content-Type: application/json.');
    case 503:
      return new HttpError(503, 'The service is stopping. Try again.', { 'retry-after': '1' });
    default:
      return undefined;
  }
}
