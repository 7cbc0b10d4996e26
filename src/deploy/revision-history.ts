// Which snapshots of a record are kept, and which are old enough to be collected. Their Secrets of values follow by
// themselves: nothing names them any more (secret-garbage.ts).

import type { AppRevision } from '../kinds/app-revision.ts';
import { isBegun } from '../kinds/build.ts';
import { REVISION_LABEL } from '../kinds/meta.ts';
import { hasEnded, type PodTemplate } from './assess/jobs.ts';
import type { ObservedChildren, Workload } from './assess/observed.ts';
import { isUnended } from './assess/pod-failures.ts';
import { differences } from './record/revision-diff.ts';

/**
 * So many of the newest revisions that were deployed are kept, however many have failed since: one goes back to them. Those of the same
 * values, which restarts and rollbacks make, count once.
 */
const DEPLOYED_KEPT = 3;

/**
 * Revisions to be deleted so that the newest `kept` are left, and beside them: the newest that were deployed, with the active
 * one, those that a workload or pod still runs, the one that the record goes back to, those whose build runs (a newer
 * one may wait for its image), and the newest with a PostgreSQL of its own, by which its major version is known.
 */
export function surplusRevisions(observed: ObservedChildren, kept: number): AppRevision[] {
  const { revisions, record } = observed;
  if (revisions.length <= kept) return [];
  const running = new Set(
    [...observed.pods.filter(isUnended), ...observed.children.flatMap(templatesOf)].map(
      ({ metadata }) => metadata?.labels?.[REVISION_LABEL],
    ),
  );
  const deployed = waysBack(revisions);
  const withDatabase = revisions.find((revision) => revision.spec.resolved.postgres !== undefined);
  const goesBackTo = record.spec.rollbackTo?.toLowerCase();
  return revisions
    .slice(kept)
    .filter(
      (revision) =>
        !deployed.has(revision) &&
        revision !== withDatabase &&
        revision.spec.id !== goesBackTo &&
        !running.has(revision.spec.id) &&
        !isBegun(revision.status?.build) &&
        revision.metadata.deletionTimestamp === undefined,
    );
}

/** The active revision, and the newest that were deployed before it with other values. `revisions` newest first. */
function waysBack(revisions: readonly AppRevision[]): ReadonlySet<AppRevision> {
  const ways = new Set<AppRevision>();
  for (const revision of revisions) {
    if (ways.size === DEPLOYED_KEPT) break;
    if (revision.status?.state !== 'DEPLOYED') continue;
    if ([...ways].every((way) => differences(way, revision).length > 0)) ways.add(revision);
  }
  return ways;
}

/** None of a Job that has ended. */
function templatesOf(child: Workload): PodTemplate[] {
  if (child.kind === 'Job' && hasEnded(child)) return [];
  return child.spec?.template ? [child.spec.template] : [];
}
