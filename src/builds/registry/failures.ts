// Failures of upkeep by repository: each is tried again after a growing delay, and one that fails alone, again and again, is
// set aside, so that nothing waits for it.

import type { RegistryFailed } from '../../lib/errors.ts';

const FIRST_MS = 15_000;
/** Longest delay while the registry does not answer at all. */
const LONGEST_MS = 120_000;
/** Longest delay of a repository that fails although the registry answers. */
const LONGEST_ALONE_MS = 3_600_000;
/** So often a repository fails alone before it is set aside: about eight minutes. */
const ENOUGH = 5;
/** The same, once the collection of garbage has been overdue for a day: others must not be held up by always new failures. */
const ENOUGH_LATE = 1;

interface Failure {
  readonly count: number;
  /** How often it failed although the registry answered. */
  readonly alone: number;
  readonly dueAt: number;
}

export interface RegistryFailures {
  /** Counts a failure. Returns the delay until the next attempt, in milliseconds. */
  count(key: string, failure: RegistryFailed, signal: AbortSignal): Promise<number>;
  forget(key: string): void;
  /** Whether the next attempt is still to come. */
  waits(key: string): boolean;
  /** Whether the repository has failed so often that a collection, on time or late, does not wait for it. It is still tried. */
  isSetAside(key: string, isLate?: boolean): boolean;
  /** Repositories that fail although the registry answers. */
  alone(): number;
}

/** `answers`: whether the registry answers a request for something else. */
export function makeRegistryFailures(
  answers: (signal: AbortSignal) => Promise<boolean>,
  elapsed: () => number,
): RegistryFailures {
  const failures = new Map<string, Failure>();
  return {
    async count(key, { why }, signal) {
      const before = failures.get(key) ?? { count: 0, alone: 0 };
      const isAlone = why === 'malformed' || why === 'tooLarge' || (await answers(signal));
      const count = before.count + 1;
      const longest = isAlone ? LONGEST_ALONE_MS : LONGEST_MS;
      const delay = Math.min(longest, FIRST_MS * 2 ** Math.min(count - 1, 20));
      failures.set(key, { count, alone: before.alone + (isAlone ? 1 : 0), dueAt: elapsed() + delay });
      return delay;
    },
    forget: (key) => void failures.delete(key),
    waits: (key) => (failures.get(key)?.dueAt ?? 0) > elapsed(),
    isSetAside: (key, isLate = false) => (failures.get(key)?.alone ?? 0) >= (isLate ? ENOUGH_LATE : ENOUGH),
    alone: () => [...failures.values()].filter(({ alone }) => alone > 0).length,
  };
}
