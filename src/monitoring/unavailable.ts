// Since when a record with a deployed revision does not serve, although somebody wants it to.

import { stoppedForMove } from '../deployments/record/moving-database.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { REASONS, type Reason } from '../schema/app-deployment-conditions.ts';
import { conditionOf } from '../schema/conditions.ts';
import { reasonLabel } from './outcomes.ts';

/** States of records that run nothing as somebody wanted it, or of which nothing is known here. */
const WITHOUT_SERVICE: readonly string[] = ['UNUSED', 'AWAITING_DELETE'];
const NOT_HERE: readonly string[] = ['Paused', 'ListenerSilent'] satisfies Reason[];

/** `at`: seconds since 1970. A scale of zero for a move of the database, which is not finished, is nobody's wish. */
export function unavailable(record: AppDeployment): { readonly reason: string; readonly at: number } | undefined {
  const { status } = record;
  const available = conditionOf(status?.conditions, 'Available');
  if (available?.status !== 'False' || status?.activeRevisionId === undefined) return undefined;
  if (NOT_HERE.includes(available.reason)) return undefined;
  const isStopped = status.state === 'UNUSED' && stoppedForMove(record) !== undefined;
  if (WITHOUT_SERVICE.includes(status.state ?? '') && !isStopped) return undefined;
  return { reason: reasonLabel(available.reason, REASONS), at: Date.parse(available.lastTransitionTime) / 1000 };
}
