// Which requests go through a company's proxy, and the connections through it. A proxy resolves names itself, so no address is
// checked for what goes through it: only the platform's administrator chooses proxies, and callers check the URL before.

import { isIP } from 'node:net';
import { type Agent, Pool, ProxyAgent } from 'undici';
import { blockListOf, isIn } from './public-addresses.ts';

export interface Proxies {
  /** http://HOST:PORT, of requests to http:// and https:// URLs. */
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  /** `example.com` with its subdomains, `.example.com` without the name itself, addresses and ranges. */
  readonly noProxy: readonly string[];
}

/** The proxy through which a URL is requested. Undefined: it is connected to directly. */
export function proxyFor({ protocol, hostname }: URL, proxies: Proxies | undefined): string | undefined {
  if (proxies === undefined) return undefined;
  const proxy = protocol === 'https:' ? proxies.httpsProxy : proxies.httpProxy;
  return proxy === undefined || isDirect(hostname, proxies.noProxy) ? undefined : proxy;
}

/** The rule that git, curl and Go's programs have, so that Davit and builds take the same way. */
function isDirect(hostname: string, noProxy: readonly string[]): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  if (isIP(host) !== 0) return isIn(blockListOf(noProxy.filter(isAddress)), host);
  return noProxy.some((entry) => {
    if (isAddress(entry)) return false;
    return entry.startsWith('.') ? host.endsWith(entry) : host === entry || host.endsWith(`.${entry}`);
  });
}

function isAddress(entry: string): boolean {
  return isIP(entry.split('/', 1)[0] ?? '') !== 0;
}

export interface ProxiedOptions {
  readonly ca?: string | undefined;
  readonly connectTimeoutMs: number;
  readonly timeouts: Pick<Agent.Options, 'connections' | 'maxHeaderSize' | 'headersTimeout' | 'bodyTimeout'>;
}

/** Connections through a proxy: by CONNECT for https, so that TLS is with the host itself. */
export function proxyAgent(uri: string, { ca, connectTimeoutMs, timeouts }: ProxiedOptions): ProxyAgent {
  return new ProxyAgent({
    ...timeouts,
    uri,
    connectTimeout: connectTimeoutMs,
    ...(ca !== undefined && { requestTls: { ca } }),
    // The connections to the proxy itself have the limits too, or one that is silent would be waited for.
    clientFactory: (origin, options) => new Pool(origin, { ...options, ...timeouts }),
    factory: (origin, options) => new Pool(origin, { ...(options as Pool.Options), ...timeouts }),
  });
}

/** What is said of a connection that the proxy did not make; undefined for other errors. */
export function proxyRefusal(error: unknown): string | undefined {
  const { message = '' } = error as { readonly message?: string };
  const [, status] = /^Proxy response \((\d+)\)/.exec(message) ?? [];
  return status === undefined ? undefined : `The platform's proxy refused the connection: it answered ${status}.`;
}
