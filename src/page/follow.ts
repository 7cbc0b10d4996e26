// Keeps something that the API has up to date, by its event streams.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type OpenStream } from './api.ts';
import type { ServerEvent } from './events.ts';

export interface FollowOptions {
  readonly open: OpenStream;
  /** Called with what came together: with nothing when a connection is there. */
  readonly onEvents: (events: readonly ServerEvent[]) => void;
  readonly onFailure: (failure: ApiError, retryMs: number) => void;
}

export interface Following {
  /** Connects at once, also after a failure. */
  again(): void;
  stop(): void;
}

const RETRY_MS = 2500;
const LONGEST_WAIT_MS = 60_000;

/** An event of the document: the person has signed in again. */
export const RENEWED = 'davit-renewed';

/** Events after which nothing comes. */
const LAST: readonly string[] = ['gone', 'complete'];

/**
 * Connects now and whenever a connection has ended, less often after failures. There is no connection while the page is hidden: a browser has few for
 * each host.
 */
export function follow({ open, onEvents, onFailure }: FollowOptions): Following {
  const ended = new AbortController();
  let connection: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let lastEventId: string | undefined;

  function waitAfter({ retryAfterSeconds = 0 }: ApiError): number {
    failures += 1;
    return Math.max(retryAfterSeconds * 1000, Math.min(LONGEST_WAIT_MS, RETRY_MS * 2 ** failures));
  }

  async function connect(): Promise<void> {
    clearTimeout(timer);
    if (connection !== undefined || ended.signal.aborted || document.hidden) return;
    const mine = new AbortController();
    connection = mine;
    let waitMs = RETRY_MS;
    try {
      const events = open(lastEventId, AbortSignal.any([ended.signal, mine.signal]));
      let next = await events.next();
      while (next.done !== true) {
        if (mine.signal.aborted || ended.signal.aborted) return;
        failures = 0;
        lastEventId = next.value.findLast(({ id }) => id !== undefined)?.id ?? lastEventId;
        onEvents(next.value);
        if (next.value.some(({ event }) => LAST.includes(event))) {
          ended.abort();
          return;
        }
        // oxlint-disable-next-line no-await-in-loop -- what comes next
        next = await events.next();
      }
      waitMs = next.value.retryMs ?? RETRY_MS;
    } catch (error) {
      if (mine.signal.aborted || ended.signal.aborted) return;
      const failure = error instanceof ApiError ? error : new ApiError(0, 'The answer is not one that Davit gives.');
      waitMs = waitAfter(failure);
      onFailure(failure, waitMs);
    } finally {
      if (connection === mine) connection = undefined;
    }
    timer = setTimeout(again, waitMs);
  }

  function again(): void {
    void connect();
  }
  function onVisibility(): void {
    if (!document.hidden) return again();
    connection?.abort();
    connection = undefined;
  }

  document.addEventListener('visibilitychange', onVisibility, { signal: ended.signal });
  document.addEventListener(RENEWED, again, { signal: ended.signal });
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
  /** Why there is no connection. */
  readonly failure?: ApiError | undefined;
  readonly retryAt?: number | undefined;
  /** Whether `value` is of an earlier question. */
  readonly isPending: boolean;
  /** Whether the first answer takes longer than usual. */
  readonly isSlow: boolean;
  readonly again: () => void;
}

const SLOW_MS = 6000;

/** Follows a stream until the component is gone, and another one when `key` changes. `take` makes the value of what came. */
export function useFollowed<T>(
  key: string,
  open: OpenStream,
  take: (value: T | undefined, events: readonly ServerEvent[]) => T | undefined,
): Followed<T> {
  const [state, setState] = useState<Omit<Followed<T>, 'again'>>({ isPending: true, isSlow: false });
  const following = useRef<Following | null>(null);
  useEffect(() => {
    setState(({ value }) => ({ value, isPending: true, isSlow: false }));
    const slow = setTimeout(() => setState((now) => ({ ...now, isSlow: now.isPending })), SLOW_MS);
    let value: T | undefined;
    following.current = follow({
      open,
      onEvents(events) {
        value = take(value, events);
        if (value === undefined) return;
        clearTimeout(slow);
        setState({ value, isPending: false, isSlow: false });
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

/** What the last event of that name holds: states are told whole. */
export function newest<T>(name: string): (value: T | undefined, events: readonly ServerEvent[]) => T | undefined {
  return (value, events) => (events.findLast(({ event }) => event === name)?.data as T | undefined) ?? value;
}
