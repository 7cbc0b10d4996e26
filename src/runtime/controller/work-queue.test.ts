import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { groupByNamespace, makeWorkQueue, type WorkQueueOptions } from './work-queue.ts';

function aQueue(options: Partial<WorkQueueOptions> = {}) {
  const clock = makeFakeClock();
  return { clock, queue: makeWorkQueue({ name: 'test', clock, random: () => 0, ...options }) };
}

describe('work queue', () => {
  it('hands out a key once, however often it was added', async () => {
    const { queue } = aQueue();
    queue.add('a');
    queue.add('a');
    queue.add('b');
    expect(queue.length).toBe(2);
    expect([await queue.take(), await queue.take(), queue.length]).toEqual(['a', 'b', 0]);
  });

  it('makes a key that arrives while it is processed wait until it is done', async () => {
    const { queue } = aQueue();
    queue.add('a');
    await queue.take();
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(await queue.take()).toBe('a');
  });

  it('wakes a worker that was waiting', async () => {
    const { queue } = aQueue();
    const taken = queue.take();
    queue.add('a');
    expect(await taken).toBe('a');
  });

  it.each([
    { name: 'the earlier of two, set first', delays: [1000, 5000] },
    { name: 'the earlier of two, set second', delays: [5000, 1000] },
  ])('keeps $name', async ({ delays }) => {
    const { clock, queue } = aQueue();
    for (const delay of delays) queue.addAfter('a', delay);
    clock.advanceSync(999);
    expect(queue.length).toBe(0);
    clock.advanceSync(1);
    expect(queue.length).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('backs off exponentially up to its limit, and starts again after forget', async () => {
    const { queue, clock } = aQueue({ maxDelayMs: 1000 });
    const delays = [];
    for (let failure = 0; failure < 5; failure += 1) {
      const delay = queue.addBackingOff('a');
      delays.push(delay);
      await clock.advance(delay);
    }
    expect(delays).toEqual([200, 400, 800, 1000, 1000]);
    expect(queue.failures('a')).toBe(5);
    queue.forget('a');
    expect(queue.addBackingOff('a')).toBe(200);
    expect(queue.addBackingOff('a', 7000)).toBe(7000);
  });

  it('does not wait longer for failures of tries that something else has called for', async () => {
    const { queue, clock } = aQueue();
    expect(queue.addBackingOff('a')).toBe(200);
    await clock.advance(50);
    // In an outage every change of a child wakes its record, which fails again.
    const delays = Array.from({ length: 12 }, () => queue.addBackingOff('a'));
    expect(new Set(delays)).toEqual(new Set([150]));
    expect(queue.failures('a')).toBe(1);
    await clock.advance(149);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
    expect(queue.addBackingOff('a')).toBe(400);
    expect(queue.failures('a')).toBe(2);
  });

  it('backs off also where the key is to come for another reason, sooner or later', async () => {
    const { queue, clock } = aQueue();
    queue.addAfter('a', 60_000);
    expect(queue.addBackingOff('a')).toBe(200);
    queue.addAfter('a', 100);
    await clock.advance(100);
    expect(await queue.take()).toBe('a');
    expect(queue.addBackingOff('a')).toBe(100);
    queue.done('a');
    await clock.advance(100);
    expect(await queue.take()).toBe('a');
  });

  it('lets groups take turns', async () => {
    const { queue } = aQueue({ groupOf: groupByNamespace });
    for (const key of ['big/1', 'big/2', 'big/3', 'small/1', 'other/1']) queue.add(key);
    const order = [];
    while (queue.length > 0) order.push(await queue.take());
    expect(order).toEqual(['big/1', 'small/1', 'other/1', 'big/2', 'big/3']);
  });

  it('keeps takers of new groups for groups none of whose keys is taken', async () => {
    const { queue } = aQueue({ groupOf: groupByNamespace });
    const got: (string | undefined)[] = [];
    const note = (key: string | undefined): void => void got.push(key);
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    void queue.take(true).then(note);
    void queue.take().then(note);
    for (const key of ['big/1', 'big/2', 'small/1']) queue.add(key);
    await turn();
    // The first goes to whoever takes anything.
    expect(got).toEqual(['big/1', 'small/1']);
    void queue.take(true).then(note);
    await turn();
    expect([got.length, queue.length]).toEqual([2, 1]);
    queue.done('small/1');
    await turn();
    expect(got.length).toBe(2);
    queue.done('big/1');
    await turn();
    expect([got.at(-1), queue.length]).toEqual(['big/2', 0]);
    void queue.take(true).then(note);
    const down = queue.shutDown();
    queue.done('big/2');
    await down;
    await turn();
    expect(got.at(-1)).toBeUndefined();
  });

  it('shuts down when what was taken is done, and hands out nothing more', async () => {
    const { queue, clock } = aQueue();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await queue.take();
    let over = false;
    const down = queue.shutDown().then(() => {
      over = true;
    });
    queue.add('a');
    await clock.advance(1000);
    expect(over).toBe(false);
    queue.done('a');
    await down;
    expect(await queue.take()).toBeUndefined();
    expect(queue.length).toBe(0);
  });

  it('ends the takes that wait when it is shut down', async () => {
    const { queue } = aQueue();
    const taken = queue.take();
    await queue.shutDown();
    expect(await taken).toBeUndefined();
  });

  it('a key that never rests is handed out at once for a burst, and then once per interval; others do not wait', async () => {
    const { clock, queue } = aQueue({ intervalMs: 200, burst: 3 });
    const at: number[] = [];
    const work = async (): Promise<void> => {
      for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
        if (key === 'a') at.push(clock.elapsed());
        // What happens meanwhile.
        if (key === 'a') queue.add('a');
        queue.done(key);
      }
    };
    void work();
    queue.add('a');
    await clock.advance(1000);
    expect(at).toEqual([0, 0, 0, 200, 400, 600, 800, 1000]);
    let taken = false;
    queue.add('b');
    void queue.take().then(() => (taken = true));
    await clock.advance(0);
    expect(taken || queue.length === 0).toBe(true);
    await queue.shutDown();
  });

  it('a key that has rested is handed out at once again', async () => {
    const { clock, queue } = aQueue({ intervalMs: 200, burst: 1 });
    queue.add('a');
    queue.done((await queue.take()) ?? '');
    await clock.advance(200);
    queue.add('a');
    expect(queue.length).toBe(1);
  });

  it('never gives one key to two workers, and loses no wake-up', async () => {
    const keys = fc.constantFrom('a/1', 'a/2', 'b/1');
    const command = fc.oneof(
      fc.record({ do: fc.constant('add' as const), key: keys }),
      fc.record({ do: fc.constant('addAfter' as const), key: keys, ms: fc.integer({ min: 0, max: 50 }) }),
      fc.record({ do: fc.constant('fail' as const), key: keys }),
      fc.record({ do: fc.constant('take' as const) }),
      fc.record({ do: fc.constant('done' as const), index: fc.nat(5) }),
      fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 30 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { maxLength: 60 }),
        fc.boolean(),
        fc.nat(40),
        async (commands, fair, intervalMs) => {
          const { clock, queue } = aQueue({ ...(fair && { groupOf: groupByNamespace }), intervalMs, burst: 2 });
          const held: string[] = [];
          /** Keys asked for since they were last handed out. */
          const owed = new Set<string>();
          let takes = 0;
          const take = (): void => {
            takes += 1;
            void queue.take().then((key) => {
              takes -= 1;
              if (key === undefined) return;
              expect(held).not.toContain(key);
              held.push(key);
              owed.delete(key);
            });
          };
          for (const each of commands) {
            if (each.do === 'add') queue.add(each.key);
            if (each.do === 'addAfter') queue.addAfter(each.key, each.ms);
            if (each.do === 'fail') queue.addBackingOff(each.key);
            if ('key' in each) owed.add(each.key);
            if (each.do === 'take' && takes === 0) take();
            if (each.do === 'done') {
              const [key] = held.splice(each.index, 1);
              if (key !== undefined) queue.done(key);
            }
            await clock.advance(each.do === 'pass' ? each.ms : 0);
          }
          // Now everyone works diligently: whatever was asked for comes.
          for (let round = 0; round < 20; round++) {
            for (const key of held.splice(0)) queue.done(key);
            if (takes === 0) take();
            await clock.advance(300_000);
          }
          expect([...owed]).toEqual([]);
          expect(queue.length).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
  });
});
