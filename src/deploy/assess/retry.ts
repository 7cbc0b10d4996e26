// When a record that the API server refused something comes again: no watch tells that a quota was raised, a policy
// lifted or a foreign object removed.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { ActionFailure } from './observed.ts';

const SHORTEST_MS = 1_000;
/** The longest time between two attempts. */
const LONGEST_MS = 60_000;
/** Time for a pass that a watch has woken. */
const PASS_MS = 10_000;

/** What the world may mend without a word. A volume that cannot shrink is not among them: the record must change. */
const MENDED_ELSEWHERE: ReadonlySet<string> = new Set<ActionFailure['reason']>([
  'ApplyRefused',
  'NameConflict',
  'PodsRefused',
]);

/** Milliseconds within which the controller judges again a record that is Stalled for this reason: a repair is known after them. */
export function judgedAgainWithinMs(reason: string): number {
  return MENDED_ELSEWHERE.has(reason) ? LONGEST_MS + PASS_MS : PASS_MS;
}

/**
 * Milliseconds until the next attempt: the time for which the record has been Stalled, between a second and a minute, so that
 * the delays double. While an operation holds the record it is not Stalled, and the time for which it is not Ready counts. Undefined if no
 * failure can resolve without a change by a person.
 */
export function retryAfterMs(record: AppDeployment, refusals: readonly ActionFailure[], now: Date): number | undefined {
  if (!refusals.some(({ reason }) => MENDED_ELSEWHERE.has(reason))) return undefined;
  const { conditions } = record.status ?? {};
  const [stalled, ready] = [conditionOf(conditions, 'Stalled'), conditionOf(conditions, 'Ready')];
  const failing = stalled?.status === 'True' ? stalled : ready?.status === 'False' && ready;
  const since = failing ? Date.parse(failing.lastTransitionTime) : now.getTime();
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, now.getTime() - since));
}
