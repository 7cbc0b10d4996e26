// A company's proxy: tunnels by CONNECT and forwards plain HTTP, resolves names itself, and notes what it was asked.

import { createServer, type IncomingMessage, request as send } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { close, listen } from './http-servers.ts';

export interface ConnectProxy {
  readonly url: string;
  /** `CONNECT host:port` or `GET http://…`, in order. */
  readonly seen: string[];
  /** The headers of each. */
  readonly headers: IncomingMessage['headers'][];
  /** Answers with another status than 200; `silent` never answers. */
  fault: number | 'silent' | undefined;
  close(): Promise<void>;
}

/** All names are this machine. */
export async function startConnectProxy(): Promise<ConnectProxy> {
  const sockets = new Set<Duplex>();
  const server = createServer((request, response) => {
    proxy.seen.push(`${request.method} ${request.url}`);
    proxy.headers.push(request.headers);
    const { port, pathname, search } = new URL(request.url ?? '/', 'http://none.invalid');
    const options = {
      host: '127.0.0.1',
      port,
      path: pathname + search,
      method: request.method,
      headers: request.headers,
    };
    const onward = send(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    proxy.seen.push(`CONNECT ${request.url}`);
    proxy.headers.push(request.headers);
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (proxy.fault === 'silent') return;
    if (proxy.fault !== undefined) {
      socket.end(`HTTP/1.1 ${proxy.fault} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const onward = connect(Number(/:(\d+)$/.exec(request.url ?? '')?.[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    sockets.add(onward);
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  });
  await listen(server, 0, '127.0.0.1');
  const proxy: ConnectProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    headers: [],
    fault: undefined,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return close(server);
    },
  };
  return proxy;
}
