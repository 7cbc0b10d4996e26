// The way to the platform's registry: to its own host by the settings' word, wherever that is, and to other hosts that it
// names (where tokens are issued, where blobs are kept) over https at public addresses alone. Redirects are answers here:
// who follows one decides what to send along.

import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { RegistryFailed } from '../errors.ts';
import { isPublic } from './public-addresses.ts';

export interface RegistryTransportOptions {
  /** https://HOST[:PORT], or http:// where the settings say so. */
  readonly origin: string;
  /** PEM; authorities that are trusted for this host instead of the machine's. */
  readonly ca?: string | undefined;
  /** All addresses of a name; the system's resolver by default. */
  readonly lookup?: (hostname: string) => Promise<readonly LookupAddress[]>;
  readonly connectTimeoutMs?: number;
  /** Longest silence of a host that is to answer; what is being sent to it does not count. */
  readonly answerTimeoutMs?: number;
}

export interface Sent {
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is read once, and no faster than the registry takes it. */
  readonly body?: string | AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Bytes of a stream that wait to be sent. */
const MOST_WAITING = 256 * 1024;

export interface RegistryTransport {
  /** An answer with its body unread. Fails as RegistryFailed, or with what the sent body failed with. */
  request(url: URL, sent: Sent): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
}

/** Throws an Error for an origin that is none. */
export function makeRegistryTransport(options: RegistryTransportOptions): RegistryTransport {
  const { ca, lookup = allAddresses, connectTimeoutMs = 5000, answerTimeoutMs = 30_000 } = options;
  const { origin } = new URL(options.origin);
  const timeouts = { headersTimeout: answerTimeoutMs, bodyTimeout: answerTimeoutMs, maxHeaderSize: 64 * 1024 };
  const own = new Agent({
    ...timeouts,
    connections: 16,
    connect: { timeout: connectTimeoutMs, ...(ca !== undefined && { ca }) },
  });
  const elsewhere = new Agent({
    ...timeouts,
    connections: 4,
    connect: {
      timeout: connectTimeoutMs,
      lookup(hostname, { all }, callback) {
        publicAddresses(hostname).then(
          (found) => {
            if (all === true) callback(null, [...found]);
            else callback(null, found[0]?.address ?? '', found[0]?.family);
          },
          (error: Error) => callback(error, ''),
        );
      },
    },
  });

  async function publicAddresses(hostname: string): Promise<readonly LookupAddress[]> {
    const found = await lookup(hostname);
    // One that is not public is enough: which of them is taken would be chance, or somebody's choice.
    if (found.length === 0 || !found.every(({ address }) => isPublic(address))) throw notPublic(hostname);
    return found;
  }

  function agentFor(url: URL): Agent {
    if (url.origin === origin && url.username === '') return own;
    if (url.protocol !== 'https:' || url.username !== '')
      throw new RegistryFailed(
        'malformed',
        'The registry names an address that is not https without user and password.',
      );
    // No name is looked up for an address.
    const address = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0 && !isPublic(address)) throw notPublic(address);
    return elsewhere;
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
      await Promise.all([own.destroy(), elsewhere.destroy()]);
    },
  };
}

/** A body that remembers with what it failed, so that its sender's failure is not taken for the registry's. */
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

function allAddresses(hostname: string): Promise<readonly LookupAddress[]> {
  return systemLookup(hostname, { all: true });
}

function notPublic(hostname: string): RegistryFailed {
  return new RegistryFailed('malformed', `The registry names the host ${hostname}, whose address is not a public one.`);
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** For what fails while a body is read, too. A request given up by its own signal fails with that signal's reason. */
export function asFailure(error: unknown, signal: AbortSignal): Error {
  if (error instanceof RegistryFailed) return error;
  const { code } = error as { readonly code?: string };
  if (signal.aborted && !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'))
    return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
  if (signal.aborted || (code !== undefined && TIMEOUTS.has(code)))
    return new RegistryFailed('timeout', 'The registry did not answer in time. Try again.', { cause: error });
  return new RegistryFailed('unreachable', 'The registry cannot be reached. Try again later.', { cause: error });
}
