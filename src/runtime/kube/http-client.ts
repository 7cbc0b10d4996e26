// The implementation of KubeClient: plain JSON over undici.

import { type Connections, makeConnections } from './agents.ts';
import type { KubeClient } from './client.ts';
import { makeReads } from './reads.ts';
import { type KubeClientOptions, makeRequests } from './requests.ts';
import { makeWatches } from './watches.ts';
import { makeWrites } from './writes.ts';

export interface HttpKubeClient extends KubeClient {
  /** Closes all connections, including those of `withToken` clients. Requests in flight fail with Unavailable. */
  close(): Promise<void>;
}

/** A client of the server of `access`. Sends nothing before the first call. */
export function makeKubeClient(options: KubeClientOptions): HttpKubeClient {
  const connections = makeConnections(options.maxConnections ?? 32);
  return { ...clientAs(undefined, options, connections), close: connections.close };
}

/** A client with `token`, or with Davit's own credentials if it is absent. */
function clientAs(token: string | undefined, options: KubeClientOptions, connections: Connections): KubeClient {
  const requests = makeRequests(token, options, connections);
  return {
    ...makeReads(requests),
    ...makeWatches(requests, options.onRequest),
    ...makeWrites(requests),
    withToken: (other) => clientAs(other, options, connections),
  };
}
