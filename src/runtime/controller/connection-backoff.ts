// Contact with a server that is asked again and again: since when it has only failed, and how long to wait before
// the next try.

import { Unavailable } from '../errors.ts';
import type { Clock } from './clock.ts';

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;

export interface ConnectionBackoff {
  /** Something came: whatever failed before is over. */
  heard(): void;
  /** Counts a failure. The pause doubles from one to the next, up to 30 s, and is never shorter than the server asked for. */
  failed(error: unknown): { readonly waitMs: number; readonly failures: number };
  /** Lets the first failure in a row pass without a pause, so that only the second is one. False when it is not the first. */
  forgive(): boolean;
  /** As ReflectorStatus has them. */
  status(): { readonly failingForMs?: number; readonly lastError?: string };
}

/** `random` in [0, 1): many that failed together should not try again together. */
export function makeConnectionBackoff(clock: Clock, random: () => number): ConnectionBackoff {
  let failures = 0;
  let failingSince: number | undefined;
  let lastError: string | undefined;

  return {
    heard() {
      failures = 0;
      failingSince = undefined;
      lastError = undefined;
    },
    failed(error) {
      failures += 1;
      failingSince ??= clock.elapsed();
      lastError = error instanceof Error ? error.message : String(error);
      const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 16));
      const asked = error instanceof Unavailable ? (error.retryAfterMs ?? 0) : 0;
      return { waitMs: Math.max(backoff * (0.5 + random() / 2), asked), failures };
    },
    forgive() {
      if (failures > 0) return false;
      failures = 1;
      return true;
    },
    status: () => ({
      ...(failingSince !== undefined && { failingForMs: clock.elapsed() - failingSince }),
      ...(lastError !== undefined && { lastError }),
    }),
  };
}
