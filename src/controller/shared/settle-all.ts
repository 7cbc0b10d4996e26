// Requests that are made side by side.

import type { ActionFailure } from '../../decide/observed.ts';

/**
 * As Promise.all, but a failure is thrown only once everything is over, so that nothing goes on behind the next
 * reconcile's back.
 */
export async function settleAll<T extends readonly unknown[]>(
  underWay: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  await Promise.allSettled(underWay);
  return Promise.all(underWay);
}

/** What failed of work that is under way, once all of it is over. */
export async function settleFailures(
  underWay: readonly Promise<ActionFailure | undefined>[],
): Promise<ActionFailure[]> {
  return (await settleAll(underWay)).filter((failure) => failure !== undefined);
}
