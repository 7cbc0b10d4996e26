// Whether a server that shows what was before what has been seen is only behind, as a cache in between may be, or has
// gone back for good, as after the restore of a backup.

import { Unavailable } from '../errors.ts';
import type { Clock } from './clock.ts';

/**
 * Lists are consistent reads: one that is older than what was seen should never be. A cache in between, or a load
 * balancer's mistake, passes; a history that was rewound does not.
 */
const REWOUND_AFTER_TIMES = 3;
const REWOUND_AFTER_MS = 15_000;

export interface RewindDetector {
  /** Counts one more look at the past, and throws it as Unavailable: it is asked again. */
  refuse(message: string): never;
  /** The server is back in the present. */
  over(): void;
}

/** `onRewound` is told, perhaps more than once, when the past lasts. */
export function makeRewindDetector(clock: Clock, onRewound: ((what: string) => void) | undefined): RewindDetector {
  /** Since when, and how often one after the other, it has been shown. */
  let shown: { readonly since: number; readonly times: number } | undefined;
  return {
    refuse(message) {
      shown = { since: shown?.since ?? clock.elapsed(), times: (shown?.times ?? 0) + 1 };
      const lasts = shown.times >= REWOUND_AFTER_TIMES && clock.elapsed() - shown.since >= REWOUND_AFTER_MS;
      if (lasts) onRewound?.(message);
      throw new Unavailable(message);
    },
    over() {
      shown = undefined;
    },
  };
}
