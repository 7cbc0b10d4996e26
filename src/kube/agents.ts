// The connections of a client. HTTP/1.1 with keep-alive, not HTTP/2: a connection that dies takes one request with it
// instead of all of them, there is no GOAWAY and no stream limit to handle, and a pool bounds what we have in flight.
// Watches have an agent of their own, so that no number of them can keep a request waiting for a socket; so have the
// streams of pods' logs, which are bounded.

import { Agent, type Dispatcher } from 'undici';
import type { TlsSettings } from './config.ts';

/** As client-go: below the idle timeout of the load balancers that stand before API servers. */
const TCP_KEEP_ALIVE_MS = 30_000;
/**
 * So long a connection is kept for the next request: to open another costs more than most requests do. Well below the 90 s
 * after which an API server closes it, and the minute or more of load balancers, which would be under a request.
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

/** The agents, kept as long as CA and client certificate stay what they are; a rotation makes new ones. */
export function makeConnections(maxConnections: number): Connections {
  let ownPair: AgentPair | undefined;
  let foreignPair: AgentPair | undefined;

  function make(tls: TlsSettings): AgentPair {
    const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
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
    // What is under way over the old connections ends in peace; nothing new is sent over them.
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

async function closeAgents(pair: AgentPair, how: 'close' | 'destroy'): Promise<void> {
  await Promise.allSettled([pair.requests[how](), pair.watches[how](), pair.streams[how]()]);
}

function sameTls(a: TlsSettings, b: TlsSettings): boolean {
  return (
    a.ca === b.ca &&
    a.cert === b.cert &&
    a.key === b.key &&
    a.servername === b.servername &&
    a.rejectUnauthorized === b.rejectUnauthorized
  );
}
