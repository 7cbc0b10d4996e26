// The API server behind the proxy, and for a while one that lags behind it.

import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import type { Answer } from './answers.ts';
import { classify, READS } from './requests.ts';

export interface Upstream {
  /** Resolves with the headers of the answer. */
  open(request: IncomingMessage, body: Buffer): Promise<IncomingMessage>;
  /** Resolves with the whole answer. */
  ask(request: IncomingMessage, body: Buffer): Promise<Answer>;
  /** Lists and watches go to this server, and lists ask it for whatever it remembers. */
  turnTo(server: string | undefined): void;
  close(): void;
}

export function makeUpstream(server: string, ca: string): Upstream {
  const upstream = new URL(server);
  const agent = new Agent({ keepAlive: true, ca, maxSockets: 256 });
  let lagging: URL | undefined;

  function open(request: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { host: _, ...headers } = request.headers;
      const { verb } = classify(request);
      const { hostname: host, port } = lagging !== undefined && READS.has(verb) ? lagging : upstream;
      const path = lagging !== undefined && verb === 'list' ? fromMemory(request.url) : request.url;
      const outgoing = httpsRequest({ host, port, agent, method: request.method, path, headers }, resolve);
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  return {
    open,
    async ask(request, body) {
      const response = await open(request, body);
      return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
    },
    turnTo(other) {
      lagging = other === undefined ? undefined : new URL(other);
    },
    close: () => agent.destroy(),
  };
}

/** The same list, of whatever version the server has at hand; what Davit asks for is the newest. */
function fromMemory(path: string | undefined): string {
  const url = new URL(path ?? '/', 'https://x');
  url.searchParams.set('resourceVersion', '0');
  url.searchParams.delete('limit');
  return `${url.pathname}${url.search}`;
}
