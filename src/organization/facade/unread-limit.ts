// Limits the bytes of answers that wait to be read, for each caller and in total. A connection that is not read is closed only
// after a time limit, and its answers stay in memory until then.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HttpError } from '../../lib/http/http-error.ts';
import { makeUnreadAnswers, type UnreadLimits } from '../../lib/http/unread-answers.ts';
import type { Callers } from './callers.ts';
import { isProbe } from './rate-limit.ts';

/** Bytes. Smaller answers, such as errors, are sent also to a caller that has too many unread bytes. */
const SMALL = 64 * 1024;

/** Counts callers as the rate limit does. Throws HttpError 429 with `Retry-After`. */
export function registerUnreadLimit(app: FastifyInstance, limits: UnreadLimits, { callerOf }: Callers): void {
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
      // It is emitted also for an answer that is not sent completely, unlike onResponse.
      reply.raw.once('close', read);
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
