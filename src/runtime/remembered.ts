// Answers that are asked for again only after a time.

import { LruMap } from 'toad-cache';

export interface RememberedOptions {
  readonly now: () => Date;
  /** Milliseconds for which an answer is taken again. */
  readonly forMs: number;
  /** The same of a failure; none if absent. */
  readonly failedMs?: number;
  /** The answers used least recently are forgotten first. */
  readonly most?: number;
}

/** `isFresh`: it is asked for again in any case. */
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
