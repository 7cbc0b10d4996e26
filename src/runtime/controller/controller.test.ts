import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { AlreadyExists, Conflict, Terminal, Unavailable } from '../errors.ts';
import { type Reconcile, startController } from './controller.ts';
import { makeMetrics } from './metrics.ts';
import { groupByNamespace, makeWorkQueue } from './work-queue.ts';

function aController(reconcile: Reconcile, workers = 1, workersForNewGroups = 0) {
  const lines: { level: number; msg: string }[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const clock = makeFakeClock();
  const metrics = makeMetrics();
  const queue = makeWorkQueue({ name: 'test', clock, random: () => 0, groupOf: groupByNamespace });
  const controller = startController({
    name: 'test',
    queue,
    reconcile,
    workers,
    workersForNewGroups,
    log,
    clock,
    metrics,
    timeoutMs: 60_000,
  });
  return { clock, queue, controller, lines, metrics };
}

/** Fails the first time, is well after. */
function failingOnce(error: unknown, times: number[], now: () => number): Reconcile {
  return async () => {
    times.push(now());
    if (times.length === 1) throw error;
    return {};
  };
}

describe('controller', () => {
  it('counts each reconcile by its result', async () => {
    const outcomes: Reconcile[] = [
      async () => ({}),
      async () => ({ requeueAfterMs: 1000 }),
      () => Promise.reject(new Conflict('x')),
      () => Promise.reject(new Terminal('x')),
      () => Promise.reject(new TypeError('x')),
    ];
    const { queue, controller, metrics } = aController((key, ...more) => {
      const outcome = outcomes[Number(key)];
      return outcome ? outcome(key, ...more) : Promise.resolve({});
    });
    for (const key of outcomes.keys()) queue.add(String(key));
    const results = ['done', 'requeued', 'conflict', 'terminal', 'error'];
    await expect
      .poll(async () => (await metrics.registry.metrics()).match(/^davit_reconcile_total.*$/gm)?.toSorted())
      .toEqual(results.map((result) => `davit_reconcile_total{controller="test",result="${result}"} 1`).toSorted());
    await controller.stop();
  });

  it('leaves timers and connections their turn between reconciles that wait for nothing', async () => {
    let reconciled = 0;
    const { queue, controller } = aController(async () => {
      reconciled += 1;
      return {};
    }, 8);
    for (let key = 0; key < 1000; key += 1) queue.add(`t/${key}`);
    const seen = await new Promise<number>((resolve) => setImmediate(() => resolve(reconciled)));
    expect(seen).toBeLessThanOrEqual(8);
    await expect.poll(() => reconciled).toBe(1000);
    await controller.stop();
  });

  it.each([
    {
      name: 'Conflict',
      error: new Conflict('x'),
      again: 200,
      level: 20,
      msg: 'Reconcile met a conflicting write, will retry',
    },
    { name: 'any error', error: new TypeError('x'), again: 200, level: 50, msg: 'Reconcile failed, will retry' },
    {
      name: 'AlreadyExists',
      error: new AlreadyExists('x'),
      again: 200,
      level: 50,
      msg: 'Reconcile failed, will retry',
    },
    { name: 'no error at all', error: 'thrown', again: 200, level: 50, msg: 'Reconcile failed, will retry' },
    {
      name: 'Unavailable with Retry-After',
      error: new Unavailable('x', { retryAfterMs: 9000 }),
      again: 9000,
      level: 50,
      msg: 'Reconcile failed, will retry',
    },
    {
      name: 'Terminal',
      error: new Terminal('x'),
      again: 600_000,
      level: 50,
      msg: 'Reconcile failed, waiting for a change',
    },
  ])('$name', async ({ error, again, level, msg }) => {
    const times: number[] = [];
    const harness = aController((...args) => failingOnce(error, times, () => harness.clock.elapsed())(...args));
    harness.queue.add('a');
    await harness.clock.advance(600_000);
    expect(times).toEqual([0, again]);
    expect(harness.lines.map((line) => [line.level, line.msg])).toEqual([[level, msg]]);
    expect(harness.queue.failures('a')).toBe(0);
  });

  it('comes again when a reconcile asks for it', async () => {
    const times: number[] = [];
    const harness = aController(async () => {
      times.push(harness.clock.elapsed());
      return times.length < 3 ? { requeueAfterMs: 5000 } : {};
    });
    harness.queue.add('a');
    await harness.clock.advance(60_000);
    expect(times).toEqual([0, 5000, 10_000]);
    expect(await harness.metrics.registry.metrics()).toContain(
      'davit_reconcile_total{controller="test",result="requeued"} 2',
    );
  });

  it('keeps a worker for groups that no other is busy with', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const { queue, controller } = aController(
      (key) => {
        begun.push(key);
        return new Promise((resolve) => ends.push(() => resolve({})));
      },
      3,
      1,
    );
    for (const key of ['big/1', 'big/2', 'big/3', 'small/1']) queue.add(key);
    await expect.poll(() => begun).toEqual(['big/1', 'big/2', 'small/1']);
    queue.add('other/1');
    // All three are busy; the one that small had goes to the next new group, and not to big.
    ends[2]?.();
    await expect.poll(() => begun.at(-1)).toBe('other/1');
    ends[3]?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(begun).toHaveLength(4);
    ends[0]?.();
    await expect.poll(() => begun.at(-1)).toBe('big/3');
    for (const end of ends) end();
    await controller.stop();
  });

  it('lets no poisoned key keep the others from their turn', async () => {
    const seen = new Set<string>();
    const { clock, queue } = aController((key) => {
      seen.add(key);
      if (key === 'poison') throw new Error('sync throw');
      return Promise.resolve({});
    });
    for (const key of ['poison', 'b', 'c']) queue.add(key);
    await clock.advance(10_000);
    queue.add('d');
    await expect.poll(() => [...seen]).toEqual(['poison', 'b', 'c', 'd']);
  });

  it('stops after what is under way, whose signal does not abort', async () => {
    let finish = (): void => {};
    let signalled = false;
    const { clock, queue, controller } = aController(async (_key, signal) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      signalled = signal.aborted;
      return {};
    });
    queue.add('a');
    queue.add('b');
    await clock.advance(0);
    let stopped = false;
    const stop = controller.stop().then(() => {
      stopped = true;
    });
    await clock.advance(0);
    expect(stopped).toBe(false);
    finish();
    await stop;
    expect(signalled).toBe(false);
  });

  it.each([
    { name: 'lost leadership', act: 'abort' },
    { name: 'a reconcile that takes too long', act: 'timeout' },
  ])('aborts the signal for $name', async ({ act }) => {
    const { clock, queue, controller } = aController(
      (_key, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    queue.add('a');
    await clock.advance(0);
    if (act === 'abort') {
      controller.abort();
      await controller.done;
      return;
    }
    await clock.advance(60_000);
    expect(queue.failures('a')).toBe(1);
  });
});
