// The connections of a client. HTTP/1.1 with keep-alive, not HTTP/2: a broken connection fails one request and not all of
// them, there is no GOAWAY and no stream limit to handle, and the pool limits the requests in flight. Watches have a separate
// agent, so that requests never wait for their sockets; so have the streams of pods' logs, whose number is limited.

import { createSecureContext, type SecureContext } from 'node:tls';
import { Agent, type Dispatcher } from 'undici';
import type { TlsSettings } from './config.ts';

/** As in client-go: below the idle timeout of load balancers in front of API servers. */
const TCP_KEEP_ALIVE_MS = 30_000;
/**
 * Idle time after which a connection is closed. Opening a new one costs more than most requests. The value is well below the 90 s
 * after which an API server closes it and the minute or more of load balancers, which could close it during a request.
 */
const KEPT_IDLE_MS = 30_000;

const MOST_STREAMS = 8;

export interface AgentPair {
  readonly tls: TlsSettings;
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
  readonly streams: Dispatcher;
}

export interface Connections {
  own(tls: TlsSettings): AgentPair;
  foreign(tls: TlsSettings): AgentPair;
  close(): Promise<void>;
}

/** The agents, kept until CA or client certificate are rotated. */
export function makeConnections(maxConnections: number): Connections {
  let ownPair: AgentPair | undefined;
  let foreignPair: AgentPair | undefined;

  function make(tls: TlsSettings): AgentPair {
    const connect = { ...tls, ...secureContextOf(tls), keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    const common = { connect, allowH2: false, pipelining: 1, keepAliveTimeout: KEPT_IDLE_MS };
    return {
      tls,
      requests: new Agent({ ...common, connections: maxConnections }),
      watches: new Agent(common),
      streams: new Agent({ ...common, connections: MOST_STREAMS }),
    };
  }

  function current(pair: AgentPair | undefined, tls: TlsSettings): AgentPair {
    if (pair !== undefined && sameTls(pair.tls, tls)) return pair;
    // Requests in flight complete over the old connections; new ones use the new connections.
    if (pair !== undefined) void closeAgents(pair, 'close');
    return make(tls);
  }

  return {
    own(tls) {
      ownPair = current(ownPair, tls);
      return ownPair;
    },
    foreign(tls) {
      if (tls.cert === undefined && tls.key === undefined) return this.own(tls);
      const { cert: _cert, key: _key, ...anonymous } = tls;
      foreignPair = current(foreignPair, anonymous);
      return foreignPair;
    },
    async close() {
      const pairs = [ownPair, foreignPair].filter((pair) => pair !== undefined);
      await Promise.all(pairs.map((pair) => closeAgents(pair, 'destroy')));
    },
  };
}

/** One for all connections: each would otherwise parse the CA and keep what it was parsed to, 75 kB. */
function secureContextOf(tls: TlsSettings): { readonly secureContext?: SecureContext } {
  // Node parses its own list of CAs once for all contexts.
  if (tls.ca === undefined) return {};
  try {
    return { secureContext: createSecureContext(tls) };
  } catch {
    // A CA that cannot be parsed is reported by the connection, as a server that cannot be reached.
    return {};
  }
}

async function closeAgents(pair: AgentPair, how: 'close' | 'destroy'): Promise<void> {
  await Promise.allSettled([pair.requests[how](), pair.watches[how](), pair.streams[how]()]);
}

function sameTls(a: TlsSettings, b: TlsSettings): boolean {
  return (
    a.ca === b.ca &&
    a.cert === b.cert &&
    a.key === b.key &&
    a.servername === b.servername &&
    a.rejectUnauthorized === b.rejectUnauthorized &&
    a.socketPath === b.socketPath
  );
}
