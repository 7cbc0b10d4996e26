// Since when a record is Stalled for its present reason. lastTransitionTime does not say so: it stays while Stalled stays True,
// whatever the reasons are.

import type { AppDeploymentStatus } from '../kinds/app-deployment.ts';
import { conditionOf, rfc3339 } from '../kinds/conditions.ts';
import type { Condition } from '../kinds/primitives.ts';

type Dated = Pick<AppDeploymentStatus, 'conditions' | 'stalledReasonSince'>;

/** The field of the new status. It is absent while lastTransitionTime of Stalled says the same. */
export function stalledReasonSince(
  before: Dated | undefined,
  conditions: readonly Condition[],
  now: Date,
): Pick<AppDeploymentStatus, 'stalledReasonSince'> {
  const was = conditionOf(before?.conditions, 'Stalled');
  const is = conditionOf(conditions, 'Stalled');
  if (was?.status !== 'True' || is?.status !== 'True') return {};
  if (was.reason !== is.reason) return { stalledReasonSince: rfc3339(now) };
  return before?.stalledReasonSince === undefined ? {} : { stalledReasonSince: before.stalledReasonSince };
}

/** Milliseconds since 1970 at which Stalled became True for its present reason; undefined if it is not True. */
export function stalledFrom(status: Dated | undefined): number | undefined {
  const stalled = conditionOf(status?.conditions, 'Stalled');
  if (stalled?.status !== 'True') return undefined;
  return Date.parse(status?.stalledReasonSince ?? stalled.lastTransitionTime);
}
