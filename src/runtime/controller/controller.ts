// The workers of one controller: take a key, reconcile it, and decide from the outcome when it comes again.

import { randomUUID } from 'node:crypto';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Conflict, Terminal, Unavailable } from '../errors.ts';
import { type Clock, systemClock } from './clock.ts';
import type { ReconcileResult, RuntimeMetrics } from './metrics.ts';
import type { WorkQueue } from './work-queue.ts';

const TERMINAL_RETRY_MS = 600_000;

export interface Result {
  /** Come again after this long, even if nothing changes. */
  readonly requeueAfterMs?: number;
}

/** Brings one key to what it should be. `log` carries the controller, the key and an id of this one reconcile. */
export type Reconcile = (key: string, signal: AbortSignal, log: Logger) => Promise<Result>;

export interface ControllerOptions {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  /** How many keys are reconciled at once. */
  readonly workers: number;
  /** Number of workers that take only keys of groups that no other worker is processing. */
  readonly workersForNewGroups?: number;
  readonly log: Logger;
  readonly metrics?: RuntimeMetrics;
  readonly clock?: Clock;
  /** After this long a reconcile's signal aborts. It keeps its key until it returns. */
  readonly timeoutMs?: number;
}

export interface Controller {
  /** Takes no more keys and resolves when those under way are done. */
  stop(): Promise<void>;
  /** Stops at once, by aborting the signals of running reconciles. For lost leadership, after which nothing may be written. */
  abort(): void;
  /** Resolves when every worker has ended. Never rejects. */
  readonly done: Promise<void>;
}

/**
 * Starts the workers. What a reconcile's outcome means:
 *
 * - it returns: the key is well, and comes again after `requeueAfterMs`, or when it is added;
 * - `Conflict`: somebody was quicker, and the cache will soon know; comes again soon, without a word in the log;
 * - `Terminal`: trying again soon would not help; logged, comes again when it is added, and after ten minutes, because what mends it may
 *   be watched by nobody;
 * - anything else: logged, comes again, later each time, and not before the server wants to be asked again.
 *
 * No reconcile, whatever it throws, ends the process or keeps another key from its turn.
 */
export function startController(options: ControllerOptions): Controller {
  const { name, queue, reconcile, metrics, clock = systemClock, timeoutMs = 120_000 } = options;
  const controllerLog = options.log.child({ controller: name });
  const underWay = new Set<AbortController>();
  let aborted = false;

  async function work(forNewGroups: boolean): Promise<void> {
    const take = (): Promise<string | undefined> => queue.take(forNewGroups);
    for (let key = await take(); key !== undefined; key = await take()) {
      try {
        await handle(key);
      } catch (err) {
        controllerLog.error({ err, key }, 'Worker failed');
      } finally {
        queue.done(key);
      }
      // Where nothing is to be done nothing is waited for: a thousand such reconciles in a row would keep the lease, every
      // watch and every probe waiting.
      await turnOfTheLoop();
    }
  }

  async function handle(key: string): Promise<void> {
    const log = controllerLog.child({ key, reconcileId: randomUUID() });
    const abort = new AbortController();
    underWay.add(abort);
    if (aborted) abort.abort();
    const cancelTimeout = clock.schedule(timeoutMs, () => {
      log.error({ timeoutMs }, 'Reconcile exceeded its time limit, aborting it');
      abort.abort(new Unavailable(`reconcile ${key}: took more than ${timeoutMs} ms`));
    });
    const start = clock.elapsed();
    let result: ReconcileResult;
    try {
      result = settle(queue, key, await reconcile(key, abort.signal, log));
    } catch (error) {
      result = aborted ? settleAborted(error, log) : settleFailure(queue, key, error, log);
    } finally {
      cancelTimeout();
      underWay.delete(abort);
    }
    metrics?.reconciled(name, result, (clock.elapsed() - start) / 1000);
  }

  const { workersForNewGroups = 0 } = options;
  const workers = Array.from({ length: options.workers }, (_, index) => work(index < workersForNewGroups));
  const done = Promise.all(workers).then(() => undefined);
  return {
    done,
    async stop() {
      await queue.shutDown();
      await done;
    },
    abort() {
      aborted = true;
      void queue.shutDown();
      for (const abort of underWay) abort.abort();
    },
  };
}

function settle(queue: WorkQueue, key: string, { requeueAfterMs }: Result): ReconcileResult {
  queue.forget(key);
  if (requeueAfterMs === undefined) return 'done';
  queue.addAfter(key, requeueAfterMs);
  return 'requeued';
}

function settleAborted(error: unknown, log: Logger): ReconcileResult {
  log.debug({ err: error }, 'Reconcile aborted, because this process no longer leads');
  return 'error';
}

function settleFailure(queue: WorkQueue, key: string, error: unknown, log: Logger): ReconcileResult {
  if (error instanceof Conflict) {
    log.debug({ err: error, waitMs: queue.addBackingOff(key) }, 'Reconcile met a conflicting write, will retry');
    return 'conflict';
  }
  if (error instanceof Terminal) {
    queue.forget(key);
    queue.addAfter(key, TERMINAL_RETRY_MS);
    log.error({ err: error, waitMs: TERMINAL_RETRY_MS }, 'Reconcile failed, waiting for a change');
    return 'terminal';
  }
  const asked = error instanceof Unavailable ? error.retryAfterMs : undefined;
  const waitMs = Math.round(queue.addBackingOff(key, asked));
  log.error({ err: error, waitMs, failures: queue.failures(key) }, 'Reconcile failed, will retry');
  return 'error';
}
