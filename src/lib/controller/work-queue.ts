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
  const { name, clock = systemClock, random = Math.random, metrics } = options;
  const { baseDelayMs = 200, maxDelayMs = 300_000, groupOf = () => '' } = options;
  const { intervalMs = 0, burst = 1 } = options;
  /** Waiting keys by group; the next group comes first. */
  const waiting = new Map<string, Set<string>>();
  const processing = new Set<string>();
  /** Number of them by group. */
  const taken = new Map<string, number>();
  /** Keys that arrived while they were being processed. */
  const dirty = new Set<string>();
  const delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  const failed = new Map<string, { readonly times: number; readonly nextAt: number }>();
  /** Key → time when its burst is available again. Each time the key is handed out adds one interval. */
  const pacedUntil = new Map<string, number>();
  const takers: ((key: string | undefined) => void)[] = [];
  const takersOfNewGroups: ((key: string | undefined) => void)[] = [];
  const drained: (() => void)[] = [];
  let forgetAt = FORGET_EVERY;
  let length = 0;
  let shut = false;

  function tooSoonMs(key: string): number {
    return (pacedUntil.get(key) ?? -Infinity) - clock.elapsed() - (burst - 1) * intervalMs;
  }

  function pace(key: string): void {
    if (intervalMs === 0) return;
    const now = clock.elapsed();
    if (pacedUntil.size >= forgetAt) {
      for (const [other, until] of pacedUntil) if (until <= now) pacedUntil.delete(other);
      forgetAt = pacedUntil.size + FORGET_EVERY;
    }
    pacedUntil.set(key, Math.max(now, pacedUntil.get(key) ?? now) + intervalMs);
  }

  function enqueue(key: string): void {
    const waitMs = tooSoonMs(key);
    if (waitMs > 0) {
      addAfter(key, waitMs);
      return;
    }
    const group = groupOf(key);
    const keys = waiting.get(group);
    if (keys?.has(key)) return;
    if (keys === undefined) waiting.set(group, new Set([key]));
    else keys.add(key);
    length += 1;
    handOut();
    metrics?.queueDepth(name, length);
  }

  function handOut(): void {
    while (takers.length > 0) {
      const key = next(false);
      if (key === undefined) return;
      takers.shift()?.(key);
    }
    while (takersOfNewGroups.length > 0) {
      const key = next(true);
      if (key === undefined) return;
      takersOfNewGroups.shift()?.(key);
    }
  }

  function next(onlyNewGroups: boolean): string | undefined {
    for (const [group, keys] of waiting) {
      if (onlyNewGroups && taken.has(group)) continue;
      for (const key of keys) {
        keys.delete(key);
        length -= 1;
        waiting.delete(group);
        // The group moves to the end of the round.
        if (keys.size > 0) waiting.set(group, keys);
        processing.add(key);
        pace(key);
        count(taken, group, 1);
        return key;
      }
    }
    return undefined;
  }

  function release(key: string): void {
    if (!processing.delete(key)) throw new Error(`finish ${key} in ${name}: it was not taken`);
    count(taken, groupOf(key), -1);
  }

  function add(key: string): void {
    if (shut) return;
    if (processing.has(key)) dirty.add(key);
    else enqueue(key);
  }

  function addAfter(key: string, delayMs: number): void {
    if (shut) return;
    if (delayMs <= 0) {
      add(key);
      return;
    }
    const at = clock.elapsed() + delayMs;
    const earlier = delayed.get(key);
    if (earlier !== undefined && earlier.at <= at) return;
    earlier?.cancel();
    const fire = (): void => {
      // Timers have a maximum delay; a key that is not due yet gets another timer.
      delayed.delete(key);
      addAfter(key, at - clock.elapsed());
    };
    delayed.set(key, { at, cancel: clock.schedule(delayMs, fire) });
  }

  return {
    add,
    addAfter,
    addBackingOff(key, atLeastMs = 0) {
      const { times, nextAt } = failed.get(key) ?? { times: 0, nextAt: 0 };
      const now = clock.elapsed();
      const isCounted = now >= nextAt;
      const backoff = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(times, 30));
      const wanted = isCounted ? Math.min(maxDelayMs, backoff * (1 + SPREAD * random())) : nextAt - now;
      const delay = Math.max(wanted, atLeastMs);
      if (isCounted) failed.set(key, { times: times + 1, nextAt: now + delay });
      addAfter(key, delay);
      return delay;
    },
    forget: (key) => failed.delete(key),
    failures: (key) => failed.get(key)?.times ?? 0,
    take(onlyNewGroups = false) {
      if (shut) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        (onlyNewGroups ? takersOfNewGroups : takers).push(resolve);
        handOut();
        metrics?.queueDepth(name, length);
      });
    },
    done(key) {
      release(key);
      if (dirty.delete(key) && !shut) enqueue(key);
      // Others may wait for its group, or it may have to wait itself.
      handOut();
      if (shut && processing.size === 0) for (const resolve of drained.splice(0)) resolve();
    },
    get length() {
      return length;
    },
    shutDown() {
      shut = true;
      for (const { cancel } of delayed.values()) cancel();
      delayed.clear();
      waiting.clear();
      dirty.clear();
      length = 0;
      metrics?.queueDepth(name, 0);
      for (const resolve of [...takers.splice(0), ...takersOfNewGroups.splice(0)]) resolve(undefined);
      if (processing.size === 0) return Promise.resolve();
      return new Promise((resolve) => drained.push(resolve));
    },
  };
}

/** For `groupOf`: the keys of one namespace form a group, so that a tenant does not wait for all keys of another. */
export function groupByNamespace(key: string): string {
  const slash = key.indexOf('/');
  return slash === -1 ? '' : key.slice(0, slash);
}
