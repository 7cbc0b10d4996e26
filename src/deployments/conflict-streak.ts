// Conflicts in a row. One is repeated without a report, because by then the caches show the concurrent write.

import { areConflicts } from './cluster/failures.ts';

/** Number of consecutive conflicts after which they are reported. */
const REPORTED_FROM = 3;

export interface ConflictStreaks {
  /** Counts the failures of a pass. Returns whether they are conflicts that are not reported yet. */
  isUnreported(key: string, causes: readonly unknown[]): boolean;
  forget(key: string): void;
}

export function makeConflictStreaks(): ConflictStreaks {
  /** Key → number of consecutive conflicts. */
  const streaks = new Map<string, number>();
  return {
    isUnreported(key, causes) {
      const inARow = areConflicts(causes) ? (streaks.get(key) ?? 0) + 1 : 0;
      if (inARow === 0) streaks.delete(key);
      else streaks.set(key, inARow);
      return inARow > 0 && inARow < REPORTED_FROM;
    },
    forget: (key) => void streaks.delete(key),
  };
}
