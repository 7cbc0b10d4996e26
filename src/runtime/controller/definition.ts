// A controller as a value, and all controllers of a process as one thing to start, wake and stop.

import { present } from '../json-value.ts';
import type { Logger } from '../logger.ts';
import { type Controller, type Reconcile, startController } from './controller.ts';
import type { RuntimeMetrics } from './metrics.ts';
import { endAll } from './store.ts';
import { groupByNamespace, makeWorkQueue, type WorkQueue } from './work-queue.ts';

export interface Begun {
  readonly reconcile: Reconcile;
  /** Enqueues the keys that there are, and from then on those that a change concerns. Returns a function that ends it. */
  wake(): () => void;
}

export interface ControllerDefinition<Context> {
  /** The name of its queue, in logs and metrics. */
  readonly name: string;
  /** How many keys are reconciled side by side; 1 if absent. */
  readonly workers?: number | ((context: Context) => number);
  /** How many of its workers take only keys of namespaces that no other worker is busy with. */
  readonly workersForNewGroups?: (context: Context) => number;
  /** Longest delay after failures of a key; five minutes if absent. */
  readonly maxDelayMs?: number;
  /** Begins when this process leads. Returns undefined where the platform does not need the controller. */
  begin(context: Context, queue: WorkQueue): Begun | undefined;
}

export interface RunOptions {
  readonly backoffMs: number;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
}

export interface RunningControllers extends Pick<Controller, 'stop' | 'abort'> {
  /** To be called when all caches are listed. Returns a function that ends it. */
  wake(): () => void;
}

/** A key that changes rarely is reconciled immediately, one that changes constantly a few times a second. */
const PACE = { intervalMs: 200, burst: 3 };

/** Starts all of them; `enqueue` of the context that `contextOf` makes adds a key to the queue of another one. */
export function runControllers<Context>(
  definitions: readonly ControllerDefinition<Context>[],
  contextOf: (enqueue: (controller: string, key: string) => void) => Context,
  { backoffMs, log, metrics }: RunOptions,
): RunningControllers {
  const queues = new Map<string, WorkQueue>();
  const context = contextOf((controller, key) => queues.get(controller)?.add(key));
  const running = definitions.flatMap(({ name, workers = 1, workersForNewGroups, maxDelayMs, begin }) => {
    const delays = { baseDelayMs: backoffMs, ...present({ maxDelayMs }) };
    const queue = makeWorkQueue({ name, ...delays, groupOf: groupByNamespace, ...PACE, metrics });
    const begun = begin(context, queue);
    if (begun === undefined) return [];
    queues.set(name, queue);
    const controller = startController({
      name,
      queue,
      workers: typeof workers === 'number' ? workers : workers(context),
      ...(workersForNewGroups && { workersForNewGroups: workersForNewGroups(context) }),
      reconcile: begun.reconcile,
      log,
      metrics,
    });
    return [{ controller, wake: begun.wake }];
  });
  return {
    wake: () => endAll(running.map(({ wake }) => wake())),
    stop: async () => {
      await Promise.all(running.map(({ controller }) => controller.stop()));
    },
    abort: () => {
      for (const { controller } of running) controller.abort();
    },
  };
}
