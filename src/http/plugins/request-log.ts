// One line for every request, and x-request-id on every answer. Never a header, a query or a body: they carry tokens
// and secrets.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pathOf } from './errors.ts';
import { isProbe } from './rate-limit.ts';

/** The caller's own id, if it is one that is safe to log and send back. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
}

export function registerRequestLog(
  app: FastifyInstance,
  tenantOf: (request: FastifyRequest) => string | undefined,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url;
    request.log[isProbe(request) ? 'debug' : 'info'](
      {
        method: request.method,
        path: pathOf(request),
        route,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime * 10) / 10,
        tenant: tenantOf(request),
      },
      'Request',
    );
    done();
  });
}
