// Which image, commit and migration a new revision takes over from an earlier one.

import type { AppRevision, Requested } from '../../kinds/app-revision.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import { sameJson } from '../../runtime/json-value.ts';
import { type Commit, commitOf, commitWordsOf } from './build-source.ts';
import { canonical } from './canonical.ts';
import { databaseNumberOf, type MoveRequest } from './database-move.ts';
import { ownRequested } from './file-values.ts';
import { keepsBuild, sameRequested } from './requested.ts';
import { withoutScale } from './requested-scale.ts';
import { imageOf } from './revision-image.ts';
import type { Rollback } from './rollback.ts';

/** The part of an earlier build that a new revision deploys. */
export interface KeptBuild {
  /** The image that was built. Absent if it is still to be built, or if the values of the revision name an image. */
  readonly image?: string | undefined;
  /** Absent if the build takes the newest commit of the branch. */
  readonly commit?: Commit | undefined;
  /** Whether the migration has nothing to do. An older migration must not run after a newer one. */
  readonly migrated?: boolean;
}

/**
 * The build that a new revision takes over, unless a push requested it. `own`: newest first. `rebuilds`: a person requested the newest
 * commit, whatever else has changed. `move`: the database that an operation gives the revision.
 */
export function keptBuild(
  requested: Requested,
  own: readonly AppRevision[],
  rollback: Rollback,
  { rebuilds, move }: { readonly rebuilds: boolean; readonly move: Pick<MoveRequest, 'hasData'> | undefined },
): KeptBuild {
  const from = rollback.of ?? own[0];
  if (from === undefined) return {};
  const image = imageOf(from);
  const migrated = hasMigrated(from) && (move?.hasData ?? isOfDatabase(from, own));
  if (rollback.is === 'taken') return { image, commit: knownCommitOf(from), migrated };
  if (rebuilds) return { migrated: false };
  const isKept = migrated && !move && changesSizesAlone(requested, ownRequested(from.spec));
  if (!keepsBuild(requested, from, move !== undefined)) return { migrated: isKept };
  // Only a newer commit can correct a file that was not valid.
  if (from.spec.file?.failure) return { migrated: isKept };
  const commit = knownCommitOf(image === undefined && rollback.of === undefined ? { spec: from.spec } : from);
  return { image, commit, migrated: isKept || (migrated && from !== own[0]) };
}

/**
 * Whether the migration of `from` counts for the database that the record has now. It ran there, or that of another revision did, and an
 * older one must not run after it.
 */
function isOfDatabase(from: AppRevision, own: readonly AppRevision[]): boolean {
  const number = databaseNumberOf(own[0] ?? from);
  const sharing = own.filter((one) => databaseNumberOf(one) === number);
  return sharing.includes(from) || sharing.some(hasMigrated);
}

/** The commit of a revision, with its author and message. Without a status: the commit that it was created for. */
function knownCommitOf(revision: Pick<AppRevision, 'spec' | 'status'>): Commit | undefined {
  const commit = commitOf(revision);
  return commit === undefined ? undefined : { commit, ...commitWordsOf(revision) };
}

/**
 * Whether the two differ only in sizes and tasks, so that a migration that ran for one has nothing to do for the other. A request without
 * a change runs the migration again.
 */
function changesSizesAlone(requested: Requested, before: Requested): boolean {
  const valuesOf = ({ resourceSpec = {}, deploymentType: _preset, tasks: _tasks, ...rest }: Requested): unknown => {
    const others = Object.entries(resourceSpec).filter(([, value]) => typeof value !== 'number');
    const { parts: _parts, runtime, ...values } = withoutScale({ ...rest, resourceSpec: Object.fromEntries(others) });
    return { ...values, runtime: withoutWorkerSizes(runtime) };
  };
  return !sameRequested(requested, before) && sameJson(valuesOf(canonical(requested)), valuesOf(canonical(before)));
}

function withoutWorkerSizes({ workers = {}, ...runtime }: Readonly<Runtime> = {}): Runtime {
  const unsized = Object.entries(workers).map(
    ([name, { cpu: _cpu, cpuLimit: _cpuLimit, memoryMb: _memory, memoryLimitMb: _memoryLimit, ...worker }]) =>
      [name, worker] as const,
  );
  return { ...runtime, workers: Object.fromEntries(unsized) };
}

/** Whether the revision has a migration that has succeeded. */
export function hasMigrated({ spec, status }: AppRevision): boolean {
  if (!spec.requested.runtime?.migrate) return false;
  // Of revisions in a listener's cluster, the hub knows only the state.
  return spec.resolved.migrated === true || status?.migration?.phase === 'Succeeded' || status?.state === 'DEPLOYED';
}

/** The newest commit of the branch from which a revision was created, even if that revision has been deleted. `own`: newest first. */
export function branchCommitOf(own: readonly AppRevision[]): string | undefined {
  const known = own.find((revision) => commitOf(revision) !== undefined);
  return known && (known.spec.branchCommit ?? commitOf(known));
}
