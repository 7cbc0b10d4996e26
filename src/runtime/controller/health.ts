// The port for kubelet and Prometheus: /livez, /readyz and /metrics. Not for users, and not part of the facade.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Named checks. One that is well returns undefined; a string, or a throw, says what is wrong. */
export type Checks = Readonly<Record<string, () => string | undefined | Promise<string | undefined>>>;

export interface HealthOptions {
  readonly host?: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Failing means: restart me. Nothing here may depend on the API server, or its outage restarts everyone. */
  readonly live?: Checks;
  /** Failing means: send me no requests. */
  readonly ready: Checks;
  /** The text that Prometheus reads, as `registry.metrics()` makes it. */
  readonly metrics?: () => Promise<string>;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** A check that hangs is a check that fails, before kubelet's own timeout makes it a mystery. */
const LONGEST_CHECK_MS = 900;

export async function startHealthServer(options: HealthOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    answer(options, request.url ?? '', response).catch(() => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(options: HealthOptions, url: string, response: ServerResponse): Promise<void> {
  const path = url.split('?', 1)[0];
  switch (path) {
    case '/livez':
      return answerChecks(options.live ?? {}, response);
    case '/readyz':
      return answerChecks(options.ready, response);
    case '/metrics': {
      if (options.metrics === undefined) break;
      const text = await options.metrics();
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
      return;
    }
  }
  response.writeHead(404).end('not found\n');
}

async function answerChecks(checks: Checks, response: ServerResponse): Promise<void> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => ({ name, wrong: await outcomeOf(check) })),
  );
  const ok = results.every(({ wrong }) => wrong === undefined);
  const lines = results.map(({ name, wrong }) => (wrong === undefined ? `[+] ${name}` : `[-] ${name}: ${wrong}`));
  response.writeHead(ok ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${[...lines, ok ? 'ok' : 'failed'].join('\n')}\n`);
}

async function outcomeOf(check: () => string | undefined | Promise<string | undefined>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer in ${LONGEST_CHECK_MS} ms`), LONGEST_CHECK_MS);
  });
  try {
    return await Promise.race([check(), timeout]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
