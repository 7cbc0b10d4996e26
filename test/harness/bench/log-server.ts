// An API server whose pods have written much: everything goes to the real one, but the pods of one namespace and their
// logs, which come from here. In a process of its own, so that it costs none of what is measured.
//
//   node log-server.ts '{"server": "https://...", "ca": "PEM", "namespace": "logs", "pods": 20, "containers": 10, "mebibytes": 4}'
//   prints where it listens, over plain HTTP

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { LAST_LINE_AT, LINE_BYTES, linesOf } from '../../support/log-lines.ts';

export interface LogServer {
  readonly server: string;
  readonly ca: string;
  readonly namespace: string;
  readonly pods: number;
  readonly containers: number;
  /** Of each container. */
  readonly mebibytes: number;
}

const PIECE = 64 * 1024;

function podList({ namespace, pods, containers }: LogServer): string {
  const containerStatuses = Array.from({ length: containers }, (_, n) => ({ name: `c${n}`, containerID: 'x' }));
  const items = Array.from({ length: pods }, (_, n) => ({
    metadata: { name: `pod-${n}`, namespace, creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { containerStatuses },
  }));
  return JSON.stringify({ apiVersion: 'v1', kind: 'PodList', metadata: { resourceVersion: '1' }, items });
}

function serve(options: LogServer): void {
  const { server, ca, namespace, mebibytes } = options;
  const log = linesOf(mebibytes * 1024 * 1024);
  const list = podList(options);
  const agent = new Agent({ ca, keepAlive: true });
  const pods = `/api/v1/namespaces/${namespace}/pods`;

  /** As a kubelet: the last lines, since then, so many bytes of them. */
  function* pieces(query: URLSearchParams): Generator<Buffer> {
    const since = Date.parse(query.get('sinceTime') ?? '1970-01-01T00:00:00Z');
    const lines = Math.max(0, Math.min(Number(query.get('tailLines')), (LAST_LINE_AT - since) / 1000 + 1));
    const begin = Math.max(0, log.length - lines * LINE_BYTES);
    const end = Math.min(log.length, begin + Number(query.get('limitBytes')));
    for (let at = begin; at < end; at += PIECE) yield log.subarray(at, Math.min(at + PIECE, end));
  }

  function pass(from: IncomingMessage, to: ServerResponse): void {
    const onward = request(`${server}${from.url}`, { agent, method: from.method, headers: from.headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      to.flushHeaders();
      answer.pipe(to);
    });
    onward.on('error', () => to.destroy());
    to.on('close', () => onward.destroy());
    from.pipe(onward);
  }

  const http = createServer((from, to) => {
    const url = new URL(from.url ?? '', server);
    if (url.pathname === pods && url.searchParams.get('watch') === null) {
      to.writeHead(200, { 'content-type': 'application/json' }).end(list);
    } else if (url.pathname.startsWith(`${pods}/`) && url.pathname.endsWith('/log')) {
      to.writeHead(200, { 'content-type': 'text/plain' });
      Readable.from(pieces(url.searchParams)).pipe(to);
    } else pass(from, to);
  });
  http.requestTimeout = 0;
  http.listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${(http.address() as AddressInfo).port}\n`);
  });
}

if (import.meta.main) serve(JSON.parse(process.argv[2] ?? '{}') as LogServer);
