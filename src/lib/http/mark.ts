// Waiting for something to happen, however often it happens meanwhile.

import { setTimeout as sleep } from 'node:timers/promises';

export interface Mark {
  readonly set: () => void;
  readonly clear: () => void;
  /** Resolves when it is set, or after so many milliseconds. One waits at a time. */
  wait(ms: number): Promise<void>;
}

export function makeMark(): Mark {
  let isSet = false;
  let wake = (): void => undefined;
  return {
    set() {
      isSet = true;
      wake();
    },
    clear: () => void (isSet = false),
    async wait(ms) {
      if (isSet) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}

/** Resolves after so many milliseconds, or when `signal` aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
