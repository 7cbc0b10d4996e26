import fc from 'fast-check';
import { expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { NotFound, Unavailable } from '../errors.ts';
import { type FairLimiter, makeFairLimiter } from './fair-limiter.ts';

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
    await turnOfTheLoop();
    ends.shift()?.();
  }
  await turnOfTheLoop();
  // Two of each are let in at once; then whose has been answered.
  expect(begun).toEqual(['busy 0', 'busy 1', 'calm 0', 'calm 1', 'busy 2', 'busy 3', 'calm 2', 'calm 3']);
});

it('of each group two are let in whatever is under way', () => {
  const gate = makeFairLimiter({ most: 16 });
  const { work } = held();
  for (let index = 0; index < 20; index += 1) void gate.run('0', work);
  expect(gate.underWay).toBe(16);
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
    await expect(failing).rejects.toThrow('gone');
  }
  expect(await next).toBe('there');
});

it('everything that comes in is run once, and never too much at once', async () => {
  const asked = fc.array(fc.record({ group: fc.constantFrom('a', 'b', 'c'), ms: fc.nat(20), fails: fc.boolean() }));
  await fc.assert(
    fc.asyncProperty(asked, async (requests) => {
      const clock = makeFakeClock();
      const gate = makeFairLimiter({ most: 4 });
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

// With bounds for each group, for what waits, and no slots beside.
const slots = (): FairLimiter =>
  makeFairLimiter({ always: 0, most: 3, mostOfGroup: 2, mostWaiting: 3, mostWaitingOfGroup: 2 });

/** Takes a slot for each group in turn, and tells when which began. */
function taking(groups: string): { readonly began: string[]; readonly give: (() => void)[]; readonly refused: number } {
  const began: string[] = [];
  const give: (() => void)[] = [];
  const all = slots();
  let refused = 0;
  for (const group of groups) {
    const slot = all.take(group);
    if (slot === undefined) refused += 1;
    void slot?.then((back) => {
      began.push(group);
      give.push(back);
    });
  }
  return { began, give, refused };
}

it.each([
  ['abc', 'abc', 0],
  ['aaab', 'aab', 0],
  ['aaaaa', 'aa', 1],
  ['abcdef', 'abc', 0],
  ['abcdefg', 'abc', 1],
])('of %s %s begin and %i are refused', async (groups, first, refused) => {
  const taken = taking(groups);
  await turnOfTheLoop();
  expect([taken.began.join(''), taken.refused]).toEqual([first, refused]);
});

it('lets in who waits longest and has room, once for each slot that is given back', async () => {
  const { began, give } = taking('aaabc');
  await turnOfTheLoop();
  expect(began.join('')).toBe('aab');
  give[2]?.();
  give[2]?.();
  await turnOfTheLoop();
  expect(began.join('')).toBe('aabc');
  give[0]?.();
  await turnOfTheLoop();
  expect(began.join('')).toBe('aabca');
});

it('who gives up waits no longer', async () => {
  const all = makeFairLimiter({ always: 0, most: 1, mostOfGroup: 1, mostWaiting: 1, mostWaitingOfGroup: 1 });
  const give = await all.take('a');
  const leaving = new AbortController();
  const waiting = all.take('b', leaving.signal);
  expect(all.take('c')).toBeUndefined();
  leaving.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(all.take('d', leaving.signal)).rejects.toThrow('gone');
  const next = all.take('c');
  give?.();
  expect(await next).toBeTypeOf('function');
});
