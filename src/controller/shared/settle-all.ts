// Requests that are made side by side.

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
