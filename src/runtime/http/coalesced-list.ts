// Before a 404 the facade lists the records at the API server, in case the cache is behind. It lists at most once a second for
// each key: later lookups share the next list.

import { LruMap } from 'toad-cache';

export interface FreshListOptions {
  readonly now: () => Date;
  readonly sleep: (ms: number) => Promise<void>;
}

const EVERY_MS = 1000;
const REMEMBERED = 10_000;

interface Turn {
  readonly startsAt: number;
  /** The list that has not begun. A running list may be older than the object that is looked up. */
  waiting: Promise<unknown> | undefined;
}

export type FreshList = <T>(key: string, list: () => Promise<T>) => Promise<T>;

/** Runs `list` at most once a second for each key. It begins after the call, so it contains every object created before. */
export function makeFreshList({ now, sleep }: FreshListOptions): FreshList {
  const turns = new LruMap<Turn>(REMEMBERED);
  return <T>(key: string, list: () => Promise<T>): Promise<T> => {
    const at = now().getTime();
    const before = turns.get(key);
    if (before?.waiting !== undefined) return before.waiting as Promise<T>;
    const startsAt = before === undefined ? at : Math.max(at, Math.min(before.startsAt, at) + EVERY_MS);
    const turn: Turn = { startsAt, waiting: undefined };
    turns.set(key, turn);
    if (startsAt === at) return list();
    const waiting = sleep(startsAt - at).then(() => {
      turn.waiting = undefined;
      return list();
    });
    turn.waiting = waiting;
    return waiting;
  };
}
