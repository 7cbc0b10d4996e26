// Limits for reading logs, for one request and in total. A tenant's logs can exceed the memory of any process, and a request for a
// page must not delay all others.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type FairLimiter, makeFairLimiter } from '../runtime/controller/fair-limiter.ts';

const MEBIBYTE = 1024 * 1024;

/** Limits for one request. */
export const MOST_PODS = 20;
export const MOST_STREAMS = 200;
/** Pods in one answer of the API server: each may have a megabyte, and an answer is parsed at once. */
export const PODS_AT_ONCE = 10;
export const MOST_BYTES = 16 * MEBIBYTE;
/** Limits for one container. */
export const MOST_BYTES_OF_STREAM = 4 * MEBIBYTE;
export const LAST_LINES = 1000;
/** Maximum length of a line; longer lines are truncated. */
export const LONGEST_LINE = 64 * 1024;
/** Limit for the lines of a page. */
export const MOST_BYTES_OF_PAGE = 4 * MEBIBYTE;
/** Limit for the lines of a page that crosses from a listener's cluster in one object of the API server. */
export const MOST_BYTES_OF_CROSSING_PAGE = 384 * 1024;
/** Time limit of a request. The API server would wait longer for a node that does not answer. */
export const LONGEST_MS = 15_000;

/** Concurrent streams of one request. */
export const STREAMS_AT_ONCE = 4;

/** Limits for all requests together. */
const REQUESTS = { most: 4, mostOfGroup: 2, always: 0, mostWaiting: 32, mostWaitingOfGroup: 8 };
/** Limits for requests with a position. */
const FURTHER = { most: 16, mostOfGroup: 8, always: 1, mostWaiting: 256, mostWaitingOfGroup: 64 };
/** Concurrent streams. Each needs a connection. */
const STREAMS = { most: 8, mostOfGroup: 6, always: 0, mostWaiting: 1000, mostWaitingOfGroup: 1000 };
const BYTES_PER_SECOND = 16 * MEBIBYTE;

/** The limits that all requests for logs share. */
export interface LogBudget {
  readonly requests: FairLimiter;
  /** Requests with a position. */
  readonly further: FairLimiter;
  readonly streams: FairLimiter;
  /** Waits until this number of bytes may be processed, so that other work has its turn. */
  readonly pace: Pace;
}

type Pace = (bytes: number, signal: AbortSignal) => Promise<void>;

export function makeLogBudget(now: () => number = () => performance.now()): LogBudget {
  return {
    requests: makeFairLimiter(REQUESTS),
    further: makeFairLimiter(FURTHER),
    streams: makeFairLimiter(STREAMS),
    pace: makePace(BYTES_PER_SECOND, now),
  };
}

function makePace(bytesPerSecond: number, now: () => number): Pace {
  let freeAt = 0;
  return async (bytes, signal) => {
    const at = now();
    freeAt = Math.max(at, freeAt) + (bytes / bytesPerSecond) * 1000;
    const waitMs = freeAt - at;
    // A timer is no finer than that.
    if (waitMs < 4) await nextTurn(undefined, { signal });
    else await sleep(waitMs, undefined, { signal });
  };
}
