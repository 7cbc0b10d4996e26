// Is a revision rolled out whole: its own PostgreSQL and Redis in their newest template and ready, and every pod of every
// part?

import type { AppRevision } from '../../api/app-revision.ts';
import { STORE_PARTS } from '../../api/meta.ts';
import { rolesOf, scaleOf } from '../../record/scale.ts';
import { type ActionFailure, failureOfKind, type Observed } from '../observed.ts';
import { type Entry, fail, firstProblem } from './entry.ts';
import { isReadyPod, podsOf } from './pod-failures.ts';
import { isOwn, ownStoreAnswers } from './stores.ts';
import { isRolled, runningRevision } from './workloads.ts';

/** Of the latest revision, for stores have the template of that one. `database` and `redis` count where they are its own. */
export function rolloutOf(
  revision: AppRevision,
  { workloads, database, redis }: { readonly workloads: Entry; readonly database: Entry; readonly redis: Entry },
  failures: readonly ActionFailure[],
): Entry {
  if (workloads.is !== 'pass') return workloads;
  const store = firstProblem([
    isOwn('postgres', revision) ? database : undefined,
    isOwn('redis', revision) ? redis : undefined,
  ]);
  // What answers is of the settings before.
  const problem = store ?? failureOfKind('StatefulSet', failures);
  return problem ? fail(problem.reason, problem.message) : workloads;
}

/**
 * Did this revision, which a newer one has overtaken, come to serve? `before` is what was there when the pass began: in it the
 * workloads may still be those of this revision. After a crash its pods tell.
 */
export function hasServed(before: Observed, after: Observed, revision: AppRevision): boolean {
  if (revision.spec.resolved.image === undefined) return false;
  return isRolledOut(before, revision) || [before, after].some((observed) => podsServe(observed, revision));
}

/** Only where no newer revision has touched the stores yet. */
function isRolledOut(observed: Observed, revision: AppRevision): boolean {
  return (
    runningRevision(observed)?.spec.id === revision.spec.id &&
    isRolled(observed, revision) &&
    STORE_PARTS.every((part) => !isOwn(part, revision) || ownStoreAnswers(part, observed))
  );
}

/** Every part has as many Ready pods of this revision as it must have at least, and none that is not Ready. */
function podsServe(observed: Observed, revision: AppRevision): boolean {
  const { resolved, id } = revision.spec;
  if (resolved.server.maxScale === 0) return false;
  const isOnly = !observed.revisions.some(({ status }) => status?.state === 'DEPLOYED');
  return rolesOf(resolved).every((role) => {
    const pods = podsOf(observed, role, id).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const scale = scaleOf(resolved, role);
    const fewest = scale.kind === 'range' ? scale.min : scale.replicas;
    // Of one that nothing served before, fewer are proof enough: its surplus may have given way to the newer already.
    return pods.length >= (isOnly ? Math.min(1, fewest) : fewest) && pods.every(isReadyPod);
  });
}
