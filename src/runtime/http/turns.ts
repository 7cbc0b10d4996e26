// Bounds how long readers of bytes that a tenant wrote keep the event loop, all of them together. A reader asks between two small
// steps, such as lines, whether its turn is over: bytes can be chosen so that a few of them cost much.

/** Milliseconds for all readers between two turns of the event loop. A step that has begun is finished. */
const MOST_MS = 10;

export interface Turns {
  /**
   * Undefined while the reader may go on. Otherwise what it waits for: the event loop has then had its turn, and so have readers that
   * waited before.
   */
  over(): Promise<void> | undefined;
}

export interface TurnsOptions {
  /** Milliseconds. */
  readonly now: () => number;
  /** Calls back after the event loop has looked after everything else. */
  readonly later: (callback: () => void) => void;
}

export function makeTurns({ now, later }: TurnsOptions): Turns {
  const waiting: (() => void)[] = [];
  let endsAt = Number.NEGATIVE_INFINITY;

  /** One reader in a turn of the event loop, so that many readers keep it no longer than one. */
  function wake(): void {
    endsAt = now() + MOST_MS;
    waiting.shift()?.();
    if (waiting.length > 0) later(wake);
  }

  return {
    over() {
      if (now() < endsAt) return undefined;
      const turn = new Promise<void>((resolve) => void waiting.push(resolve));
      if (waiting.length === 1) later(wake);
      return turn;
    },
  };
}

/** The turns of this process, which has one event loop. */
export const turns = makeTurns({ now: () => performance.now(), later: (callback) => void setImmediate(callback) });
