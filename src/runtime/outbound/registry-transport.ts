// HTTP transport to the platform's registry. The registry's own origin, which comes from the settings, may have any
// address. Other hosts that the registry names (token servers, blob storage) are reached only over https and at public
// addresses; through a proxy, which resolves names itself, only literal addresses are checked. The transport does not follow
// redirects: the caller does, and decides which headers to send.

import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { RegistryFailed } from '../errors.ts';
import { type Proxies, proxyAgent, proxyFor, proxyRefusal } from './proxy.ts';
import { allAddresses, isPublic, lookupAllowed, type ResolveName } from './public-addresses.ts';

export interface RegistryTransportOptions {
  /** https://HOST[:PORT], or http:// if the settings allow it. */
  readonly origin: string;
  /** CA certificates (PEM) that are trusted for this origin instead of the system's. */
  readonly ca?: string | undefined;
  readonly proxies?: Proxies | undefined;
  /** Default: the system's resolver. */
  readonly lookup?: ResolveName;
  /** Default: 5,000. */
  readonly connectTimeoutMs?: number;
  /** Maximum time without data from the host. It does not run while a request body is being sent. Default: 30,000. */
  readonly answerTimeoutMs?: number;
}

export interface Sent {
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is read once, with backpressure from the registry. */
  readonly body?: string | AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Maximum number of bytes of a stream that are buffered. */
const MOST_WAITING = 256 * 1024;

export interface RegistryTransport {
  /**
   * Returns a response whose body has not been read. Throws RegistryFailed, the request body's own error, or the abort
   * reason of `signal`.
   */
  request(url: URL, sent: Sent): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
}

/** Throws an Error if `origin` is not a URL. */
export function makeRegistryTransport(options: RegistryTransportOptions): RegistryTransport {
  const { ca, proxies, lookup = allAddresses, connectTimeoutMs = 5000, answerTimeoutMs = 30_000 } = options;
  const { origin } = new URL(options.origin);
  const timeouts = { headersTimeout: answerTimeoutMs, bodyTimeout: answerTimeoutMs, maxHeaderSize: 64 * 1024 };
  const ownProxy = proxyFor(new URL(origin), proxies);
  const own: Dispatcher =
    ownProxy === undefined
      ? new Agent({
          ...timeouts,
          connections: 16,
          connect: { timeout: connectTimeoutMs, ...(ca !== undefined && { ca }) },
        })
      : proxyAgent(ownProxy, { ca, connectTimeoutMs, timeouts: { ...timeouts, connections: 16 } });
  const proxied =
    proxies?.httpsProxy === undefined
      ? undefined
      : proxyAgent(proxies.httpsProxy, { connectTimeoutMs, timeouts: { ...timeouts, connections: 4 } });
  const elsewhere = new Agent({
    ...timeouts,
    connections: 4,
    connect: {
      timeout: connectTimeoutMs,
      lookup: lookupAllowed(lookup, isPublic, notPublic),
    },
  });

  function agentFor(url: URL): Dispatcher {
    if (url.origin === origin && url.username === '') return own;
    if (url.protocol !== 'https:' || url.username !== '')
      throw new RegistryFailed(
        'malformed',
        'The registry returned a URL that is not https, or that contains a user name.',
      );
    // The agent does not call `lookup` for an IP address, nor does a proxy's, so it is checked here.
    const address = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0 && !isPublic(address)) throw notPublic(address);
    return proxied !== undefined && proxyFor(url, proxies) !== undefined ? proxied : elsewhere;
  }

  return {
    async request(url, { method = 'GET', headers, body, signal }) {
      const agent = agentFor(url);
      const stream = body === undefined || typeof body === 'string' ? undefined : watched(body);
      try {
        return await agent.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method,
          headers: { ...headers, 'user-agent': 'davit', 'accept-encoding': 'identity' },
          signal,
          body: stream?.body ?? (body as string | undefined) ?? null,
        });
      } catch (error) {
        throw stream?.failure() ?? asFailure(error, signal);
      }
    },
    close: async () => {
      await Promise.all([own.destroy(), elsewhere.destroy(), proxied?.destroy()]);
    },
  };
}

/** Records the error of a request body, so that it is not reported as a failure of the registry. */
function watched(body: AsyncIterable<Uint8Array>): { readonly body: Readable; failure(): Error | undefined } {
  let failed: Error | undefined;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      failed = error instanceof Error ? error : new Error(String(error));
      throw failed;
    }
  }
  return { body: Readable.from(pieces(), { objectMode: false, highWaterMark: MOST_WAITING }), failure: () => failed };
}

function notPublic(hostname: string): RegistryFailed {
  return new RegistryFailed('malformed', `The registry returned the host ${hostname}, whose address is not public.`);
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/**
 * Converts an error of a request, or of reading its response's body, to a RegistryFailed. If `signal` was aborted other
 * than by a timeout, returns its reason instead.
 */
export function asFailure(error: unknown, signal: AbortSignal): Error {
  if (error instanceof RegistryFailed) return error;
  const { code } = error as { readonly code?: string };
  if (signal.aborted && !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'))
    return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
  if (signal.aborted || (code !== undefined && TIMEOUTS.has(code)))
    return new RegistryFailed('timeout', 'The registry did not answer in time. Try again.', { cause: error });
  const refusal = proxyRefusal(error);
  return new RegistryFailed('unreachable', `${refusal ?? 'The registry cannot be reached.'} Try again later.`, {
    cause: error,
  });
}
