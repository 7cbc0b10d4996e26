// A span for each request, except probes. Registered only where Davit's own spans are sent somewhere.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SpanEnd, Tracer } from '../../lib/controller/tracer.ts';
import { isProbe } from './rate-limit.ts';
import { patternOf } from './request-log.ts';

interface Traced {
  readonly end: (span: SpanEnd) => void;
  readonly inside: <T>(work: () => T) => T;
}

export function registerTracing(app: FastifyInstance, tracer: Tracer, basePath: string): void {
  const traced = new WeakMap<FastifyRequest, Traced>();
  app.addHook('onRequest', (request, _reply, done) => {
    if (isProbe(request)) {
      done();
      return;
    }
    const { traceparent } = request.headers;
    tracer.run(
      'server',
      (end) => {
        traced.set(request, { end, inside: AsyncLocalStorage.snapshot() });
        done();
      },
      typeof traceparent === 'string' ? traceparent : undefined,
    );
  });
  // A body arrives in the context of its connection, from which the rest of the request would go on.
  app.addHook('preValidation', (request, _reply, done) => {
    const { inside } = traced.get(request) ?? {};
    if (inside) inside(done);
    else done();
  });
  app.addHook('onResponse', (request, { statusCode }, done) => {
    const { method } = request;
    const route = patternOf(request, basePath);
    traced.get(request)?.end({
      name: `${method} ${route}`,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': statusCode,
        'davit.request.id': request.id,
      },
      failed: statusCode >= 500,
    });
    done();
  });
}
