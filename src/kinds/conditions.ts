// Conditions as plain data: set one, read one. Source: the Kubernetes API conventions, "Typical status properties".

import type { Condition } from './primitives.ts';
import { shortened } from './text.ts';

export interface ConditionInput {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/**
 * The new list of conditions, in the order of `wanted`. lastTransitionTime is kept while the status is unchanged, so that a
 * repeated call changes nothing. Messages are truncated to the schema's maximum, because the API server rejects the whole
 * status for one message that is too long.
 */
export function mergeConditions(
  current: readonly Condition[] | undefined,
  wanted: readonly ConditionInput[],
  observedGeneration: number,
  now: Date,
): Condition[] {
  return wanted.map((condition) => {
    const before = conditionOf(current, condition.type);
    return {
      type: condition.type,
      status: condition.status,
      observedGeneration,
      lastTransitionTime: before?.status === condition.status ? before.lastTransitionTime : rfc3339(now),
      reason: condition.reason,
      message: shortened(condition.message),
    };
  });
}

export function conditionOf<T extends Pick<Condition, 'type'>>(
  conditions: readonly T[] | undefined,
  type: string,
): T | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** RFC 3339 in UTC with whole seconds, as Kubernetes writes times. */
export function rfc3339(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
