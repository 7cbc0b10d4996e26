// Applies the children of a revision: those with data first, then the others as far as these failures allow.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import type { EventRecorder } from '../runtime/controller/events.ts';
import { type ActionFailure, childOf, type Observed, type ObservedRecord } from './assess/observed.ts';
import { mayStartPods } from './assess/pod-starts.ts';
import { makeStoreSecret } from './children/database/wal-archive.ts';
import { executePlan, makeOnce, withAppliedDigest } from './cluster/apply.ts';
import type { EnsuredRevision } from './ensure-revision.ts';
import { guardStores } from './guard-stores.ts';
import type { ReconcilerOptions } from './pass.ts';
import { correctionsOf } from './plan/corrections.ts';
import { partitionByData, withoutUnsafe } from './plan/plan.ts';
import { changedSets, childrenOf, inputsOf, planAllowed } from './plan-children.ts';
import { driverOf } from './record/database-driver.ts';
import { startRestore } from './run-jobs.ts';

export interface ChildrenInputs extends EnsuredRevision {
  /** Whether all Secrets and keys that the pods reference exist. */
  readonly isComplete: boolean;
  /** The host of the address object, if there is to be one. */
  readonly host: string | undefined;
}

export interface AppliedChildren {
  /** With those that the pass had before. */
  readonly failures: readonly ActionFailure[];
  /** Names of the StatefulSets and Clusters that were changed. */
  readonly changed: ReadonlySet<string>;
  /** Whether the migration of the latest revision has to start. */
  readonly migrates: boolean;
  /** Whether pods may be replaced after what has failed. */
  readonly mayReplacePods: boolean;
}

export async function applyChildren(
  observed: Observed,
  { latest, rotation, dryRuns, failures: earlier, isComplete, host }: ChildrenInputs,
  options: ReconcilerOptions,
): Promise<AppliedChildren> {
  const { record } = observed;
  const { home } = options;
  const planned = await planAllowed(
    {
      observed,
      latest,
      isComplete,
      guard: (stores) => guardStores(stores, observed, latest, home),
      digests: rotation.digests,
      render: (revision, digests) => childrenOf(observed, revision, digests, options, host).map(withAppliedDigest),
      dryRuns,
    },
    options,
  );
  const { actions, lost, refusals } = planned;
  const [data, rest] = partitionByData(actions);
  const secret = lost.length > 0 ? [] : await ensureStoreSecret(observed, latest, options);
  const volumes = lost.length > 0 || secret.length > 0 ? secret : await executePlan(data, record, home);
  const before = [...earlier, ...lost, ...refusals, ...volumes];
  const performed = await executePlan(withoutUnsafe(rest, before), record, home);
  const corrections = correctionsOf(actions, [...volumes, ...performed], isDeployed(observed, latest));
  recordCorrections(record, corrections, options.events);
  const changed = changedSets(actions, home);
  const applied = [...before, ...performed];
  const restores = changed.size === 0 && mayStartPods(applied) ? await startRestore(observed, latest, options) : [];
  const failures = [...applied, ...restores];
  return {
    failures,
    changed,
    // What stops no rollout stops no migration.
    migrates: planned.migrates === true && changed.size === 0 && mayStartPods(failures),
    mayReplacePods: mayStartPods(before),
  };
}

/**
 * The Secret with what an ObjectStore says of the store, before instances mount it. Its name follows from its content, so it is created once
 * and never changed.
 */
async function ensureStoreSecret(
  observed: Observed,
  latest: AppRevision,
  options: ReconcilerOptions,
): Promise<ActionFailure[]> {
  const { postgres } = latest.spec.resolved;
  if (postgres === undefined || driverOf(postgres) !== 'cloudnative-pg') return [];
  const secret = makeStoreSecret(inputsOf(observed, latest, {}, options));
  if (!secret || childOf(observed, 'Secret', secret.metadata.name)) return [];
  const made = await makeOnce(secret, observed.record, options.home);
  return 'reason' in made ? [made] : [];
}

/** Whether the revision was deployed when the pass began, and the record has not changed since. */
function isDeployed({ record: { metadata, status } }: ObservedRecord, latest: AppRevision): boolean {
  return latest.status?.state === 'DEPLOYED' && status?.observedGeneration === metadata.generation;
}

/** Informs people whose change was put back. */
function recordCorrections(record: AppDeployment, notes: readonly string[], events: EventRecorder): void {
  for (const note of notes)
    events.record({ regarding: record, type: 'Normal', reason: 'DriftCorrected', action: 'Repair', note });
}
