// The sample server that the test cluster deploys: keeps the platform's pod contract, stores what it is sent in
// PostgreSQL, and hands work to queue workers through Redis. Here its parts are put together and taken down.
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { BadEnvironment, type Config, readConfig } from './config.ts';
import { makeServer } from './http.ts';
import { errorText, makeLog } from './log.ts';
import { openQueue } from './queue.ts';
import { makeRoutes } from './routes.ts';
import { openStore } from './store.ts';
import { startWorker, type Worker } from './worker.ts';

/** A pod's default grace is 30 s; those who test a rollout should not wait for it. */
const drainMs = 4500;

function start(config: Config): void {
  const log = makeLog({ pod: config.pod, role: config.role, revision: config.revision });
  const store = openStore(config.postgresUri, log);
  const queue = openQueue(config.redisUri, log);
  const stopping = new AbortController();
  let ready = false;
  let worker: Worker | undefined;

  const route = makeRoutes({
    config,
    env: process.env,
    store,
    queue,
    isReady: () => ready && !stopping.signal.aborted,
    exit(code, message) {
      log('error', 'Told to exit', { code, reason: message });
      // After the answer has gone out.
      setTimeout(() => die(code, message), 50);
    },
  });
  const server = makeServer(route, log);
  server.on('error', (error) => die(1, `listen on port ${config.port}: ${errorText(error)}`));
  server.listen(config.port, () => log('info', 'Listening', { port: config.port }));

  async function becomeReady(): Promise<void> {
    await untilDone('Database does not answer yet', () => store.prepare());
    // The client itself tries again, until it is connected or closed.
    await untilDone('Redis does not answer yet', () => queue.connect());
    if (stopping.signal.aborted) return;
    if (config.jobs > 0) worker = startWorker(config, store, queue, log);
    ready = true;
    log('info', 'Ready', { jobs: config.jobs });
  }

  async function untilDone(complaint: string, attempt: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await attempt();
        return;
      } catch (error) {
        log('warn', complaint, { error: errorText(error) });
        await sleep(500, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function stop(signal: string): Promise<void> {
    if (stopping.signal.aborted) return;
    log('info', 'Stopping', { signal });
    stopping.abort();
    // What is still under way then is queued again by the workers that stay.
    setTimeout(() => process.exit(0), drainMs).unref();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeIdleConnections();
    await Promise.all([closed, worker?.stop()]);
    queue.close();
    await store.close();
    log('info', 'Stopped');
    process.exit(0);
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  void becomeReady();
}

/** Kubernetes shows what stands in this file as the reason of a container's end. */
function die(code: number, message: string): never {
  try {
    writeFileSync('/dev/termination-log', message);
  } catch {
    // Outside a pod there is none.
  }
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

function main(): void {
  const crash = process.env['SAMPLE_CRASH'];
  if (crash) die(3, crash);
  try {
    start(readConfig(process.env, hostname()));
  } catch (error) {
    if (error instanceof BadEnvironment) die(2, error.message);
    throw error;
  }
}

main();
