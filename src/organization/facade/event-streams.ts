// Answers that go on: event streams, each with an end. A reader that reads slowly gets what is newest when it has read; one
// that does not read loses the connection. Nothing waits for a reader but one event.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Gone, Unavailable } from '../../lib/errors.ts';
import { HttpError } from '../../lib/http/http-error.ts';
import { asksForEvents, EVENT_STREAM, eventText, type StreamEvent } from '../../lib/http/server-sent-events.ts';
import type { Auth } from './auth.ts';
import { refusedFor } from './errors.ts';
import { noteHeld } from './request-log.ts';
import type { UnreadOfCallers } from './unread-limit.ts';

export interface StreamLimits {
  /** Streams that may be open at once. */
  readonly ofUser: number;
  readonly ofTenant: number;
  readonly inAll: number;
  /** Milliseconds between two comments that keep proxies from closing a connection on which nothing moves. */
  readonly heartbeatMs: number;
  /** So often the caller's right is asked again where nothing changes. Before each event it is asked anyway. */
  readonly reviewMs: number;
  /** How long a reader may leave what was sent unread. */
  readonly unreadMs: number;
  /** A client connects again after that: so connections spread over the replicas, and old ones end. */
  readonly lifeMs: number;
}

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

/** How long a stream may take to be flushed when it ends. */
const FLUSH_MS = 2000;
/** So long after an end a client waits before it connects again; EventSource does so automatically. Spread over as much again. */
const RETRY_MS = 2000;

export type StreamKind = 'deployment' | 'deployments' | 'revisions' | 'deploy_logs' | 'build_logs';

/** Why a stream ended. `gone`, `left` and `unread` are told by an event of their own or by none, the others by `event: end`. */
export type StreamEnd = 'gone' | 'left' | 'unread' | 'lifetime' | 'stopping' | 'refused' | 'failed' | 'complete';

export interface EventStream {
  /** Aborts when the stream has ended, for whatever reason. */
  readonly signal: AbortSignal;
  /** Resolves when there is room for more, or the stream has ended. */
  send(...events: readonly StreamEvent[]): Promise<void>;
  /**
   * Whether the caller may still see what the stream shows; asked of the API server, and believed for ten seconds as for any request.
   * The stream ends where it is refused. false also where nobody can be asked now: then nothing may be sent.
   */
  mayGoOn(): Promise<boolean>;
  /** Ends the stream with an event. */
  end(reason: StreamEnd, event: StreamEvent): void;
}

export interface StreamOpening {
  readonly kind: StreamKind;
  /** Checks the caller's right again and admits the request, as before its handler; fails as a request does. */
  readonly right: (request: FastifyRequest) => Promise<void>;
  /** Sends what there is to send. The stream is ended when it resolves. */
  readonly run: (stream: EventStream) => Promise<void>;
}

/** What becomes of a stream, for the log. */
export interface StreamSummary {
  readonly streamEnd?: StreamEnd;
  readonly events?: number;
}

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

const HEADERS = { 'content-type': EVENT_STREAM, 'cache-control': 'no-store', 'x-accel-buffering': 'no' } as const;

/** Whose stream it is. */
interface Owner {
  readonly kind: StreamKind;
  readonly user: string;
  readonly tenantId: string;
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
  const open = new Map<string, number>();
  const summaries = new WeakMap<FastifyRequest, StreamSummary>();
  let isClosed = false;

  function refuseTooMany({ user, tenantId }: Owner): void {
    const full = (limit: LimitedBy, message: string): HttpError => {
      onRefused(limit);
      return new HttpError(429, `${message} Close one of them, or follow the list of deployments in one stream.`, {
        'retry-after': '10',
      });
    };
    if ((open.get(`user ${user}`) ?? 0) >= limits.ofUser)
      throw full('user', `${limits.ofUser} event streams of yours are open already.`);
    if ((open.get(`tenant ${tenantId}`) ?? 0) >= limits.ofTenant)
      throw full('tenant', `${limits.ofTenant} event streams of this tenant are open already.`);
    if (stops.size >= limits.inAll) throw full('process', `${limits.inAll} event streams are open already.`);
  }

  function count({ kind, user, tenantId }: Owner, change: 1 | -1): void {
    for (const key of [`user ${user}`, `tenant ${tenantId}`]) {
      const now = (open.get(key) ?? 0) + change;
      if (now === 0) open.delete(key);
      else open.set(key, now);
    }
    onStream(kind, change);
  }

  function begin(request: FastifyRequest, reply: FastifyReply, owner: Owner, { right, run }: StreamOpening): void {
    const { raw } = reply;
    const begunAt = performance.now();
    const ended = new AbortController();
    const { signal } = ended;
    let events = 0;
    let fullSince: number | undefined;

    function write(text: string): Promise<void> {
      const read = unread.count(request, 2 * text.length);
      if (raw.write(text)) {
        read();
        return Promise.resolve();
      }
      fullSince ??= performance.now();
      return new Promise((resolve) => {
        const goOn = (): void => {
          raw.off('drain', goOn);
          signal.removeEventListener('abort', goOn);
          fullSince = undefined;
          read();
          resolve();
        };
        raw.on('drain', goOn);
        signal.addEventListener('abort', goOn);
      });
    }

    function over(reason: StreamEnd): void {
      if (signal.aborted) return;
      summaries.set(request, { streamEnd: reason, events });
      clearInterval(beating);
      clearTimeout(living);
      stops.delete(stop);
      count(owner, -1);
      noteHeld(request, performance.now() - begunAt);
      ended.abort();
    }
    function end(reason: StreamEnd, event: StreamEvent): void {
      if (signal.aborted) return;
      raw.end(eventText(event));
      over(reason);
      // A reader that does not read must hold up nobody, least of all the end of the service.
      const flushing = setTimeout(() => raw.destroy(), FLUSH_MS);
      raw.once('close', () => clearTimeout(flushing));
    }
    function beat(): void {
      if (fullSince === undefined) raw.write(':\n\n');
      else if (performance.now() - fullSince > limits.unreadMs) leave();
    }
    function leave(): void {
      over('unread');
      raw.destroy();
    }
    const stop = (): void => end('stopping', endEvent('stopping', 'The service is stopping. Connect again.'));

    async function mayGoOn(): Promise<boolean> {
      try {
        await right(request);
        if (auth.admitted(request).tenant.id === owner.tenantId) return !signal.aborted;
        // Without X-Tenant-Id it is the only tenant that the caller may use, and that is another one by now.
        end('refused', endEvent('refused', 'Another tenant is meant by now. Send X-Tenant-Id.', 403));
      } catch (error) {
        if (isPassing(error)) return false;
        const { status, detail } = refusedFor(error);
        if (status >= 500) throw error;
        end('refused', endEvent('refused', detail, status));
      }
      return false;
    }

    async function runToEnd(): Promise<void> {
      try {
        await run({ signal, send, mayGoOn, end });
        end('complete', endEvent('complete', 'There is nothing more to come.'));
      } catch (error) {
        if (signal.aborted) return;
        const { status, detail } = refusedFor(error);
        if (status === 500) request.log.error({ route: request.routeOptions.url, err: error }, 'Stream failed');
        const reason = status < 500 ? 'refused' : 'failed';
        end(reason, endEvent(reason, detail, status));
      }
    }
    function send(...more: readonly StreamEvent[]): Promise<void> {
      if (signal.aborted) return Promise.resolve();
      // Other streams of the caller are not read, and this one would need as much memory.
      if (unread.isFull(request)) {
        leave();
        return Promise.resolve();
      }
      events += more.length;
      return write(more.map(eventText).join(''));
    }

    const beating = setInterval(beat, Math.min(limits.heartbeatMs, limits.unreadMs));
    // Streams that began together, as after a restart, do not end together.
    const living = setTimeout(
      () => end('lifetime', endEvent('lifetime', 'Streams end after an hour. Connect again.')),
      limits.lifeMs * (1 - Math.random() / 10),
    );
    stops.add(stop);
    count(owner, 1);
    onBegun(reply);
    reply.hijack();
    raw
      .on('error', () => undefined)
      .once('close', () => {
        over('left');
        // Node tells nobody that an answer that has begun is not taken any more, and Fastify would never log the request.
        if (!raw.writableFinished)
          raw.emit('error', new Error('The connection was closed before the end of the stream.'));
      });
    raw.writeHead(200, reply.headers(HEADERS).getHeaders() as Record<string, string>);
    raw.write(`retry: ${Math.round(RETRY_MS * (1 + Math.random()))}\n\n`);
    void runToEnd();
  }

  return {
    limits,
    isAskedFor: ({ headers }) => asksForEvents(headers.accept),
    open(request, reply, opening) {
      if (isClosed) throw new HttpError(503, 'The service is stopping. Try again.', { 'retry-after': '1' });
      // Nobody would tell that the connection is closed, for that was before.
      if (reply.raw.destroyed) throw new HttpError(503, 'The request was given up.');
      const { user = '' } = auth.subjectOf(request);
      const owner = { kind: opening.kind, user, tenantId: auth.admitted(request).tenant.id };
      refuseTooMany(owner);
      if (request.method === 'HEAD') {
        reply.hijack();
        reply.raw.writeHead(200, reply.headers(HEADERS).getHeaders() as Record<string, string>).end();
      } else begin(request, reply, owner, opening);
      return reply;
    },
    summaryOf: (request) => summaries.get(request) ?? {},
    close() {
      isClosed = true;
      for (const stop of stops) stop();
    },
  };
}

function endEvent(reason: StreamEnd, detail: HttpError['detail'], status?: number): StreamEvent {
  return { event: 'end', data: JSON.stringify({ reason, ...(status !== undefined && { status }), detail }) };
}

/** Says nothing of the caller's right, but of the moment. */
function isPassing(error: unknown): boolean {
  if (error instanceof Unavailable || error instanceof Gone) return true;
  return error instanceof HttpError && (error.status === 429 || error.status === 503);
}
