import { expect, it } from 'vitest';
import { makeTurns, type Turns } from './turns.ts';

interface Loop {
  readonly turns: Turns;
  ms: number;
  /** What each turn of the event loop did. */
  readonly log: string[][];
  /** Turns until nothing waits. */
  run(): Promise<void>;
}

function aLoop(): Loop {
  let queue: (() => void)[] = [];
  const loop: Loop = {
    ms: 0,
    log: [],
    turns: makeTurns({ now: () => loop.ms, later: (callback) => void queue.push(callback) }),
    async run() {
      while (queue.length > 0) {
        const now = queue;
        queue = [];
        loop.log.push([]);
        for (const callback of now) callback();
        for (let n = 0; n < 50; n += 1) await Promise.resolve();
      }
    },
  };
  return loop;
}

async function read(loop: Loop, name: string, steps: number, stepMs: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    const over = loop.turns.over();
    if (over !== undefined) await over;
    loop.ms += stepMs;
    loop.log.at(-1)?.push(name);
  }
}

it('a reader works for ten milliseconds, then the event loop has its turn', async () => {
  const loop = aLoop();
  const done = read(loop, 'a', 25, 1);
  await loop.run();
  await done;
  expect(loop.log.map((turn) => turn.length)).toEqual([10, 10, 5]);
});

it('many readers share the ten milliseconds, and take turns', async () => {
  const loop = aLoop();
  const done = ['a', 'b', 'c'].map((name) => read(loop, name, 3, 6));
  await loop.run();
  await Promise.all(done);
  expect(Math.max(...loop.log.map((turn) => turn.length))).toBe(2);
  expect(loop.log.map((turn) => turn.join(''))).toEqual(['aa', 'bb', 'cc', 'a', 'b', 'c']);
});

it('a step that takes longer is alone in its turn', async () => {
  const loop = aLoop();
  const done = ['a', 'b'].map((name) => read(loop, name, 2, 50));
  await loop.run();
  await Promise.all(done);
  expect(loop.log.map((turn) => turn.join(''))).toEqual(['a', 'b', 'a', 'b']);
});
