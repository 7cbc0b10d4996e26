// Whether a deployment is where a caller waits for it. Pure.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { conditionOf } from '../../schema/conditions.ts';
import { apiStatus, isLookedAt } from '../record/api-view.ts';
import type { WantedState } from './payloads.ts';
import { presentRevisions } from './revisions/presenter.ts';

/** `made`: the revisions of the record. */
export function hasReached(wanted: WantedState, record: AppDeployment, made: readonly AppRevision[]): boolean {
  if (wanted === 'GONE') return false;
  if (wanted === 'READY') return apiStatus(record) === 'READY';
  const [latest] = presentRevisions(record, made);
  // The controller writes the revision's status before the record's, and the answer shows both. A change that makes no revision
  // is followed too: the number of pods.
  const isSettled = isLookedAt(record) && conditionOf(record.status?.conditions, 'Reconciling')?.status !== 'True';
  return latest?.status === 'DEPLOYED' && record.status?.activeRevisionId === latest.id && isSettled;
}
