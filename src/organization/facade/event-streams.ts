// Answers that go on: event streams, each with an end. A reader that reads slowly gets what is newest when it has read; one
// that does not read loses the connection. Nothing waits for a reader but one event.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../../lib/http/http-error.ts';
import { asksForEvents } from '../../lib/http/server-sent-events.ts';
import type { Auth } from './auth.ts';
import {
  beginStream,
  type Owner,
  type StreamKind,
  type StreamLimits,
  type StreamOpening,
  type StreamSummary,
  writeHeaders,
} from './event-stream.ts';
import type { UnreadOfCallers } from './unread-limit.ts';

export const STREAM_LIMITS: StreamLimits = {
  ofUser: 64,
  ofTenant: 128,
  inAll: 512,
  heartbeatMs: 15_000,
  reviewMs: 60_000,
  unreadMs: 30_000,
  lifeMs: 3_600_000,
};

/** The limits of STREAM_LIMITS by what they count, as a metric names them. */
export const LIMITED_BY = ['user', 'tenant', 'process'] as const;
export type LimitedBy = (typeof LIMITED_BY)[number];

export interface EventStreams {
  readonly limits: StreamLimits;
  isAskedFor(request: FastifyRequest): boolean;
  /** Answers the request with a stream. Refuses with 429 and `Retry-After` where there are too many, with 503 when the service stops. */
  open(request: FastifyRequest, reply: FastifyReply, opening: StreamOpening): FastifyReply;
  summaryOf(request: FastifyRequest): StreamSummary;
  /** Ends every stream, and lets none begin. */
  close(): void;
}

export interface EventStreamsOptions {
  readonly auth: Pick<Auth, 'admitted' | 'subjectOf'>;
  readonly limits: StreamLimits;
  /** Called for each stream that is opened (1) or has ended (-1). */
  readonly onStream: (kind: StreamKind, change: 1 | -1) => void;
  /** Called for each stream that a limit refuses. */
  readonly onRefused: (limit: LimitedBy) => void;
  /** From now on there is no time limit for the answer. */
  readonly onBegun: (reply: FastifyReply) => void;
  readonly unread: UnreadOfCallers;
}

export function makeEventStreams({
  auth,
  limits,
  onStream,
  onRefused,
  onBegun,
  unread,
}: EventStreamsOptions): EventStreams {
  const stops = new Set<() => void>();
  const counts = makeStreamCounts({ limits, onStream, onRefused });
  const summaries = new WeakMap<FastifyRequest, StreamSummary>();
  let isClosed = false;
  const onEnd = (request: FastifyRequest, owner: Owner, summary: StreamSummary): void => {
    summaries.set(request, summary);
    counts.add(owner, -1);
  };

  return {
    limits,
    isAskedFor: ({ headers }) => asksForEvents(headers.accept),
    open(request, reply, opening) {
      if (isClosed) throw new HttpError(503, 'The service is stopping. Try again.', { 'retry-after': '1' });
      // Nobody would tell that the connection is closed, for that was before.
      if (reply.raw.destroyed) throw new HttpError(503, 'The request was given up.');
      const { user = '' } = auth.subjectOf(request);
      const owner = { kind: opening.kind, user, tenantId: auth.admitted(request).tenant.id };
      counts.refuseTooMany(owner);
      if (request.method === 'HEAD') {
        reply.hijack();
        writeHeaders(reply).end();
      } else {
        counts.add(owner, 1);
        beginStream(request, reply, { ...opening, owner, auth, limits, unread, stops, onBegun, onEnd });
      }
      return reply;
    },
    summaryOf: (request) => summaries.get(request) ?? {},
    close() {
      isClosed = true;
      for (const stop of stops) stop();
    },
  };
}

interface StreamCounts {
  /** Throws 429 with `Retry-After`. */
  refuseTooMany(owner: Owner): void;
  add(owner: Owner, change: 1 | -1): void;
}

function makeStreamCounts({
  limits,
  onStream,
  onRefused,
}: Pick<EventStreamsOptions, 'limits' | 'onStream' | 'onRefused'>): StreamCounts {
  const open = new Map<string, number>();
  let inAll = 0;
  const full = (limit: LimitedBy, message: string): HttpError => {
    onRefused(limit);
    return new HttpError(429, `${message} Close one of them, or follow the list of deployments in one stream.`, {
      'retry-after': '10',
    });
  };
  return {
    refuseTooMany({ user, tenantId }) {
      if ((open.get(`user ${user}`) ?? 0) >= limits.ofUser)
        throw full('user', `${limits.ofUser} event streams of yours are open already.`);
      if ((open.get(`tenant ${tenantId}`) ?? 0) >= limits.ofTenant)
        throw full('tenant', `${limits.ofTenant} event streams of this tenant are open already.`);
      if (inAll >= limits.inAll) throw full('process', `${limits.inAll} event streams are open already.`);
    },
    add({ kind, user, tenantId }, change) {
      inAll += change;
      for (const key of [`user ${user}`, `tenant ${tenantId}`]) {
        const now = (open.get(key) ?? 0) + change;
        if (now === 0) open.delete(key);
        else open.set(key, now);
      }
      onStream(kind, change);
    },
  };
}
