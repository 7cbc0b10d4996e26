// What a pass removes or puts to rest after its children are applied. Failures are retried and do not affect the record's conditions.

import type { AppRevision } from '../kinds/app-revision.ts';
import { clustersToRest } from './assess/database-cluster.ts';
import { obsoleteMigrations } from './assess/migration.ts';
import type { Observed } from './assess/observed.ts';
import { obsoleteRestores } from './assess/restore.ts';
import { deleteObjects } from './cluster/delete.ts';
import { errorsOf } from './cluster/failures.ts';
import { hibernateClusters } from './keep-databases.ts';
import type { ReconcilerOptions } from './pass.ts';
import { collectRevisions } from './prune-revisions.ts';

export async function cleanUp(
  observed: Observed,
  latest: AppRevision,
  options: ReconcilerOptions,
): Promise<readonly unknown[]> {
  const { home, settings } = options;
  return [
    ...(await collectRevisions(observed, settings.revisions.kept, home)),
    ...errorsOf(await deleteObjects([...obsoleteMigrations(observed, latest), ...obsoleteRestores(observed)], home)),
    ...errorsOf(await hibernateClusters(clustersToRest(observed), observed.record, options)),
  ];
}
