// Selects the builds that may start. Within the limits, builds of the tenant with the fewest running builds come first,
// then those that have waited longest. What cannot begin gets no turn, and what has no pod and gets none keeps none.

import type { Job } from '../deploy/assess/jobs.ts';
import { lacksCommit, sameBuild } from '../deploy/record/build-source.ts';
import { imageOf } from '../deploy/record/revision-image.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { type BuildReason, type BuildStatus, isBegun } from '../kinds/build.ts';
import { INTERRUPT_ANNOTATION } from '../kinds/meta.ts';
import type { BuildSettings } from '../kinds/settings.ts';

/** What decides whether an unfinished build has a turn, or could get one. */
export interface Contender {
  /** Undefined if the record or its tenant is gone, or is being deleted. */
  readonly record: AppDeployment | undefined;
  /** The record's revisions, newest first. */
  readonly siblings: readonly AppRevision[];
  readonly job: Job | undefined;
  readonly isPaused: boolean;
}

/**
 * Ids of the queued revisions that may start now, in order. `builds` contains all queued and running builds. `contenderOf` is
 * called only for those that matter.
 */
export function nextTurns(
  builds: readonly AppRevision[],
  { perTenant, total }: BuildSettings['concurrency'],
  contenderOf: (revision: AppRevision) => Contender,
): readonly string[] {
  const running = new Map<string, number>();
  const runningOf = (revision: AppRevision): number => running.get(tenantOf(revision)) ?? 0;
  let free = total;
  const begin = (revision: AppRevision): void => {
    running.set(tenantOf(revision), runningOf(revision) + 1);
    free -= 1;
  };
  for (const revision of withTurn(builds, contenderOf)) begin(revision);
  if (free <= 0) return [];
  const waiting = builds.filter(({ status }) => status?.build?.phase === 'Queued').toSorted(byAge);
  const turns: string[] = [];
  while (free > 0) {
    const fewest = Math.min(...waiting.map(runningOf));
    const next = waiting.findIndex((revision) => runningOf(revision) === fewest);
    const [revision] = fewest < perTenant ? waiting.splice(next, 1) : [];
    if (revision === undefined) break;
    if (!couldBegin(revision, contenderOf(revision))) continue;
    begin(revision);
    turns.push(revision.spec.id);
  }
  return turns;
}

/** Builds that were given their turn and still have it: their pods run, or are about to. */
export function withTurn(
  builds: readonly AppRevision[],
  contenderOf: (revision: AppRevision) => Contender,
): readonly AppRevision[] {
  return builds.filter((revision) => {
    if (!isBegun(revision.status?.build)) return false;
    const { record, job, isPaused } = contenderOf(revision);
    return (job !== undefined && job.spec?.suspend !== true) || (record !== undefined && !isPaused);
  });
}

/** Whether a queued build would begin if it were its turn. */
function couldBegin(revision: AppRevision, { record, siblings, isPaused }: Contender): boolean {
  if (record === undefined || isPaused || isInterrupted(record, revision)) return false;
  // It tries again at intervals, and then asks for its turn.
  if (isHindered(revision.status?.build)) return false;
  if (siblings[0]?.spec.id !== revision.spec.id) return false;
  if (lacksCommit(record, revision)) return false;
  return !siblings.some(
    (other) =>
      other.spec.id !== revision.spec.id &&
      sameBuild(other, revision) &&
      (imageOf(other) !== undefined || isBegun(other.status?.build)),
  );
}

const NO_HINDRANCE: readonly (BuildReason | (string & {}) | undefined)[] = [
  undefined,
  'WaitingForTurn',
  'ReadingCommit',
  'SameSourceBuilding',
  'Paused',
];

/** Whether a queued build lacks more than its turn: a code host that answers, a Secret, or whatever else its reason says. */
export function isHindered(build: BuildStatus | undefined): boolean {
  return !NO_HINDRANCE.includes(build?.reason);
}

export function isInterrupted({ metadata }: AppDeployment, { spec }: AppRevision): boolean {
  return metadata.annotations?.[INTERRUPT_ANNOTATION]?.toLowerCase() === spec.id.toLowerCase();
}

function tenantOf({ metadata }: AppRevision): string {
  return metadata.namespace ?? '';
}

function byAge(a: AppRevision, b: AppRevision): number {
  const [one = '', other = ''] = [a.status?.build?.queuedAt, b.status?.build?.queuedAt];
  if (one !== other) return one < other ? -1 : 1;
  return a.spec.id < b.spec.id ? -1 : 1;
}
