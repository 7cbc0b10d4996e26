// So many bytes of answers may wait for one caller, and for all, until they are read: a connection that nobody reads is closed
// only after a while, and keeps its answers in memory until then.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authentication } from '../core/authentication.ts';
import { HttpError } from '../core/http-error.ts';
import { makeUnreadAnswers, type UnreadLimits } from '../core/unread-answers.ts';
import { sentBy } from './auth.ts';
import { isProbe } from './rate-limit.ts';

/** Counts bytes of a part of an answer, until the returned function is called. May close the connection. */
export type CountUnread = (request: FastifyRequest, bytes: number) => () => void;

/** A caller is counted as for the rate limit: by user, and by address who is not known. Refuses with 429 and `Retry-After`. */
export function registerUnreadLimit(
  app: FastifyInstance,
  limits: UnreadLimits,
  userOf: Authentication['remembered'],
): CountUnread {
  const unread = makeUnreadAnswers(limits, (caller, bytes) =>
    app.log.warn(
      { caller, bytes },
      'Connection closed: its answers are not read, and all that wait take too much memory',
    ),
  );
  function callerOf(request: FastifyRequest): string {
    const sender = sentBy(request);
    const username = sender && userOf(sender);
    return username === undefined ? `address ${request.ip}` : `user ${username}`;
  }

  app.addHook('onRequest', (request, _reply, done) => {
    done(!isProbe(request) && unread.isFull(callerOf(request)) ? readFirst(limits) : undefined);
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = bytesOf(payload);
    if (bytes > 0) {
      const read = unread.add(callerOf(request), bytes, request.raw.socket);
      // Comes also for what is not sent any more; onResponse does not.
      reply.raw.once('close', read);
    }
    done(null, payload);
  });
  return (request, bytes) => unread.add(callerOf(request), bytes, request.raw.socket);
}

/** In memory. A stream has as much as its reader takes. */
function bytesOf(payload: unknown): number {
  if (Buffer.isBuffer(payload)) return payload.length;
  return typeof payload === 'string' ? 2 * payload.length : 0;
}

function readFirst({ ofCaller }: UnreadLimits): HttpError {
  const mebibytes = Math.round(ofCaller / 1024 / 1024);
  return new HttpError(
    429,
    `Answers of more than ${mebibytes} MiB wait to be read by you. Read them, or close their connections, and try again.`,
    { 'retry-after': '1' },
  );
}
