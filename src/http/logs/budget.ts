// Limits for reading logs, for one request and in total. A tenant's logs can exceed the memory of any process, and a request for a
// page must not delay all others.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type FairLimiter, makeFairLimiter } from '../../runtime/fair-limiter.ts';

const MEBIBYTE = 1024 * 1024;

/** Limits for one request. */
export const MOST_PODS = 20;
export const MOST_STREAMS = 200;
export const MOST_BYTES = 16 * MEBIBYTE;
/** Limits for one container. */
export const MOST_BYTES_OF_STREAM = 4 * MEBIBYTE;
export const LAST_LINES = 1000;
/** Maximum length of a line; longer lines are truncated. */
export const LONGEST_LINE = 64 * 1024;
/** Limit for the lines of a page. */
export const MOST_BYTES_OF_PAGE = 4 * MEBIBYTE;
/** Time limit of a request. The API server would wait longer for a node that does not answer. */
export const LONGEST_MS = 15_000;

/** Concurrent streams of one request. */
export const STREAMS_AT_ONCE = 4;

/** Limits for all requests together. */
const REQUESTS = { most: 4, mostOfGroup: 2, always: 0, mostWaiting: 32, mostWaitingOfGroup: 8 };
/** Concurrent streams. Each needs a connection. */
const STREAMS = { most: 8, mostOfGroup: 6, always: 0, mostWaiting: 1000, mostWaitingOfGroup: 1000 };
const BYTES_PER_SECOND = 16 * MEBIBYTE;

/** The limits that all requests for logs share. */
export interface LogBudget {
  readonly requests: FairLimiter;
  readonly streams: FairLimiter;
  /** Waits until this number of bytes may be processed, so that other work has its turn. */
  pace(bytes: number, signal: AbortSignal): Promise<void>;
}

export function makeLogBudget(now: () => number = () => performance.now()): LogBudget {
  let freeAt = 0;
  return {
    requests: makeFairLimiter(REQUESTS),
    streams: makeFairLimiter(STREAMS),
    async pace(bytes, signal) {
      const at = now();
      freeAt = Math.max(at, freeAt) + (bytes / BYTES_PER_SECOND) * 1000;
      const waitMs = freeAt - at;
      // The resolution of a timer.
      if (waitMs < 4) await nextTurn(undefined, { signal });
      else await sleep(waitMs, undefined, { signal });
    },
  };
}
