// Distinguishes a server that temporarily returns an older state, because of a cache in between, from one whose history was
// rewound by a restore from backup.

import { Unavailable } from '../errors.ts';
import type { Clock } from './clock.ts';

/**
 * Lists are consistent reads, so an older one should not happen. The effect of a cache in between or of a load balancer is
 * temporary; a rewound history is permanent.
 */
const REWOUND_AFTER_TIMES = 3;
const REWOUND_AFTER_MS = 15_000;

export interface RewindDetector {
  /** Counts an answer with an older state and throws Unavailable, so that the request is repeated. */
  refuse(message: string): never;
  /** Resets the count: the server has returned a current state. */
  over(): void;
}

/** `onRewound` is called, possibly repeatedly, if the older state persists. */
export function makeRewindDetector(clock: Clock, onRewound: ((what: string) => void) | undefined): RewindDetector {
  /** Start and number of consecutive answers with an older state. */
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
