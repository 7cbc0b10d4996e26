import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NotFound, Unavailable } from '../errors.ts';
import { makeFakeClock } from './clock.ts';
import { makeFairLimiter } from './fair-limiter.ts';

/** Work that ends when it is told to. */
function held() {
  const ends: (() => void)[] = [];
  return { work: () => new Promise<void>((resolve) => ends.push(resolve)), ends };
}

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('no more than the most are under way, first come first served', async () => {
  const gate = makeFairLimiter({ most: 2 });
  const { work, ends } = held();
  const done: number[] = [];
  const all = [1, 2, 3, 4].map((index) => gate.run('a', work).then(() => done.push(index)));
  await turnOfTheLoop();
  expect([gate.underWay, gate.waiting, ends.length]).toEqual([2, 2, 2]);
  while (ends.length > 0) {
    ends.shift()?.();
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await turnOfTheLoop();
  }
  await Promise.all(all);
  expect(done).toEqual([1, 2, 3, 4]);
  expect([gate.underWay, gate.waiting]).toEqual([0, 0]);
});

it('groups take turns, whatever one of them has asked for', async () => {
  const gate = makeFairLimiter({ most: 2 });
  const { work, ends } = held();
  const begun: string[] = [];
  const ask = (group: string, what: string): void =>
    void gate.run(group, () => {
      begun.push(what);
      return work();
    });
  for (let index = 0; index < 5; index += 1) ask('busy', `busy ${index}`);
  for (let index = 0; index < 4; index += 1) ask('calm', `calm ${index}`);
  for (let index = 0; index < 4; index += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await turnOfTheLoop();
    ends.shift()?.();
  }
  await turnOfTheLoop();
  // Two of each are let in at once; then whose has been answered.
  expect(begun).toEqual(['busy 0', 'busy 1', 'calm 0', 'calm 1', 'busy 2', 'busy 3', 'calm 2', 'calm 3']);
});

it('beside a group that does little none has more than its share, also while that one asks for nothing', async () => {
  const gate = makeFairLimiter({ most: 6, mostTogether: 6 });
  const { work, ends } = held();
  for (let index = 0; index < 3; index += 1) gate.enter('busy');
  for (let index = 0; index < 10; index += 1) void gate.run('busy', work);
  expect(gate.underWay).toBe(6);
  const leave = gate.enter('calm');
  await turnOfTheLoop();
  for (const end of ends.splice(0)) end();
  await turnOfTheLoop();
  expect([gate.underWay, gate.waiting]).toEqual([3, 1]);
  void gate.run('calm', work);
  expect([gate.underWay, gate.waiting]).toEqual([4, 1]);
  await turnOfTheLoop();
  for (const end of ends.splice(-1)) end();
  await turnOfTheLoop();
  expect([gate.underWay, gate.waiting]).toEqual([3, 1]);
  leave();
  expect([gate.underWay, gate.waiting]).toEqual([4, 0]);
});

it('groups that do equally much are held back by the most alone', () => {
  const gate = makeFairLimiter({ most: 16, mostTogether: 8 });
  const { work } = held();
  for (let group = 0; group < 4; group += 1) gate.enter(String(group));
  for (let index = 0; index < 20; index += 1) void gate.run('0', work);
  expect(gate.underWay).toBe(16);
  // Two of each are always let in.
  for (let group = 1; group < 4; group += 1)
    for (let index = 0; index < 5; index += 1) void gate.run(String(group), work);
  expect(gate.underWay).toBe(22);
});

it("no group waits for another's requests that hang", async () => {
  const gate = makeFairLimiter({ most: 4 });
  const { work } = held();
  for (let index = 0; index < 20; index += 1) void gate.run('hanging', work);
  expect(gate.underWay).toBe(4);
  expect(await gate.run('well', () => Promise.resolve('answered'))).toBe('answered');
});

it('what fails makes room, and is told to whoever asked', async () => {
  const gate = makeFairLimiter({ most: 2 });
  const fails = [1, 2].map(() => gate.run('a', () => Promise.reject(new NotFound('gone'))));
  const next = gate.run('a', () => Promise.resolve('there'));
  for (const failing of fails) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await expect(failing).rejects.toThrow('gone');
  }
  expect(await next).toBe('there');
});

it('everything that comes in is run once, and never too much at once', async () => {
  const asked = fc.array(fc.record({ group: fc.constantFrom('a', 'b', 'c'), ms: fc.nat(20), fails: fc.boolean() }));
  await fc.assert(
    fc.asyncProperty(asked, async (requests) => {
      const clock = makeFakeClock();
      const gate = makeFairLimiter({ most: 4, mostTogether: 2 });
      const runs = requests.map(() => 0);
      let underWay = 0;
      let most = 0;
      const outcomes = requests.map(({ group, ms, fails }, index) =>
        gate.run(group, async () => {
          runs[index] = (runs[index] ?? 0) + 1;
          underWay += 1;
          most = Math.max(most, underWay);
          await new Promise<void>((resolve) => clock.schedule(ms, resolve));
          underWay -= 1;
          if (fails) throw new Unavailable('busy');
        }),
      );
      const settled = Promise.allSettled(outcomes);
      await clock.advance(20 * requests.length + 1);
      expect((await settled).map(({ status }) => status)).toEqual(
        requests.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')),
      );
      expect(runs).toEqual(requests.map(() => 1));
      // Four of one that was alone, and two of each other.
      expect(most).toBeLessThanOrEqual(8);
    }),
  );
});
