// Time as an argument. Tests have a clock that moves only when told to (test/support/fake-clock.ts).

/** What the runtime knows of time. */
export interface Clock {
  /** Wall clock, milliseconds since 1970; for what is written down, never for measuring. */
  now(): number;
  /** Milliseconds since some moment; never goes back. */
  elapsed(): number;
  /** Calls `run` once, not before `delayMs` have passed. Returns what cancels it. */
  schedule(delayMs: number, run: () => void): () => void;
}

/** Node cannot count further than this; a longer delay would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  schedule: (delayMs, run) => {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), LONGEST_DELAY_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves when `signal` aborts, or at once if it has. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Milliseconds since 1970 as Kubernetes writes a MicroTime. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** Resolves after `delayMs`, or at once when `signal` aborts; never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const wake = (): void => {
      cancel();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = clock.schedule(delayMs, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
