// Is a revision rolled out whole: its own PostgreSQL and Redis in their newest template and ready, and every pod of every
// part?

import type { AppRevision } from '../../kinds/app-revision.ts';
import { STORE_PARTS } from '../../kinds/meta.ts';
import { imageOf } from '../record/revision-image.ts';
import { type Entry, fail, firstProblem, unfinished } from './entry.ts';
import { migrationOf } from './migration.ts';
import { type ActionFailure, failureOfKind, type Observed } from './observed.ts';
import { isRolled } from './rolled-parts.ts';
import { isOwn, ownStoreAnswers } from './stores.ts';
import { runningRevision } from './workloads.ts';

/** For the latest revision, because stores have its template. `database` and `redis` count only if they are own ones. */
export function rolloutOf(
  revision: AppRevision,
  { workloads, database, redis }: { readonly workloads: Entry; readonly database: Entry; readonly redis: Entry },
  failures: readonly ActionFailure[],
): Entry {
  if (workloads.is !== 'pass') return workloads;
  const own = [...(isOwn('postgres', revision) ? [database] : []), ...(isOwn('redis', revision) ? [redis] : [])];
  const store = firstProblem(own) ?? firstProblem(own.map(unfinished));
  // What answers is of the settings before.
  const problem = store ?? failureOfKind('StatefulSet', failures) ?? failureOfKind('Cluster', failures);
  return problem ? fail(problem.reason, problem.message) : workloads;
}

/**
 * Whether this revision serves completely in `before`, what there was before a newer one touched anything: its own PostgreSQL
 * and Redis answer, and every pod of every part runs it. Later its pods alone prove nothing: the stores are the newer one's.
 */
export function hasServed(before: Observed, revision: AppRevision): boolean {
  return (
    imageOf(revision) !== undefined &&
    // At a scale of zero nothing serves.
    revision.spec.resolved.server.maxScale > 0 &&
    runningRevision(before)?.spec.id === revision.spec.id &&
    isRolled(before, revision) &&
    migrationOf(before, revision).is === 'done' &&
    STORE_PARTS.every((part) => !isOwn(part, revision) || ownStoreAnswers(part, before))
  );
}
