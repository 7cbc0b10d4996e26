// Answers that are reused for a time, so that a question is not repeated for each caller.

import { LruMap } from 'toad-cache';

export interface RememberedOptions {
  readonly now: () => Date;
  /** Milliseconds for which an answer is reused. */
  readonly forMs: number;
  /** Milliseconds for which a failure is repeated without asking. Default: 0. */
  readonly failedMs?: number;
  /** The answers used least recently are forgotten first. */
  readonly most?: number;
}

/** Resolves to the answer of `ask` for this key, a recent one unless `isFresh`. Rejects as `ask` does. */
export type Remembered<T> = (key: string, ask: () => Promise<T>, isFresh?: boolean) => Promise<T>;

export function makeRemembered<T>({ now, forMs, failedMs = 0, most = 1000 }: RememberedOptions): Remembered<T> {
  const known = new LruMap<{ readonly at: number; forMs: number; readonly answer: Promise<T> }>(most);
  return (key, ask, isFresh = false) => {
    const at = now().getTime();
    const before = known.get(key);
    if (!isFresh && before !== undefined && at >= before.at && at - before.at < before.forMs) return before.answer;
    const asked = { at, forMs, answer: ask() };
    known.set(key, asked);
    asked.answer.catch(() => (asked.forMs = failedMs));
    return asked.answer;
  };
}
