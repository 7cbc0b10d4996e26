// The revision that a record wants (record/wanted-revision.ts): the current one, or a new one that the pass creates.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision, AppRevisionSpec } from '../kinds/app-revision.ts';
import type { EventRecorder } from '../runtime/controller/events.ts';
import { NO_BUILDER } from './assess/build.ts';
import { type ActionFailure, type Observed, refTo } from './assess/observed.ts';
import { isRestored } from './assess/restore.ts';
import { makeRevision } from './children/app-revision.ts';
import { newestOf } from './children/contracts.ts';
import { makeTracingProject } from './children/tracing-project.ts';
import { makeOnce, makeRevisionOnce, withAppliedDigest } from './cluster/apply.ts';
import type { Cluster } from './cluster/cluster.ts';
import { settleAll } from './cluster/settle-all.ts';
import { revisionsToMakeFrom, scaleInForce } from './in-force.ts';
import type { Ended, ReconcilerOptions } from './pass.ts';
import { dataThere } from './plan/adoption.ts';
import { digestsInstead, type Rotation, rotationOf } from './plan/rotation.ts';
import { sharingPods } from './plan/shared-pods.ts';
import { childrenOf, prefetchDryRuns } from './plan-children.ts';
import { databaseNumberOf, moveOf } from './record/database-move.ts';
import { names } from './record/names.ts';
import type { DataThere } from './record/resolved-values.ts';
import { type WantedRevision, wantedRevision } from './record/wanted-revision.ts';
import type { DryRunResult } from './send-dry-runs.ts';

export interface EnsuredRevision {
  readonly latest: AppRevision;
  readonly rotation: Rotation;
  /** Results of pods that were dry-run while the revision was being created. */
  readonly dryRuns: readonly DryRunResult[];
  readonly failures: readonly ActionFailure[];
}

/**
 * Also creates the record's tracing project. `isAccepted`: whether the record complies with the policy; otherwise it gets no new
 * revision. `isComplete`: whether all Secrets and keys that the pods reference exist; otherwise the pods are not tried.
 */
export async function ensureRevision(
  observed: Observed,
  { isAccepted, isComplete }: { readonly isAccepted: boolean; readonly isComplete: boolean },
  options: ReconcilerOptions,
): Promise<EnsuredRevision | Ended> {
  const { record } = observed;
  const { home, settings } = options;
  const newest = newestOf(options.contracts);
  const wanted: WantedNow = isAccepted ? wantedNow(observed, options, newest) : { waits: [] };
  if ('waits' in wanted)
    return keepNewest(observed, [...(await ensureTracingProject(observed, home)), ...wanted.waits], newest);
  const isNew = 'create' in wanted;
  const draft = isNew ? draftOf(observed, wanted.create, options) : wanted.current;
  const rotation = rotationOf(observed, draft);
  const isMove = databaseNumberOf(draft) !== observed.names.databaseNumber;
  // These run concurrently: the result of a pod's dry run does not depend on whether its revision exists.
  const [failures, revision, dryRuns] = await settleAll([
    ensureTracingProject(observed, home),
    isNew ? makeRevisionOnce(record, draft.spec, home) : draft,
    isNew && isComplete && !isMove ? prefetchDryRuns(observed, draft, rotation.digests, options) : [],
  ]);
  if ('reason' in revision) return keepNewest(observed, [...failures, revision], newest);
  // What was observed is of the database before.
  if (isMove) return { ended: { latest: revision, refusals: failures, requeueAfterMs: 1 } };
  const latest = scaleInForce(observed, revision, settings);
  if (isNew && wanted.ignoredRollback !== undefined)
    warnIgnoredRollback(record, wanted.ignoredRollback, options.events);
  return ofKnownContract({ latest, rotation, dryRuns, failures }, newest);
}

/** While the next revision cannot be made, the newest one is looked after. */
function keepNewest(observed: Observed, failures: readonly ActionFailure[], contract: number): EnsuredRevision | Ended {
  const [latest] = observed.revisions;
  if (!latest) return { ended: { latest, refusals: failures } };
  const rotation = { ...rotationOf(observed, latest), digests: digestsInstead(observed, latest) };
  return ofKnownContract({ latest, rotation, dryRuns: [], failures }, contract);
}

function ofKnownContract(ensured: EnsuredRevision, contract: number): EnsuredRevision | Ended {
  const { latest, failures } = ensured;
  const unknown = contractUnknown(latest, contract);
  return unknown ? { ended: { latest, refusals: [...failures, unknown] } } : ensured;
}

type WantedNow =
  | Extract<WantedRevision, { readonly create: unknown } | { readonly current: unknown }>
  /** No revision is made now. Empty where something else says why. */
  | { readonly waits: readonly ActionFailure[] };

/** With the file that the revision needs, if it is known. Otherwise its reading has begun. */
function wantedNow(observed: Observed, options: ReconcilerOptions, contract: number): WantedNow {
  const { record } = observed;
  const { settings, pushedCommit, codeFile } = options;
  const revisions = revisionsToMakeFrom(observed, options);
  const data = dataOfWanted(observed);
  const found = { pushed: pushedCommit(record), move: moveOf(observed.operation, revisions) };
  const first = wantedRevision(record, revisions, settings, data, contract, found);
  if ('none' in first) return { waits: [] };
  if (!('needs' in first)) return first;
  const file = codeFile(record, first.needs);
  if ('waits' in file) return { waits: [unread(observed, file.waits)] };
  const wanted = wantedRevision(record, revisions, settings, data, contract, { ...found, file });
  if ('none' in wanted || 'needs' in wanted) throw new TypeError(`${file.path} is not the file that was needed`);
  return wanted;
}

/** What is known of the data that the next revision uses. A new database is not smaller than the one before. */
function dataOfWanted(observed: Observed): DataThere {
  const { record, revisions } = observed;
  const data = dataThere(observed);
  const move = moveOf(observed.operation, revisions);
  if (!move) return data;
  const there = dataThere({ ...observed, names: names(record.metadata.name, move.to.number) });
  const [newest] = revisions;
  // The first one begins with what the record names, whenever it is gone back to.
  const isUnloaded = newest !== undefined && move.from.number > 0 && !isRestored(observed, newest);
  return {
    ...there,
    storageGi: Math.max(data.storageGi ?? 0, there.storageGi ?? 0),
    ...(isUnloaded && { unloaded: move.from.number }),
  };
}

function unread({ record, canBuild }: Pick<Observed, 'record' | 'canBuild'>, waits: string): ActionFailure {
  const ref = refTo(record);
  return canBuild === true
    ? { reason: 'FileUnread', ref, message: waits }
    : { reason: 'BuilderNotConfigured', ref, message: NO_BUILDER };
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

/** `newest`: the highest version of the pod contract that there are makers of. Undefined where the revision is known. */
function contractUnknown({ metadata, spec }: AppRevision, newest: number): ActionFailure | undefined {
  const { contract } = spec.resolved;
  if (contract <= newest) return undefined;
  return {
    reason: 'ContractUnknown',
    ref: { kind: 'AppRevision', name: metadata.name },
    message: `A newer version of Davit created revision ${spec.id}: it uses pod contract ${contract}, and this version supports contracts up to ${newest}. Running pods are neither changed nor repaired. Upgrade the controller again, or raise spec.revisionSerial by one for a new revision, which restarts the pods.`,
  };
}
