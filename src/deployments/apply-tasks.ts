// Applies the CronJobs of the tasks. They follow the active revision, so a rollout that fails changes no task.

import { type ActionFailure, isOurs, type Observed } from './assess/observed.ts';
import { taskChildren } from './children/desired.ts';
import { executePlan, withAppliedDigest } from './cluster/apply.ts';
import { plan } from './plan/plan.ts';
import { inputsOf, type PlanningOptions } from './plan-children.ts';
import { activeRevision } from './record/revisions.ts';

const TASK_KINDS: ReadonlySet<string> = new Set(['CronJob']);

/** Returns what failed. Without an active revision there are no tasks yet; what a newer Davit has made stays as it is. */
export async function applyTasks(observed: Observed, options: PlanningOptions): Promise<readonly ActionFailure[]> {
  const { target, contracts } = options;
  const active = activeRevision(observed.revisions);
  if (!active || !contracts.has(active.spec.resolved.contract)) return [];
  const isNeeded = active.spec.requested.tasks !== undefined;
  if (!isNeeded && !observed.children.some((child) => TASK_KINDS.has(child.kind) && isOurs(child, observed))) return [];
  const desired = taskChildren(inputsOf(observed, active, {}, options), contracts).map(withAppliedDigest);
  const { actions, refusals } = plan(desired, observed, TASK_KINDS);
  return [...refusals, ...(await executePlan(actions, observed.record, target))];
}
