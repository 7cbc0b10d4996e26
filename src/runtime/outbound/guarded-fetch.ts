// Fetch for requests to other hosts, one for each purpose: code hosts, OAuth servers, Prometheus. It allows only listed hosts, over https
// (http for a host that the platform lists so), and connects only to an address that it
// has resolved and checked for this connection, so a second DNS answer has no effect. Redirects are checked in the same
// way and never carry credentials to another host. A proxy resolves names itself: for what goes through one, everything but
// the resolved address is checked.

import { type BlockList, isIP } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import { CodeHostFailed } from '../errors.ts';
import { type Proxies, proxyAgent, proxyFor, proxyRefusal } from './proxy.ts';
import { allAddresses, blockListOf, isIn, isPublic, lookupAllowed, type ResolveName } from './public-addresses.ts';

/** A host that may be connected to. */
export interface AllowedHost {
  /** Name or address, with the port if that is not 443. */
  readonly host: string;
  /** Addresses and CIDR ranges that the host may resolve to although they are not public. */
  readonly addresses: readonly string[];
  /** CA certificates (PEM) that are trusted for this host instead of the system's. */
  readonly ca?: string | undefined;
  /** Whether it is reached over http instead of https. */
  readonly plain?: boolean | undefined;
}

/** What the hosts of a guarded fetch are, for messages. */
export interface Peer {
  /** `code host`. */
  readonly name: string;
  /** The setting that lists them: `codeHosts`. */
  readonly setting: string;
}

const CODE_HOST: Peer = { name: 'code host', setting: 'codeHosts' };

export interface GuardedFetchOptions {
  readonly hosts: readonly AllowedHost[];
  /** Default: code hosts. */
  readonly peer?: Peer;
  readonly proxies?: Proxies | undefined;
  /** Default: the system's resolver. */
  readonly lookup?: ResolveName;
  /** Default: 5,000. */
  readonly connectTimeoutMs?: number;
  /** Maximum time without data from the host, both before and within a response. Default: 10,000. */
  readonly answerTimeoutMs?: number;
  /** Maximum size of a response body. Default: 16 MiB. */
  readonly maxBytes?: number;
}

export interface Sent {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** A response whose body was read completely. */
export interface Answer {
  readonly status: number;
  /** URL of the response, after redirects. */
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface GuardedFetch {
  /**
   * Follows redirects of a GET. Throws CodeHostFailed: `forbidden` if the host or its address is not allowed,
   * `unreachable`, `timeout` (also if `signal` aborts), or `malformed` if the response is too large or has too many
   * redirects.
   */
  fetch(url: string, sent: Sent): Promise<Answer>;
  close(): Promise<void>;
}

const MOST_REDIRECTS = 5;
const MAX_BYTES = 16 * 1024 * 1024;

interface Gate {
  readonly name: string;
  readonly listed: BlockList;
  readonly agent: Dispatcher;
}

export function makeGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { maxBytes = MAX_BYTES, peer = CODE_HOST } = options;
  const gates = new Map(options.hosts.map((allowed) => [originOf(allowed, peer), gateFor(allowed, options)]));

  function gateOf(url: URL): Gate {
    const gate = gates.get(url.origin);
    if (url.protocol !== 'https:' && gate === undefined)
      throw forbidden(`${url.protocol}// is not allowed: use https.`);
    if (url.username !== '' || url.password !== '') throw forbidden('A URL with user or password is not allowed.');
    if (gate === undefined)
      throw forbidden(`Host ${url.host} is not one of the platform's ${peer.name}s (setting ${peer.setting}).`);
    // The agent does not call `lookup` for an IP address, nor does a proxy's, so it is checked here.
    const address = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0 && !isPublic(address) && !isIn(gate.listed, address))
      throw forbidden(
        `Address ${url.host} is not public. To allow it, list it in its host's addresses in setting ${peer.setting}.`,
      );
    return gate;
  }

  async function send(url: URL, sent: Sent): Promise<Dispatcher.ResponseData> {
    const { agent } = gateOf(url);
    return agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: (sent.method ?? 'GET') as Dispatcher.HttpMethod,
      // A compressed body could expand beyond any limit.
      headers: { ...sent.headers, 'accept-encoding': 'identity' },
      signal: sent.signal,
      ...(sent.body !== undefined && { body: sent.body }),
    });
  }

  async function follow(address: string, sent: Sent): Promise<Answer> {
    let url = urlOf(address);
    let headers = sent.headers ?? {};
    for (let redirects = 0; ; redirects += 1) {
      const answer = await send(url, { ...sent, headers });
      const location = answer.headers['location'];
      if (answer.statusCode < 300 || answer.statusCode > 399 || typeof location !== 'string') {
        return { ...(await whole(answer, maxBytes, peer)), url: url.href };
      }
      await answer.body.dump({ limit: 64 * 1024 });
      if ((sent.method ?? 'GET') !== 'GET' || redirects === MOST_REDIRECTS)
        throw new CodeHostFailed('malformed', `The ${peer.name} sent too many redirects.`);
      const next = urlOf(location, url);
      if (next.origin !== url.origin) headers = withoutCredentials(headers);
      url = next;
    }
  }

  return {
    async fetch(url, sent) {
      try {
        return await follow(url, sent);
      } catch (error) {
        const parsed = URL.parse(url);
        const isProxied = parsed !== null && proxyFor(parsed, options.proxies) !== undefined;
        throw asFailure(error, { signal: sent.signal, isProxied, peer });
      }
    },
    close: async () => {
      await Promise.all([...gates.values()].map(({ agent }) => agent.destroy()));
    },
  };
}

/** Connections to one host, and which addresses they may have. */
function gateFor(allowed: AllowedHost, options: GuardedFetchOptions): Gate {
  const { host, addresses, ca } = allowed;
  const { lookup = allAddresses, connectTimeoutMs = 5000, answerTimeoutMs = 10_000, peer = CODE_HOST } = options;
  const listed = blockListOf(addresses);
  const timeouts = {
    connections: 8,
    maxHeaderSize: 64 * 1024,
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
  };
  const proxy = proxyFor(new URL(originOf(allowed, peer)), options.proxies);
  if (proxy !== undefined) return { name: host, listed, agent: proxyAgent(proxy, { ca, connectTimeoutMs, timeouts }) };
  const connect = {
    timeout: connectTimeoutMs,
    ...(ca !== undefined && { ca }),
    lookup: lookupAllowed(lookup, (address) => isPublic(address) || isIn(listed, address), notPublic(peer)),
  };
  return { name: host, listed, agent: new Agent({ ...timeouts, connect }) };
}

/** Reads an answer to its end. Throws CodeHostFailed if its body has more than `maxBytes`. */
async function whole(
  answer: Dispatcher.ResponseData,
  maxBytes: number,
  { name: peer }: Peer,
): Promise<Omit<Answer, 'url'>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes)
      throw new CodeHostFailed('malformed', `The ${peer}'s answer is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  return { status: answer.statusCode, headers, body: Buffer.concat(chunks).toString('utf8') };
}

/**
 * Origin of a host as the URL parser normalizes it: lower case, Punycode, no default port. Throws an Error that names
 * the setting.
 */
function originOf({ host, plain = false }: AllowedHost, { setting }: Peer): string {
  const url = URL.parse(`${plain ? 'http' : 'https'}://${host}`);
  if (url === null || url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new Error(`read setting ${setting}: ${host} is not a host, or a host and a port`);
  return url.origin;
}

function urlOf(address: string, from?: URL): URL {
  const url = URL.parse(address, from?.href);
  if (url === null) throw forbidden('The URL is not valid.');
  return url;
}

function withoutCredentials(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !['authorization', 'cookie'].includes(name.toLowerCase())),
  );
}

function notPublic({ setting }: Peer): (hostname: string) => CodeHostFailed {
  return (hostname) =>
    forbidden(`The address of ${hostname} is not public. To allow it, list it with its host in setting ${setting}.`);
}

function forbidden(message: string): CodeHostFailed {
  return new CodeHostFailed('forbidden', message);
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

interface Failing {
  readonly signal: AbortSignal;
  readonly isProxied: boolean;
  readonly peer: Peer;
}

function asFailure(error: unknown, { signal, isProxied, peer: { name } }: Failing): CodeHostFailed {
  if (error instanceof CodeHostFailed) return error;
  const { code } = error as { readonly code?: string };
  if (signal.aborted || (code !== undefined && TIMEOUTS.has(code)))
    return new CodeHostFailed('timeout', `The ${name} did not answer in time.`, { cause: error });
  const message = isProxied
    ? `The ${name} cannot be reached through the platform's proxy.`
    : `The ${name} cannot be reached.`;
  return new CodeHostFailed('unreachable', proxyRefusal(error) ?? message, { cause: error });
}
