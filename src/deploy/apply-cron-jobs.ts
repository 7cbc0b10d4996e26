// Applies the CronJobs of a record: of its tasks, and of the backups of its database and their verifications. They follow the active revision, so a rollout
// that fails changes none of them. Until a revision is active, a database is backed up as soon as it answers: a server that crashes may
// have written to it.

import type { AppRevision } from '../kinds/app-revision.ts';
import { TASK } from '../kinds/meta.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { hasEnded, type Job, jobsOf } from './assess/jobs.ts';
import { type ActionFailure, isOurs, type Observed } from './assess/observed.ts';
import { isRestored } from './assess/restore.ts';
import { ownStoreAnswers } from './assess/stores.ts';
import type { CronJob } from './assess/task-runs.ts';
import { backupChildren, taskChildren } from './children/desired.ts';
import { executePlan, withAppliedDigest } from './cluster/apply.ts';
import { type Action, plan } from './plan/plan.ts';
import { inputsOf, type PlanningOptions } from './plan-children.ts';
import { databaseAsked } from './record/backup-default.ts';
import { isOwnedBy } from './record/metadata.ts';
import { activeRevision } from './record/revisions.ts';

const CRON_JOB_KINDS: ReadonlySet<string> = new Set(['CronJob', 'ScheduledBackup']);

/** Without an active revision there are no tasks yet; what a newer Davit has made stays as it is. */
export async function applyCronJobs(
  observed: Observed,
  latest: AppRevision,
  options: PlanningOptions,
): Promise<readonly ActionFailure[]> {
  const { home, contracts } = options;
  const active = activeRevision(observed.revisions);
  const revision = active ?? latest;
  if (!contracts.has(revision.spec.resolved.contract)) return [];
  const judged = active ? observed : withoutTasks(observed);
  const hasSome = judged.children.some((child) => CRON_JOB_KINDS.has(child.kind) && isOurs(child, observed));
  const isDue = active !== undefined || hasDataToLose(observed, revision);
  const { backup, archive } = databaseAsked(observed.record, options.settings) ?? {};
  const asks = [active?.spec.requested.tasks, backup, archive].some((one) => one !== undefined);
  const isNeeded = isDue && asks;
  if (!isNeeded && !hasSome) return [];
  const inputs = inputsOf(observed, revision, {}, options);
  const tasks = active ? taskChildren(inputs, contracts) : [];
  const desired = [...tasks, ...backupChildren(inputs)].map(withAppliedDigest);
  const { actions, refusals } = plan(desired, judged, CRON_JOB_KINDS);
  const due = actions.flatMap((action) => lettingRunsEnd(action, observed));
  return [...refusals, ...(await executePlan(due, observed.record, home))];
}

/** A deleted CronJob takes its Jobs with it: while one of them runs, it stays and is suspended. */
function lettingRunsEnd(action: Action, observed: Observed): readonly Action[] {
  const { kind, apiVersion, metadata, spec } = action.object as CronJob;
  const isRunning = ({ spec: job, ...one }: Job): boolean => job?.suspend !== true && !hasEnded(one);
  const runs = jobsOf(observed, TASK).filter((job) => isOwnedBy(job, metadata.uid));
  if (action.do !== 'delete' || kind !== 'CronJob' || !runs.some(isRunning)) return [action];
  if (spec?.suspend === true) return [];
  const { name, namespace, uid, labels, annotations, ownerReferences } = metadata;
  const own = { name, namespace, uid, labels, annotations, ownerReferences } as KubeObject['metadata'];
  const suspended = { apiVersion, kind, metadata: own, spec: { ...spec, suspend: true } } as KubeObject;
  return [{ do: 'apply', object: suspended, observed: action.object }];
}

/** Before its restore a database is empty, and an empty dump would be the newest backup. */
function hasDataToLose(observed: Observed, revision: AppRevision): boolean {
  return ownStoreAnswers('postgres', observed) && isRestored(observed, revision);
}

/** No revision says which tasks there are: a restored record may have lost the status of the one that served. */
function withoutTasks(observed: Observed): Observed {
  const { children, names } = observed;
  const isTask = ({ kind, metadata }: KubeObject): boolean =>
    CRON_JOB_KINDS.has(kind) && metadata.name !== names.backup && metadata.name !== names.verification;
  return { ...observed, children: children.filter((child) => !isTask(child)) };
}
