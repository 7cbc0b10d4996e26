// Keys waiting to be reconciled. A key carries no event: its worker reads the whole state.

import { type Clock, systemClock } from './clock.ts';
import { count } from './counter.ts';
import type { RuntimeMetrics } from './metrics.ts';

export interface WorkQueueOptions {
  readonly name: string;
  readonly clock?: Clock;
  /** Delay after the first failure of a key; it doubles with each further one, up to `maxDelayMs`. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  /** Spreads the delays of keys that failed together; between 0 and 1. */
  readonly random?: () => number;
  /** Groups take turns, however many keys each has. Without it, keys are processed in order of arrival. */
  readonly groupOf?: (key: string) => string;
  /** A key is handed out `burst` times without delay, and then at most once per interval. Without it there is no limit. */
  readonly intervalMs?: number;
  readonly burst?: number;
  readonly metrics?: RuntimeMetrics;
}

/**
 * - A waiting key is in the queue once, however often it was added.
 * - A key that is being processed is not handed out before `done`. If it is added meanwhile, it is queued again after `done`.
 * - A key that is added continuously is handed out once per interval; its worker sees all changes since then.
 * - No addition is lost: after `add` returns, the key is handed out to a later `take`.
 */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key after a delay. If called several times, the earliest time applies. */
  addAfter(key: string, delayMs: number): void;
  /**
   * Adds the key after a delay that doubles with each call since `forget`, and returns the delay. A failure before the
   * last delay has passed, in an attempt that a change triggered, does not count: otherwise a burst of changes during an outage
   * would lead to minutes of delay after it.
   */
  addBackingOff(key: string, atLeastMs?: number): number;
  /** Resets the backoff of the key. */
  forget(key: string): void;
  failures(key: string): number;
  /**
   * The next key, as soon as there is one; undefined after the queue was shut down. Every key must be passed to `done`.
   * `onlyNewGroups`: only a key of a group that is not being processed, and only if no other worker waits.
   */
  take(onlyNewGroups?: boolean): Promise<string | undefined>;
  done(key: string): void;
  /** Number of keys that wait for a worker, without delayed keys. */
  readonly length: number;
  /**
   * Accepts and hands out no further keys, and resolves when all keys in progress are done. Waiting keys are dropped, because the
   * next leader lists everything.
   */
  shutDown(): Promise<void>;
}

/** Idle keys are removed after this many further keys were added. */
const FORGET_EVERY = 1000;

/** Jitter of the delay, so that a thousand keys that failed together do not return together. */
const SPREAD = 0.2;

export function makeWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { name, clock = systemClock, metrics, groupOf = () => '' } = options;
  const turns = makeTurns(groupOf);
  const pace = makePace(clock, options);
  const backoff = makeBackoff(clock, options);
  /** Keys that arrived while they were being processed. */
  const dirty = new Set<string>();
  const delays = makeDelays(clock, add);
  const workers = makeWaitingWorkers((onlyNewGroups) => {
    const key = turns.take(onlyNewGroups);
    if (key !== undefined) pace.handedOut(key);
    return key;
  });
  const drained: (() => void)[] = [];
  let shut = false;

  function enqueue(key: string): void {
    const waitMs = pace.tooSoonMs(key);
    if (waitMs > 0) {
      addAfter(key, waitMs);
      return;
    }
    if (!turns.add(key)) return;
    workers.handOut();
    metrics?.queueDepth(name, turns.length);
  }

  function add(key: string): void {
    if (shut) return;
    if (turns.isProcessed(key)) dirty.add(key);
    else enqueue(key);
  }

  function addAfter(key: string, delayMs: number): void {
    if (shut) return;
    if (delayMs <= 0) {
      add(key);
      return;
    }
    delays.start(key, delayMs);
  }

  return {
    add,
    addAfter,
    addBackingOff(key, atLeastMs = 0) {
      const delay = backoff.nextMs(key, atLeastMs);
      addAfter(key, delay);
      return delay;
    },
    forget: backoff.forget,
    failures: backoff.failures,
    take(onlyNewGroups = false) {
      if (shut) return Promise.resolve(undefined);
      const key = workers.wait(onlyNewGroups);
      metrics?.queueDepth(name, turns.length);
      return key;
    },
    done(key) {
      if (!turns.release(key)) throw new Error(`finish ${key} in ${name}: it was not taken`);
      if (dirty.delete(key) && !shut) enqueue(key);
      // Others may wait for its group, or it may have to wait itself.
      workers.handOut();
      if (shut && turns.isIdle()) for (const resolve of drained.splice(0)) resolve();
    },
    get length() {
      return turns.length;
    },
    shutDown() {
      shut = true;
      delays.clear();
      turns.clear();
      dirty.clear();
      metrics?.queueDepth(name, 0);
      workers.dismiss();
      if (turns.isIdle()) return Promise.resolve();
      return new Promise((resolve) => drained.push(resolve));
    },
  };
}

interface Turns {
  /** Whether the key was not waiting already. */
  add(key: string): boolean;
  /** The next key of the group whose turn it is. */
  take(onlyNewGroups: boolean): string | undefined;
  /** Whether the key was taken. */
  release(key: string): boolean;
  isProcessed(key: string): boolean;
  /** Nothing is taken. */
  isIdle(): boolean;
  /** Drops the keys that wait. */
  clear(): void;
  readonly length: number;
}

/** Which key is next. Groups take turns. */
function makeTurns(groupOf: (key: string) => string): Turns {
  /** Waiting keys by group; the next group comes first. */
  const waiting = new Map<string, Set<string>>();
  const processing = new Set<string>();
  /** Number of them by group. */
  const taken = new Map<string, number>();
  let length = 0;
  return {
    add(key) {
      const group = groupOf(key);
      const keys = waiting.get(group);
      if (keys?.has(key)) return false;
      if (keys === undefined) waiting.set(group, new Set([key]));
      else keys.add(key);
      length += 1;
      return true;
    },
    take(onlyNewGroups) {
      for (const [group, keys] of waiting) {
        if (onlyNewGroups && taken.has(group)) continue;
        for (const key of keys) {
          keys.delete(key);
          length -= 1;
          waiting.delete(group);
          // The group moves to the end of the round.
          if (keys.size > 0) waiting.set(group, keys);
          processing.add(key);
          count(taken, group, 1);
          return key;
        }
      }
      return undefined;
    },
    release(key) {
      if (!processing.delete(key)) return false;
      count(taken, groupOf(key), -1);
      return true;
    },
    isProcessed: (key) => processing.has(key),
    isIdle: () => processing.size === 0,
    clear() {
      waiting.clear();
      length = 0;
    },
    get length() {
      return length;
    },
  };
}

interface WaitingWorkers {
  /** The next key for one more worker; undefined when it is dismissed. */
  wait(onlyNewGroups: boolean): Promise<string | undefined>;
  /** Gives them what there is now. */
  handOut(): void;
  dismiss(): void;
}

/** A queue of waiting workers, in which those that take only keys of new groups come last. */
function makeWaitingWorkers(next: (onlyNewGroups: boolean) => string | undefined): WaitingWorkers {
  const takers: ((key: string | undefined) => void)[] = [];
  const takersOfNewGroups: ((key: string | undefined) => void)[] = [];

  function handOut(): void {
    for (const [waiting, onlyNewGroups] of [
      [takers, false],
      [takersOfNewGroups, true],
    ] as const) {
      while (waiting.length > 0) {
        const key = next(onlyNewGroups);
        if (key === undefined) return;
        waiting.shift()?.(key);
      }
    }
  }

  return {
    wait: (onlyNewGroups) =>
      new Promise((resolve) => {
        (onlyNewGroups ? takersOfNewGroups : takers).push(resolve);
        handOut();
      }),
    handOut,
    dismiss() {
      for (const resolve of [...takers.splice(0), ...takersOfNewGroups.splice(0)]) resolve(undefined);
    },
  };
}

interface Delays {
  /** The key is due after the delay. If it has several, the one that ends first counts. */
  start(key: string, delayMs: number): void;
  clear(): void;
}

/** Keys that are due later. */
function makeDelays(clock: Clock, due: (key: string) => void): Delays {
  const delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();

  function start(key: string, delayMs: number): void {
    const at = clock.elapsed() + delayMs;
    const earlier = delayed.get(key);
    if (earlier !== undefined && earlier.at <= at) return;
    earlier?.cancel();
    const fire = (): void => {
      delayed.delete(key);
      // Timers have a maximum delay; a key that is not due yet gets another timer.
      const leftMs = at - clock.elapsed();
      if (leftMs > 0) start(key, leftMs);
      else due(key);
    };
    delayed.set(key, { at, cancel: clock.schedule(delayMs, fire) });
  }

  return {
    start,
    clear() {
      for (const { cancel } of delayed.values()) cancel();
      delayed.clear();
    },
  };
}

interface Pace {
  /** Milliseconds until the key may be handed out; 0 or less: at once. */
  tooSoonMs(key: string): number;
  handedOut(key: string): void;
}

/** How often one key is handed out. */
function makePace(clock: Clock, { intervalMs = 0, burst = 1 }: WorkQueueOptions): Pace {
  /** Key → time when its burst is available again. Each time the key is handed out adds one interval. */
  const pacedUntil = new Map<string, number>();
  let forgetAt = FORGET_EVERY;
  return {
    tooSoonMs: (key) => (pacedUntil.get(key) ?? -Infinity) - clock.elapsed() - (burst - 1) * intervalMs,
    handedOut(key) {
      if (intervalMs === 0) return;
      const now = clock.elapsed();
      if (pacedUntil.size >= forgetAt) {
        for (const [other, until] of pacedUntil) if (until <= now) pacedUntil.delete(other);
        forgetAt = pacedUntil.size + FORGET_EVERY;
      }
      pacedUntil.set(key, Math.max(now, pacedUntil.get(key) ?? now) + intervalMs);
    },
  };
}

interface Backoff {
  /** Counts a failure; the milliseconds until the next attempt. */
  nextMs(key: string, atLeastMs: number): number;
  forget(key: string): void;
  failures(key: string): number;
}

function makeBackoff(
  clock: Clock,
  { baseDelayMs = 200, maxDelayMs = 300_000, random = Math.random }: WorkQueueOptions,
): Backoff {
  const failed = new Map<string, { readonly times: number; readonly nextAt: number }>();
  return {
    nextMs(key, atLeastMs) {
      const { times, nextAt } = failed.get(key) ?? { times: 0, nextAt: 0 };
      const now = clock.elapsed();
      const isCounted = now >= nextAt;
      const backoff = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(times, 30));
      const wanted = isCounted ? Math.min(maxDelayMs, backoff * (1 + SPREAD * random())) : nextAt - now;
      const delay = Math.max(wanted, atLeastMs);
      if (isCounted) failed.set(key, { times: times + 1, nextAt: now + delay });
      return delay;
    },
    forget: (key) => failed.delete(key),
    failures: (key) => failed.get(key)?.times ?? 0,
  };
}

/** For `groupOf`: the keys of one namespace form a group, so that a tenant does not wait for all keys of another. */
export function groupByNamespace(key: string): string {
  const slash = key.indexOf('/');
  return slash === -1 ? '' : key.slice(0, slash);
}
