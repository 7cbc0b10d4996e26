// One request: credentials, connection and retries.

import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { type ServerError, Unavailable } from '../errors.ts';
import type { AgentPair, Connections } from './agents.ts';
import type { ClusterAccess } from './config.ts';
import { Abandoned, dispatchRequest, TimedOut } from './dispatch-request.ts';
import { errorFromAnswer, retryAfterMs } from './errors.ts';

export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'apply' | 'patch' | 'delete' | 'text';

/** One request including its retries; for metrics. */
export interface RequestReport {
  readonly verb: RequestVerb;
  /** Plural of the resource, with the subresource if there is one; '' for `text`. */
  readonly resource: string;
  /** `ok`, or the name of the error. */
  readonly result: string;
  readonly durationMs: number;
}

export interface KubeClientOptions {
  readonly access: ClusterAccess;
  readonly userAgent: string;
  /** Time limit of one attempt, including the wait for a free connection. Watches last longer. */
  readonly requestTimeoutMs?: number;
  /** Maximum number of requests in flight; others wait. */
  readonly maxConnections?: number;
  readonly onRequest?: (report: RequestReport) => void;
}

const MAX_ATTEMPTS = 4;
/** Maximum Retry-After that the client waits. For a longer one the caller has to retry, from its queue. */
const LONGEST_WAIT_MS = 5_000;
/** The server may close an idle connection at the moment of its reuse. A read or an apply can then be repeated. */
const RECONNECT_WAIT_MS = 50;
export const JSON_TYPE = 'application/json';

export interface Outgoing {
  readonly verb: RequestVerb;
  readonly resource: string;
  readonly doing: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  readonly isStillWanted?: (() => boolean) | undefined;
}

/** The result of one attempt. `retryInMs` is set if a retry is harmless. */
type Outcome = { readonly body: string } | { readonly error: ServerError; readonly code?: number; retryInMs?: number };

export interface Requests {
  /** The body of a successful answer, after harmless retries. */
  send(out: Outgoing): Promise<string>;
  /** The body of a streaming answer, such as a watch. One attempt, not counted as a request. */
  open(out: Outgoing, signal: AbortSignal, over?: 'watches' | 'streams'): Promise<AsyncIterable<Uint8Array>>;
}

/** Requests with `token`, or with Davit's own credentials if it is absent. */
export function makeRequests(
  token: string | undefined,
  options: KubeClientOptions,
  connections: Connections,
): Requests {
  const { access, userAgent, requestTimeoutMs = 30_000, onRequest } = options;
  const server = new URL(access.server);
  const dispatchOptions = (out: Outgoing, headers: Readonly<Record<string, string>>): Dispatching =>
    dispatching(server, out, { ...headers, 'user-agent': userAgent });

  async function attempt(out: Outgoing): Promise<Outcome> {
    try {
      const { headers, agents } = await identityOf(token, access, connections);
      const answer = await dispatchRequest(agents.requests, dispatchOptions(out, headers), {
        timeoutMs: requestTimeoutMs,
        signal: out.signal,
        isStillWanted: out.isStillWanted,
      });
      const { code, body } = answer;
      if (code >= 200 && code < 300) return { body };
      const retryAfter = headerOf(answer.headers, 'retry-after');
      const error = errorFromAnswer(out.doing, { code, body, retryAfter });
      const wait = retryAfterMs(retryAfter);
      const retry = (code === 429 || code === 503) && wait !== undefined;
      return { error, code, ...(retry && { retryInMs: wait }) };
    } catch (cause) {
      if (out.signal?.aborted) throw out.signal.reason;
      if (cause instanceof Abandoned) return { error: unavailable(out.doing, cause) };
      if (isDistrust(cause)) access.refresh();
      const error = unavailable(out.doing, cause);
      return { error, ...(!(cause instanceof TimedOut) && { retryInMs: RECONNECT_WAIT_MS }) };
    }
  }

  async function send(out: Outgoing): Promise<string> {
    const start = performance.now();
    let result = 'ok';
    try {
      return await withRetries(out, {
        attempt: () => attempt(out),
        // Davit's token may have been rotated since it was read.
        ...(token === undefined && { refresh: () => access.refresh() }),
      });
    } catch (error) {
      result = error instanceof Error ? error.name : 'Error';
      throw error;
    } finally {
      onRequest?.({ verb: out.verb, resource: out.resource, result, durationMs: performance.now() - start });
    }
  }

  async function open(
    out: Outgoing,
    signal: AbortSignal,
    over: 'watches' | 'streams' = 'watches',
  ): Promise<AsyncIterable<Uint8Array>> {
    try {
      const { headers, agents } = await identityOf(token, access, connections);
      const answer = await agents[over].request({
        ...dispatchOptions(out, headers),
        signal,
        headersTimeout: requestTimeoutMs,
        bodyTimeout: 0,
      });
      if (answer.statusCode === 200) return answer.body as AsyncIterable<Uint8Array>;
      const body = await answer.body.text();
      if (answer.statusCode === 401 && token === undefined) access.refresh();
      const retryAfter = headerOf(answer.headers, 'retry-after');
      throw errorFromAnswer(out.doing, { code: answer.statusCode, body, retryAfter });
    } catch (error) {
      if (isDistrust(error)) access.refresh();
      throw error;
    }
  }

  return { send, open };
}

interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly agents: AgentPair;
}

/** Credentials and connections. A caller's token is never sent over a connection with Davit's client certificate. */
async function identityOf(
  token: string | undefined,
  access: ClusterAccess,
  connections: Connections,
): Promise<Identity> {
  const own = await access.credentials();
  if (token === undefined) return { headers: own.headers, agents: connections.own(own.tls) };
  return { headers: { authorization: `Bearer ${token}` }, agents: connections.foreign(own.tls) };
}

type Dispatching = Dispatcher.DispatchOptions & { readonly origin: string };

function dispatching(server: URL, out: Outgoing, headers: Readonly<Record<string, string>>): Dispatching {
  return {
    origin: server.origin,
    path: server.pathname.replace(/(?<!\/)\/+$/, '') + out.path,
    method: out.method,
    headers: {
      ...headers,
      accept: out.accept ?? JSON_TYPE,
      ...(out.contentType !== undefined && { 'content-type': out.contentType }),
    },
    ...(out.body !== undefined && { body: out.body }),
  };
}

interface Retrying {
  readonly attempt: () => Promise<Outcome>;
  /** Reads the credentials again, for one more attempt after 401; absent if there are no others. */
  readonly refresh?: () => void;
}

async function withRetries(out: Outgoing, { attempt, refresh }: Retrying): Promise<string> {
  const mayRepeat = out.method === 'GET' || out.verb === 'apply';
  let refreshed = false;
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt();
    if ('body' in outcome) return outcome.body;
    if (outcome.code === 401 && refresh !== undefined && !refreshed) {
      // A rejected request has had no effect.
      refreshed = true;
      refresh();
      continue;
    }
    const wait = outcome.retryInMs;
    if (!mayRepeat || wait === undefined || wait > LONGEST_WAIT_MS || attempts >= MAX_ATTEMPTS) throw outcome.error;
    await pause(wait * (1 + Math.random() / 4), out.signal);
  }
}

/** A repeated header is a list, whatever its type says. */
function headerOf(headers: Dispatcher.ResponseData['headers'], name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export function unavailable(doing: string, cause: unknown): Unavailable {
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new Unavailable(`${doing}: ${reason}`, { cause });
}

/** Whether the server's certificate is not signed by a known CA: the CA file may have been rotated since it was read. */
function isDistrust(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /CERT|ISSUER|SIGNATURE/.test(code);
}

async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(milliseconds, undefined, signal === undefined ? {} : { signal });
  } catch {
    throw signal?.reason;
  }
}
