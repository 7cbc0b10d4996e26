// Logs and counts every request, and sets x-request-id on every answer. It logs no header, query or body, because they contain
// tokens and secrets.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pathOf } from './errors.ts';
import { isProbe } from './rate-limit.ts';

/** The caller's id if it is safe to log and return, otherwise a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
}

/** One answer, for metrics. */
export interface AnswerReport {
  readonly method: string;
  /** Pattern of the route without the base path; `none` if no route matches. */
  readonly route: string;
  /** HTTP status code. */
  readonly code: number;
  readonly seconds: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A part of the path opens something, so the log has the route's pattern instead. */
    readonly hasSecretPath?: boolean;
  }
}

const held = new WeakMap<FastifyRequest, number>();

/** For metrics: so long a request took because its caller wanted it to, which tells nothing of how fast answers are. */
export function noteHeld(request: FastifyRequest, ms: number): void {
  held.set(request, ms);
}

/** Pattern of the route without the base path; `none` if no route matches. */
function patternOf({ routeOptions: { url } }: FastifyRequest, basePath: string): string {
  return (url?.startsWith(`${basePath}/`) ? url.slice(basePath.length) : url) ?? 'none';
}

export interface RequestLogOptions {
  /** Further fields of the request's line: who asked, and of what. */
  readonly subjectOf: (request: FastifyRequest) => object;
  readonly basePath: string;
  readonly onAnswer: (report: AnswerReport) => void;
}

export function registerRequestLog(app: FastifyInstance, { subjectOf, basePath, onAnswer }: RequestLogOptions): void {
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const { statusCode: status, elapsedTime } = reply;
    // Pages ask every other second, and mostly nothing has changed.
    request.log[isProbe(request) || status === 304 ? 'debug' : 'info'](
      {
        method,
        path: request.routeOptions.config.hasSecretPath === true ? request.routeOptions.url : pathOf(request),
        route: request.routeOptions.url,
        status,
        durationMs: Math.round(elapsedTime * 10) / 10,
        ...subjectOf(request),
      },
      'Request',
    );
    const seconds = Math.max(0, elapsedTime - (held.get(request) ?? 0)) / 1000;
    onAnswer({ method, route: patternOf(request, basePath), code: status, seconds });
    done();
  });
}
