// Keeps something that the API has up to date. The page asks repeatedly here and nowhere else, so that a stream of events
// can take the place of the questions.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api.ts';

export interface FollowOptions<T> {
  readonly read: (signal: AbortSignal) => Promise<T>;
  /** Between an answer and the next question; `once` ends with the first answer. */
  readonly everyMs: number | 'once';
  readonly onValue: (value: T) => void;
  readonly onFailure: (failure: ApiError, retryMs: number) => void;
}

export interface Following {
  /** Asks at once, also after a failure. */
  again(): void;
  stop(): void;
}

const FIRST_RETRY_MS = 2500;
const LONGEST_WAIT_MS = 60_000;

/** Asks now and then every `everyMs`, less often after failures, and not while the page is hidden. */
export function follow<T>({ read, everyMs, onValue, onFailure }: FollowOptions<T>): Following {
  const ended = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let isReading = false;
  /** Asked for during a read, whose answer may be older than the reason to ask. */
  let isWanted = false;

  function waitAfter(error: ApiError): number {
    failures += 1;
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_RETRY_MS * 2 ** failures);
    return Math.max(waitMs, (error.retryAfterSeconds ?? 0) * 1000);
  }

  async function ask(): Promise<void> {
    clearTimeout(timer);
    isWanted = isReading;
    if (isReading || ended.signal.aborted || document.hidden) return;
    isReading = true;
    let waitMs: number | undefined = everyMs === 'once' ? undefined : everyMs;
    try {
      const value = await read(ended.signal);
      failures = 0;
      if (!ended.signal.aborted) onValue(value);
    } catch (error) {
      if (!ended.signal.aborted) {
        const failure = error instanceof ApiError ? error : new ApiError(0, 'The answer is not one that Davit gives.');
        waitMs = waitAfter(failure);
        onFailure(failure, waitMs);
      }
    }
    isReading = false;
    if (isWanted) waitMs = 0;
    if (!ended.signal.aborted && waitMs !== undefined) timer = setTimeout(again, waitMs);
  }

  function again(): void {
    void ask();
  }

  document.addEventListener('visibilitychange', again, { signal: ended.signal });
  again();
  return {
    again,
    stop() {
      ended.abort();
      clearTimeout(timer);
    },
  };
}

export interface Followed<T> {
  /** The last answer; absent before the first. */
  readonly value?: T | undefined;
  /** Why the last question had no answer. */
  readonly failure?: ApiError | undefined;
  readonly retryAt?: number | undefined;
  /** Whether `value` answers an earlier question. */
  readonly isPending: boolean;
  /** Whether the first answer takes longer than usual. */
  readonly isSlow: boolean;
  readonly again: () => void;
}

const SLOW_MS = 6000;

/** Follows `read` until the component is gone, and from the start when `key` changes. */
export function useFollowed<T>(
  key: string,
  everyMs: FollowOptions<T>['everyMs'],
  read: (signal: AbortSignal) => Promise<T>,
): Followed<T> {
  const [state, setState] = useState<Omit<Followed<T>, 'again'>>({ isPending: true, isSlow: false });
  const following = useRef<Following | null>(null);
  useEffect(() => {
    setState(({ value }) => ({ value, isPending: true, isSlow: false }));
    const slow = setTimeout(() => setState((now) => ({ ...now, isSlow: true })), SLOW_MS);
    following.current = follow({
      read,
      everyMs,
      onValue(value) {
        clearTimeout(slow);
        setState({ value, isPending: false, isSlow: false });
      },
      onFailure(failure, retryMs) {
        clearTimeout(slow);
        setState(({ value }) => ({ value, failure, retryAt: Date.now() + retryMs, isPending: false, isSlow: false }));
      },
    });
    return () => {
      clearTimeout(slow);
      following.current?.stop();
    };
  }, [key]);
  const again = useCallback(() => following.current?.again(), []);
  return { ...state, again };
}
