// The revision that a record wants: the current one, or a new one that the pass creates.

import type { EventRecorder } from '../lib/controller/events.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision, AppRevisionSpec } from '../schema/app-revision.ts';
import type { ActionFailure, Observed } from './assess/observed.ts';
import { contractUnknown } from './assess/pod-contract.ts';
import { makeRevision } from './children/app-revision.ts';
import { newestOf } from './children/contracts.ts';
import { makeTracingProject } from './children/tracing-project.ts';
import { makeOnce, makeRevisionOnce, withAppliedDigest } from './cluster/apply.ts';
import type { Cluster } from './cluster/cluster.ts';
import { settleAll } from './cluster/settle-all.ts';
import type { Ended, ReconcilerOptions } from './pass.ts';
import { dataThere } from './plan/adoption.ts';
import { type Rotation, rotationOf } from './plan/rotation.ts';
import { sharingPods } from './plan/shared-pods.ts';
import { childrenOf, prefetchDryRuns } from './plan-children.ts';
import type { DryRunResult } from './pod-dry-run.ts';
import { scaledBy } from './record/scaled.ts';
import { wantedRevision } from './record/wanted-revision.ts';

export interface EnsuredRevision {
  readonly latest: AppRevision;
  readonly rotation: Rotation;
  /** Results of pods that were dry-run while the revision was being created. */
  readonly dryRuns: readonly DryRunResult[];
  readonly failures: readonly ActionFailure[];
}

/**
 * Also creates the record's tracing project. `isComplete`: whether all Secrets and keys that the pods reference exist; otherwise the
 * pods are not tried.
 */
export async function ensureRevision(
  observed: Observed,
  isComplete: boolean,
  options: ReconcilerOptions,
): Promise<EnsuredRevision | Ended> {
  const { record, revisions } = observed;
  const { home, settings } = options;
  const newest = newestOf(options.contracts);
  const pushed = options.pushedCommit(record);
  const wanted = wantedRevision(record, revisions, settings, dataThere(observed), newest, pushed);
  if ('none' in wanted) return ended(undefined, await ensureTracingProject(observed, home));
  const isNew = 'create' in wanted;
  const draft = isNew ? draftOf(observed, wanted.create, options) : wanted.current;
  const rotation = rotationOf(observed, draft);
  // These run concurrently: the result of a pod's dry run does not depend on whether its revision exists.
  const [failures, revision, dryRuns] = await settleAll([
    ensureTracingProject(observed, home),
    isNew ? makeRevisionOnce(record, draft.spec, home) : draft,
    isNew && isComplete ? prefetchDryRuns(observed, draft, rotation.digests, options) : [],
  ]);
  if ('reason' in revision) return ended(revisions[0], [...failures, revision]);
  const latest = scaledBy(record.spec, revision, settings);
  if (isNew && wanted.ignoredRollback !== undefined)
    warnIgnoredRollback(record, wanted.ignoredRollback, options.events);
  const unknown = contractUnknown(latest, newest);
  return unknown ? ended(latest, [...failures, unknown]) : { latest, rotation, dryRuns, failures };
}

function ended(latest: AppRevision | undefined, refusals: readonly ActionFailure[]): Ended {
  return { ended: { latest, refusals } };
}

/** The new revision, with the ids of running pods that are its own too (plan/shared-pods.ts). */
function draftOf(observed: Observed, spec: AppRevisionSpec, options: ReconcilerOptions): AppRevision {
  return sharingPods(observed, makeRevision(observed.record, spec), (revision) =>
    childrenOf(observed, revision, rotationOf(observed, revision).digests, options).map(withAppliedDigest),
  );
}

// An existing project of that name is reused, whoever created it.
async function ensureTracingProject(
  { record, tracingProject }: Pick<Observed, 'record' | 'tracingProject'>,
  home: Cluster,
): Promise<readonly ActionFailure[]> {
  if (tracingProject !== undefined) return [];
  const created = await makeOnce(makeTracingProject(record), record, home);
  return 'reason' in created && created.reason !== 'NameConflict' ? [created] : [];
}

/** Informs people who set rollbackTo without the old values that no rollback happens. */
function warnIgnoredRollback(record: AppDeployment, note: string, events: EventRecorder): void {
  events.record({ regarding: record, type: 'Warning', reason: 'RollbackIgnored', action: 'Deploy', note });
}
