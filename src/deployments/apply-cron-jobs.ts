// Applies the CronJobs of a record: of its tasks, and of the backups of its database. They follow the active revision, so a rollout
// that fails changes none of them.

import { type ActionFailure, isOurs, type Observed } from './assess/observed.ts';
import { backupChildren, taskChildren } from './children/desired.ts';
import { executePlan, withAppliedDigest } from './cluster/apply.ts';
import { plan } from './plan/plan.ts';
import { inputsOf, type PlanningOptions } from './plan-children.ts';
import { activeRevision } from './record/revisions.ts';

const CRON_JOB_KINDS: ReadonlySet<string> = new Set(['CronJob']);

/** Returns what failed. Without an active revision there are no tasks yet; what a newer Davit has made stays as it is. */
export async function applyCronJobs(observed: Observed, options: PlanningOptions): Promise<readonly ActionFailure[]> {
  const { target, contracts } = options;
  const active = activeRevision(observed.revisions);
  if (!active || !contracts.has(active.spec.resolved.contract)) return [];
  const { tasks } = active.spec.requested;
  const { database } = observed.record.spec.sourceConfig;
  const isNeeded = tasks !== undefined || database?.backup !== undefined;
  if (!isNeeded && !observed.children.some((child) => CRON_JOB_KINDS.has(child.kind) && isOurs(child, observed)))
    return [];
  const inputs = inputsOf(observed, active, {}, options);
  const desired = [...taskChildren(inputs, contracts), ...backupChildren(inputs)].map(withAppliedDigest);
  const { actions, refusals } = plan(desired, observed, CRON_JOB_KINDS);
  return [...refusals, ...(await executePlan(actions, observed.record, target))];
}
