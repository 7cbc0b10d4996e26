// Time limit of handlers. Fastify's own limit ends when the body was read (fastify/fastify#6725), so it does not apply to a POST,
// and it costs each request a timer and an AbortController.

import type { FastifyInstance, FastifyReply } from 'fastify';
import { HttpError } from './http-error.ts';

/** How late the limit may be applied. */
const LOOKS_EVERY_MS = 1000;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Time limit of this route, if its request takes longer to arrive. */
    readonly timeLimitMs?: number;
  }
}

/**
 * Answers 503 if a handler has not answered after `limitMs`. The handler continues: the API server may be processing its request.
 */
export function registerTimeLimit(app: FastifyInstance, limitMs: number): void {
  const limitOf = ({ request }: FastifyReply): number => request.routeOptions.config.timeLimitMs ?? limitMs;
  /** Requests without an answer, and when their time is over. */
  const underWay = new Map<FastifyReply, number>();
  app.addHook('onRequest', (_request, reply, done) => {
    underWay.set(reply, performance.now() + limitOf(reply));
    done();
  });
  // Fastify calls it also if the sender aborted the request.
  app.addHook('onResponse', (_request, reply, done) => {
    underWay.delete(reply);
    done();
  });

  function look(): void {
    const now = performance.now();
    for (const [reply, end] of underWay) {
      // Node tells no one about answers that waited behind others when their connection closed. They would stay in memory.
      if (reply.request.raw.socket.destroyed) underWay.delete(reply);
      if (end > now) continue;
      underWay.delete(reply);
      if (reply.raw.headersSent) reply.raw.destroy();
      else void reply.send(tooLong(limitOf(reply)));
    }
  }
  const looking = setInterval(look, Math.min(LOOKS_EVERY_MS, limitMs)).unref();
  app.addHook('onClose', async () => clearInterval(looking));
}

function tooLong(limitMs: number): HttpError {
  return new HttpError(
    503,
    `The request did not finish within ${limitMs / 1000} s and may still take effect. Check the resource before retrying.`,
    { 'retry-after': '1' },
  );
}
