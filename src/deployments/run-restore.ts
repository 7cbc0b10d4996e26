// The restore with which a database begins, in a pass: its Job is created as soon as PostgreSQL answers.

import type { AppRevision } from '../schema/app-revision.ts';
import type { ActionFailure, Observed } from './assess/observed.ts';
import { mayRestore } from './assess/restore.ts';
import { restoreJob } from './children/desired.ts';
import { makeOnce } from './cluster/apply.ts';
import { inputsOf, type PlanningOptions } from './plan-children.ts';

export async function startRestore(
  observed: Observed,
  revision: AppRevision,
  options: PlanningOptions,
): Promise<ActionFailure[]> {
  if (!mayRestore(observed, revision)) return [];
  const job = restoreJob(inputsOf(observed, revision, {}, options));
  const created = job && (await makeOnce(job, observed.record, options.home));
  return created && 'reason' in created ? [created] : [];
}
