// The server of the facade: TLS, time limits, and a shutdown that finishes current requests.

import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { limitBody } from '../runtime/http/slow-bodies.ts';
import type { CertificatePair, LiveCertificate } from '../runtime/http/tls-certificate.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** New connections get a renewed certificate. */
  readonly tls?: LiveCertificate;
  /** Allows plain HTTP on addresses other than loopback, behind a proxy that terminates TLS. */
  readonly insecure?: boolean;
  /** Other time limits than LIMITS; for tests. */
  readonly limits?: Partial<typeof LIMITS>;
}

export interface Serving {
  readonly url: string;
  readonly port: number;
  /** Accepts no more requests, and waits at most ten seconds for current ones. */
  close(): Promise<void>;
}

/** Milliseconds. */
const LIMITS = {
  /** Time limit for receiving a request: a slow sender must not hold a connection forever. */
  requestTimeout: 30_000,
  /** Milliseconds within which an upload to a signed address must end. */
  uploadTimeout: 310_000,
  headersTimeout: 15_000,
  /** Longer than load balancers keep idle connections, so that the server does not close a connection while a request is sent. */
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5000,
  /**
   * A connection without traffic in either direction is closed, because unread answers need memory. A request whose answer has not
   * begun keeps its connection: it has a time limit of its own, which is longer where the answer waits for something.
   */
  idleTimeout: 70_000,
};
const PATIENCE_MS = 10_000;

/** Throws an Error if callers' tokens would be sent unencrypted. */
export async function serve(
  app: FastifyInstance,
  { host, port, tls, insecure = false, limits: otherLimits }: ServeOptions,
): Promise<Serving> {
  if (tls === undefined && !insecure && !isLoopback(host)) {
    throw new Error(
      `Plain HTTP on ${host} is not allowed, because requests contain cluster tokens. Configure a certificate and key, or set http.insecure behind a proxy that terminates TLS.`,
    );
  }
  await app.ready();
  const limits = { ...LIMITS, ...otherLimits };
  // Node's own answer to a request without Host has no body.
  const options = { ...limits, requestTimeout: limits.uploadTimeout, requireHostHeader: false };
  const newest = new WeakMap<Socket, ServerResponse>();
  const route = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      return answerUnreadable({ code: 'NO_HOST' }, request.socket);
    newest.set(request.socket, response);
    limitBody(request, limits.requestTimeout, () =>
      answerUnreadable({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, request.socket),
    );
    app.routing(request, response);
  };
  const secure =
    tls &&
    createHttpsServer({ ...options, ...secureContext(tls.current) }, (request, response) => {
      response.setHeader('strict-transport-security', 'max-age=31536000');
      route(request, response);
    });
  const server: Server | HttpsServer = secure ?? createHttpServer(options, route);
  const unfollow = tls?.follow((pair) => secure?.setSecureContext(secureContext(pair)));
  if (unfollow) server.once('close', unfollow);
  server.on('clientError', answerUnreadable);
  server.on('checkExpectation', ({ socket }) => answerUnreadable({ code: 'EXPECTATION' }, socket));
  server.setTimeout(limits.idleTimeout, (socket) => {
    if (!isAwaited(newest.get(socket), socket)) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${isIPv6(host) ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    close: () => closeGently(server, app),
  };
}

/** Whether the client waits for an answer that has not begun, or for its body to be read, and has read everything else. */
function isAwaited(newest: ServerResponse | undefined, socket: Socket): boolean {
  if (newest === undefined || newest.headersSent || socket.writableLength > 0) return false;
  const { complete, readableFlowing, readableLength } = newest.req;
  return complete || (readableFlowing !== true && readableLength > 0);
}

function secureContext({ cert, key }: CertificatePair): { cert: Buffer; key: Buffer; minVersion: 'TLSv1.2' } {
  return { cert, key, minVersion: 'TLSv1.2' };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

async function closeGently(server: Server | HttpsServer, app: FastifyInstance): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // An idle connection would keep the server open until its keep-alive timeout.
  const sweep = setInterval(() => server.closeIdleConnections(), 100);
  const giveUp = setTimeout(() => server.closeAllConnections(), PATIENCE_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(giveUp);
  await app.close();
}

type Refusal = readonly [status: string, detail: string];

/** By the codes of Node.js' errors, and by two of our own. */
const UNREADABLE: Readonly<Partial<Record<string, Refusal>>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
  NO_HOST: ['400 Bad Request', 'A request of HTTP/1.1 needs the header Host.'],
  EXPECTATION: ['417 Expectation Failed', 'The only supported value of the header Expect is 100-continue.'],
};
const UNCLEAR_LENGTH: Refusal = [
  '400 Bad Request',
  'The length of the body is ambiguous. Send one Content-Length, or Transfer-Encoding: chunked.',
];
const NOT_HTTP: Refusal = ['400 Bad Request', 'This is not an HTTP/1.1 request. With TLS, use https.'];

/** Fastify does not see input that is not HTTP. The answer has the same form as others. */
function answerUnreadable({ code = '' }: { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const isLength = /_(CONTENT_LENGTH|TRANSFER_ENCODING)$/.test(code);
  const [status, detail] = UNREADABLE[code] ?? (isLength ? UNCLEAR_LENGTH : NOT_HTTP);
  const body = JSON.stringify({ detail });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${randomUUID()}\r\nConnection: close\r\n\r\n${body}`,
  );
}
