// A clock for tests: it moves only when told to.

import type { Clock } from '../../src/runtime/controller/clock.ts';

/** Timers run in the order in which they are due, and only inside `advance`. */
export interface FakeClock extends Clock {
  /** Moves time on, running what falls due, and lets promises settle after each timer. */
  advance(milliseconds: number): Promise<void>;
  /** The same without waiting for promises; for purely synchronous code under test. */
  advanceSync(milliseconds: number): void;
  readonly pending: number;
}

export function makeFakeClock(start = Date.parse('2026-01-01T00:00:00Z')): FakeClock {
  let time = 0;
  let serial = 0;
  const timers = new Map<number, { readonly at: number; readonly run: () => void }>();

  function takeDue(until: number): (() => void) | undefined {
    let first: number | undefined;
    for (const [id, timer] of timers) {
      if (timer.at > until) continue;
      if (first === undefined || timer.at < (timers.get(first)?.at ?? Infinity)) first = id;
    }
    if (first === undefined) return undefined;
    const due = timers.get(first);
    timers.delete(first);
    if (due === undefined) return undefined;
    time = Math.max(time, due.at);
    return due.run;
  }

  return {
    now: () => start + time,
    elapsed: () => time,
    schedule(delayMs, run) {
      const id = serial++;
      timers.set(id, { at: time + Math.max(delayMs, 0), run });
      return () => timers.delete(id);
    },
    async advance(milliseconds) {
      const until = time + milliseconds;
      await settle();
      for (let run = takeDue(until); run !== undefined; run = takeDue(until)) {
        run();
        await settle();
      }
      time = until;
    },
    advanceSync(milliseconds) {
      const until = time + milliseconds;
      for (let run = takeDue(until); run !== undefined; run = takeDue(until)) run();
      time = until;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** A macrotask: every promise that can settle on its own has done so. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
