// A minimal Kubernetes client of the launcher itself. It needs no npm package, since the launcher runs before any is
// known to be there, and it shares no code with src/, which it helps to test.
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';

/** As much of an object as the launcher reads; the rest is `unknown`. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export interface Credentials {
  readonly server: string;
  readonly ca: string;
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
}

export class ApiError extends Error {
  readonly status: number;

  constructor(what: string, status: number, body: string) {
    super(`${what}: ${status} ${body.slice(0, 500)}`);
    this.status = status;
  }
}

export interface ApiClient {
  /** Answers with the parsed body; throws an ApiError for every status from 400 on. */
  call<T = unknown>(method: string, path: string, body?: unknown, contentType?: string): Promise<T>;
  /** The body as text, whatever it is. */
  read(path: string): Promise<string>;
  /** Creates; an object that is already there is left as it is. */
  ensure(path: string, body: unknown): Promise<void>;
  /**
   * Lists, then watches, until `signal` is aborted; starts again from the list when the server ends the stream. Resolves when
   * what is there was told for the first time.
   */
  follow<T extends ApiObject>(
    path: string,
    signal: AbortSignal,
    onObject: (object: T, gone: boolean) => void,
  ): Promise<void>;
  close(): void;
}

export function connectApi(credentials: Credentials): ApiClient {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 64,
    ca: credentials.ca,
    ...(credentials.certificate !== undefined && { cert: credentials.certificate }),
    ...(credentials.key !== undefined && { key: credentials.key }),
  });

  function send(
    method: string,
    path: string,
    body: unknown,
    contentType: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const outgoing = httpsRequest(
        new URL(path, credentials.server),
        {
          method,
          agent,
          ...(signal !== undefined && { signal }),
          headers: {
            accept: 'application/json',
            ...(credentials.token !== undefined && { authorization: `Bearer ${credentials.token}` }),
            ...(payload !== undefined && { 'content-type': contentType, 'content-length': Buffer.byteLength(payload) }),
          },
        },
        resolve,
      );
      outgoing.on('error', reject);
      // A watch is no reason for the launcher's process to stay.
      if (signal !== undefined) outgoing.on('socket', (socket) => socket.unref());
      outgoing.end(payload);
    });
  }

  async function read(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<string> {
    const response = await send(method, path, body, contentType);
    const answer = await text(response);
    const status = response.statusCode ?? 0;
    if (status >= 400) throw new ApiError(`${method} ${path}`, status, answer);
    return answer;
  }

  async function call<T>(method: string, path: string, body?: unknown, contentType?: string): Promise<T> {
    return JSON.parse(await read(method, path, body, contentType));
  }

  async function followOnce<T extends ApiObject>(
    path: string,
    signal: AbortSignal,
    known: Map<string, T>,
    tell: (object: T, gone: boolean) => void,
    listed: () => void,
  ): Promise<void> {
    const list = await call<{ metadata: { resourceVersion: string }; items: T[] }>('GET', path);
    if (signal.aborted) return;
    const there = new Set(list.items.map(({ metadata }) => metadata.uid));
    for (const [uid, object] of known) if (!there.has(uid)) tell(object, true);
    for (const item of list.items) tell(item, false);
    listed();
    const query = `${path.includes('?') ? '&' : '?'}watch=true&resourceVersion=${list.metadata.resourceVersion}`;
    const response = await send('GET', path + query, undefined, '', signal);
    if ((response.statusCode ?? 0) >= 400) throw new ApiError(`watch ${path}`, response.statusCode ?? 0, '');
    let rest = '';
    response.setEncoding('utf8');
    for await (const chunk of response) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((l) => l !== '')) {
        const event: { type: string; object: T } = JSON.parse(line);
        if (event.type === 'ERROR') return;
        tell(event.object, event.type === 'DELETED');
      }
    }
  }

  return {
    call,
    read: (path) => read('GET', path),
    async ensure(path, body) {
      await call('POST', path, body).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.status === 409)) throw error;
      });
    },
    follow<T extends ApiObject>(path: string, signal: AbortSignal, onObject: (object: T, gone: boolean) => void) {
      // What has gone while no stream was open is told by the next list's lack of it.
      const known = new Map<string, T>();
      const tell = (object: T, gone: boolean): void => {
        if (gone) known.delete(object.metadata.uid ?? '');
        else known.set(object.metadata.uid ?? '', object);
        onObject(object, gone);
      };
      return new Promise((resolve) => {
        async function loop(): Promise<void> {
          while (!signal.aborted) {
            await followOnce(path, signal, known, tell, resolve).catch(() => pause(200));
          }
          resolve();
        }
        void loop();
      });
    },
    close: () => agent.destroy(),
  };
}

export function pause(ms: number): Promise<void> {
  // Not counted either: who waits for a cluster holds its keeper, and a start that has failed waits for nothing.
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

const PATIENCE_MS = 30_000;

/** The same client for who does not mind waiting until a server is back. Streams are reopened automatically. */
export function patient(api: ApiClient): ApiClient {
  async function persistently<T>(ask: () => Promise<T>): Promise<T> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        // A server that has just come back knows nobody's bindings yet.
        const isAnswer = error instanceof ApiError && error.status < 500 && ![403, 429].includes(error.status);
        if (isAnswer || performance.now() > end) throw error;
        await pause(100);
      }
    }
  }
  return {
    ...api,
    call: <T>(...all: Parameters<ApiClient['call']>) => persistently(() => api.call<T>(...all)),
    ensure: (...all) => persistently(() => api.ensure(...all)),
  };
}

/** Tries until it does not throw. Every wait of the launcher ends, and says what it was for. */
export async function until(what: string, attempt: () => Promise<unknown>, waitMs = 300_000): Promise<void> {
  const end = Date.now() + waitMs;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (cause) {
      if (Date.now() > end) throw new Error(`waited ${waitMs / 1000} s for ${what}`, { cause });
      await pause(50);
    }
  }
}
