// Selects the builds that may start. Within the limits, builds of the tenant with the fewest running builds come first,
// then those that have waited longest.

import type { AppRevision } from '../../api/app-revision.ts';
import { isBegun } from '../../api/build.ts';
import type { BuildSettings } from '../../api/settings.ts';

/** Ids of the queued revisions that may start now, in order. `builds` contains all queued and running builds. */
export function nextTurns(
  builds: readonly AppRevision[],
  { perTenant, total }: BuildSettings['concurrency'],
): readonly string[] {
  const running = new Map<string, number>();
  const runningOf = (revision: AppRevision): number => running.get(tenantOf(revision)) ?? 0;
  let free = total;
  const begin = (revision: AppRevision): void => {
    running.set(tenantOf(revision), runningOf(revision) + 1);
    free -= 1;
  };
  for (const revision of builds.filter(({ status }) => isBegun(status?.build))) begin(revision);
  const waiting = builds.filter(({ status }) => status?.build?.phase === 'Queued').toSorted(byAge);
  const turns: string[] = [];
  while (free > 0) {
    const fewest = Math.min(...waiting.map(runningOf));
    const next = waiting.findIndex((revision) => runningOf(revision) === fewest);
    const [revision] = fewest < perTenant ? waiting.splice(next, 1) : [];
    if (revision === undefined) break;
    begin(revision);
    turns.push(revision.spec.id);
  }
  return turns;
}

function tenantOf({ metadata }: AppRevision): string {
  return metadata.namespace ?? '';
}

function byAge(a: AppRevision, b: AppRevision): number {
  const [one = '', other = ''] = [a.status?.build?.queuedAt, b.status?.build?.queuedAt];
  if (one !== other) return one < other ? -1 : 1;
  return a.spec.id < b.spec.id ? -1 : 1;
}
