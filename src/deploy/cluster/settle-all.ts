import type { ActionFailure } from '../assess/observed.ts';

/**
 * Same as Promise.all, but rejects only after every promise has settled, so that no request is still running when the
 * next reconcile starts.
 */
export async function settleAll<T extends readonly unknown[]>(
  underWay: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  await Promise.allSettled(underWay);
  return Promise.all(underWay);
}

/** Waits for every promise to settle and returns the failures. */
export async function settleFailures(
  underWay: readonly Promise<ActionFailure | undefined>[],
): Promise<ActionFailure[]> {
  return (await settleAll(underWay)).filter((failure) => failure !== undefined);
}
