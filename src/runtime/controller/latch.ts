// Something that happens once and is waited for by many.

export interface Latch {
  isOpen(): boolean;
  /** Wakes everybody who waits; again, it does nothing. */
  open(): void;
  /** True as soon as it is open, false if `signal` aborts before. */
  wait(signal?: AbortSignal): Promise<boolean>;
}

export function makeLatch(): Latch {
  const waiting = new Set<() => void>();
  let opened = false;
  return {
    isOpen: () => opened,
    open() {
      opened = true;
      for (const wake of waiting) wake();
    },
    wait(signal) {
      if (opened) return Promise.resolve(true);
      if (signal?.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const finish = (): void => {
          waiting.delete(finish);
          signal?.removeEventListener('abort', finish);
          resolve(opened);
        };
        waiting.add(finish);
        signal?.addEventListener('abort', finish, { once: true });
      });
    },
  };
}
