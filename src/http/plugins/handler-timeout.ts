// So long a handler may take. Fastify's own limit ends when the body of a request has been read (fastify/fastify#6725), so
// that no POST would ever be given up; and it costs every request a timer and an AbortController.

import type { FastifyInstance, FastifyReply } from 'fastify';
import { HttpError } from '../core/http-error.ts';

/** How much later than its time a request may be given up. */
const LOOKS_EVERY_MS = 1000;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** In place of everybody's, for a route whose request may take longer to arrive. */
    readonly timeLimitMs?: number;
  }
}

/**
 * Answers 503 for a handler that has not after `limitMs`. What it is about goes on: it may be the API server's by now. The
 * returned function takes the limit from a request.
 */
export function registerTimeLimit(app: FastifyInstance, limitMs: number): (reply: FastifyReply) => void {
  /** Those under way and when their time is over. */
  const underWay = new Map<FastifyReply, number>();
  app.addHook('onRequest', (request, reply, done) => {
    underWay.set(reply, performance.now() + (request.routeOptions.config.timeLimitMs ?? limitMs));
    done();
  });
  // Comes for a request that its sender has given up, too.
  app.addHook('onResponse', (_request, reply, done) => {
    underWay.delete(reply);
    done();
  });

  function look(): void {
    const now = performance.now();
    for (const [reply, end] of underWay) {
      if (end > now) continue;
      underWay.delete(reply);
      if (reply.raw.headersSent) reply.raw.destroy();
      else void reply.send(tooLong(limitMs));
    }
  }
  const looking = setInterval(look, Math.min(LOOKS_EVERY_MS, limitMs)).unref();
  app.addHook('onClose', async () => clearInterval(looking));
  return (reply) => void underWay.delete(reply);
}

function tooLong(limitMs: number): HttpError {
  return new HttpError(
    503,
    `This takes longer than ${limitMs / 1000} s, and may be done yet. Look what has become of it before you try again.`,
    { 'retry-after': '1' },
  );
}
