// Keeps something that the API has up to date: asks again and again, while the page is seen.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type Poll } from './api.ts';

export interface FollowOptions<T> {
  readonly poll: Poll<T>;
  readonly everyMs: number;
  /** Called after each answer: with nothing if nothing is new. */
  readonly onAnswer: (value: T | undefined) => void;
  readonly onFailure: (failure: ApiError, retryMs: number) => void;
}

export interface Following {
  /** Asks at once, also after a failure. */
  again(): void;
  stop(): void;
}

/** How often the page asks. */
const EVERY_MS = 2000;
/** The first wait after a failure; it doubles with each. */
const RETRY_MS = 5000;
const LONGEST_WAIT_MS = 60_000;

/** An event of the document: the person has signed in again. */
export const RENEWED = 'davit-renewed';

/** Asks now and again, less often after failures. A hidden page asks nothing, and asks at once when it is seen again. */
export function follow<T>({ poll, everyMs, onAnswer, onFailure }: FollowOptions<T>): Following {
  const ended = new AbortController();
  const { signal } = ended;
  let isAsking = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  function waitAfter({ retryAfterSeconds = 0 }: ApiError): number {
    failures += 1;
    return Math.max(retryAfterSeconds * 1000, Math.min(LONGEST_WAIT_MS, RETRY_MS * 2 ** (failures - 1)));
  }

  /** Resolves to the milliseconds until the next question. */
  async function answered(): Promise<number> {
    try {
      const { value, next } = await poll(signal);
      if (signal.aborted) return 0;
      failures = 0;
      onAnswer(value);
      if (next === 'never') ended.abort();
      return next === 'at once' ? 0 : everyMs;
    } catch (error) {
      if (signal.aborted) return 0;
      const failure = error instanceof ApiError ? error : new ApiError(0, 'The answer did not come from Davit.');
      const waitMs = waitAfter(failure);
      onFailure(failure, waitMs);
      return waitMs;
    }
  }

  async function ask(): Promise<void> {
    clearTimeout(timer);
    if (isAsking || signal.aborted || document.hidden) return;
    isAsking = true;
    const waitMs = await answered();
    isAsking = false;
    if (!signal.aborted) timer = setTimeout(again, waitMs);
  }
  function again(): void {
    void ask();
  }

  document.addEventListener('visibilitychange', again, { signal });
  document.addEventListener(RENEWED, again, { signal });
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
  /** What is known; absent before the first answer. */
  readonly value?: T | undefined;
  /** Why the last question was not answered. */
  readonly failure?: ApiError | undefined;
  readonly retryAt?: number | undefined;
  /** Whether `value` is of an earlier question. */
  readonly isPending: boolean;
  /** Whether the first answer takes longer than usual. */
  readonly isSlow: boolean;
  readonly again: () => void;
}

const SLOW_MS = 6000;

export interface FollowedOptions<T> {
  /** Makes the value of what is new; by default that is all. */
  readonly take?: (value: T | undefined, news: T) => T;
  readonly everyMs?: number | undefined;
}

/** Follows what `poll` asks for until the component is gone, and something else when `key` changes. */
export function useFollowed<T>(
  key: string,
  poll: Poll<T>,
  { take = (_, news) => news, everyMs = EVERY_MS }: FollowedOptions<T> = {},
): Followed<T> {
  const [state, setState] = useState<Omit<Followed<T>, 'again'>>({ isPending: true, isSlow: false });
  const following = useRef<Following | null>(null);
  useEffect(() => {
    setState(({ value }) => ({ value, isPending: true, isSlow: false }));
    const slow = setTimeout(() => setState((now) => ({ ...now, isSlow: now.isPending })), SLOW_MS);
    let value: T | undefined;
    following.current = follow({
      poll,
      everyMs,
      onAnswer(news) {
        clearTimeout(slow);
        if (news !== undefined) value = take(value, news);
        // Most answers bring nothing new, and nothing is drawn again.
        setState((now) =>
          news === undefined && now.failure === undefined && !now.isPending
            ? now
            : { value, isPending: false, isSlow: false },
        );
      },
      onFailure(failure, retryMs) {
        clearTimeout(slow);
        setState((now) => ({ ...now, failure, retryAt: Date.now() + retryMs, isPending: false, isSlow: false }));
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
