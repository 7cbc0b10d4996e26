import type { Result } from './controller.ts';

/** Requeues after the shortest of these delays (milliseconds), or not at all if every delay is undefined. */
export function earliestRequeue(...waits: readonly (number | undefined)[]): Result {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? { requeueAfterMs: Math.min(...known) } : {};
}
