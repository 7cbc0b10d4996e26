// One event stream: what is sent, its heartbeat, and its end.

import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Gone, Unavailable } from '../../lib/errors.ts';
import { HttpError } from '../../lib/http/http-error.ts';
import { EVENT_STREAM, eventText, type StreamEvent } from '../../lib/http/server-sent-events.ts';
import type { Auth } from './auth.ts';
import { refusedFor } from './errors.ts';
import { noteHeld } from './request-log.ts';
import type { UnreadOfCallers } from './unread-limit.ts';

/** How long a stream may take to be flushed when it ends. */
const FLUSH_MS = 2000;
/** So long after an end a client waits before it connects again; EventSource does so automatically. Spread over as much again. */
const RETRY_MS = 2000;

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

const HEADERS = { 'content-type': EVENT_STREAM, 'cache-control': 'no-store', 'x-accel-buffering': 'no' } as const;

/** Whose stream it is. */
export interface Owner {
  readonly kind: StreamKind;
  readonly user: string;
  readonly tenantId: string;
}

interface Beginning extends StreamOpening {
  readonly owner: Owner;
  readonly auth: Pick<Auth, 'admitted'>;
  readonly limits: StreamLimits;
  readonly unread: UnreadOfCallers;
  /** What ends each open stream when the service stops. */
  readonly stops: Set<() => void>;
  /** From now on there is no time limit for the answer. */
  readonly onBegun: (reply: FastifyReply) => void;
  /** Called once. */
  readonly onEnd: (request: FastifyRequest, owner: Owner, summary: StreamSummary) => void;
}

/** Answers with a stream. */
export function beginStream(request: FastifyRequest, reply: FastifyReply, beginning: Beginning): void {
  const { limits, unread, stops } = beginning;
  const { raw } = reply;
  const begunAt = performance.now();
  const ended = new AbortController();
  const { signal } = ended;
  const output = makeOutput(raw, signal, (text) => unread.count(request, 2 * text.length));
  let events = 0;

  function over(reason: StreamEnd): void {
    if (signal.aborted) return;
    clearInterval(beating);
    clearTimeout(living);
    stops.delete(stop);
    beginning.onEnd(request, beginning.owner, { streamEnd: reason, events });
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
    const full = output.fullForMs();
    if (full === undefined) raw.write(':\n\n');
    else if (full > limits.unreadMs) leave();
  }
  function leave(): void {
    over('unread');
    raw.destroy();
  }
  function send(...more: readonly StreamEvent[]): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    // Other streams of the caller are not read, and this one would need as much memory.
    if (unread.isFull(request)) {
      leave();
      return Promise.resolve();
    }
    events += more.length;
    return output.write(more.map(eventText).join(''));
  }

  const stop = (): void => end('stopping', endEvent('stopping', 'The service is stopping. Connect again.'));
  const beating = setInterval(beat, Math.min(limits.heartbeatMs, limits.unreadMs));
  // Streams that began together, as after a restart, do not end together.
  const living = setTimeout(
    () => end('lifetime', endEvent('lifetime', 'Streams end after an hour. Connect again.')),
    limits.lifeMs * (1 - Math.random() / 10),
  );
  stops.add(stop);
  beginning.onBegun(reply);
  reply.hijack();
  raw
    .on('error', () => undefined)
    .once('close', () => {
      over('left');
      // Node emits no event when a started response is abandoned, and Fastify would never log the request.
      if (!raw.writableFinished)
        raw.emit('error', new Error('The connection was closed before the end of the stream.'));
    });
  writeHeaders(reply).write(`retry: ${Math.round(RETRY_MS * (1 + Math.random()))}\n\n`);
  const stream = { signal, send, end, mayGoOn: () => mayGoOn(request, beginning, signal, end) };
  void runToEnd(request, beginning, stream);
}

export function writeHeaders(reply: FastifyReply): ServerResponse {
  return reply.raw.writeHead(200, reply.headers(HEADERS).getHeaders() as Record<string, string>);
}

interface Output {
  /** Resolves when there is room for more, or `signal` has aborted. */
  write(text: string): Promise<void>;
  /** How long there has been no room; undefined if there is. */
  fullForMs(): number | undefined;
}

/** `count` is told each text, and the function that it returns is called when that has been read. */
function makeOutput(raw: ServerResponse, signal: AbortSignal, count: (text: string) => () => void): Output {
  let fullSince: number | undefined;
  return {
    write(text) {
      const read = count(text);
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
    },
    fullForMs: () => (fullSince === undefined ? undefined : performance.now() - fullSince),
  };
}

async function mayGoOn(
  request: FastifyRequest,
  { auth, owner, right }: Beginning,
  signal: AbortSignal,
  end: EventStream['end'],
): Promise<boolean> {
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

async function runToEnd(request: FastifyRequest, { run }: Beginning, stream: EventStream): Promise<void> {
  try {
    await run(stream);
    stream.end('complete', endEvent('complete', 'There is nothing more to come.'));
  } catch (error) {
    if (stream.signal.aborted) return;
    const { status, detail } = refusedFor(error);
    if (status === 500) request.log.error({ route: request.routeOptions.url, err: error }, 'Stream failed');
    const reason = status < 500 ? 'refused' : 'failed';
    stream.end(reason, endEvent(reason, detail, status));
  }
}

function endEvent(reason: StreamEnd, detail: HttpError['detail'], status?: number): StreamEvent {
  return { event: 'end', data: JSON.stringify({ reason, ...(status !== undefined && { status }), detail }) };
}

/** Says nothing of the caller's right, but of the moment. */
function isPassing(error: unknown): boolean {
  if (error instanceof Unavailable || error instanceof Gone) return true;
  return error instanceof HttpError && (error.status === 429 || error.status === 503);
}
