// When a key is looked at again.

import type { Result } from '../../runtime/controller.ts';

/** The earliest of these; none where none is known. */
export function earliestRequeue(...waits: readonly (number | undefined)[]): Result {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? { requeueAfterMs: Math.min(...known) } : {};
}
