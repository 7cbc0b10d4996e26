// The migration of a revision in a pass: its Job is created, or found to be lost.

import { overlayWrite } from '../lib/controller/cluster.ts';
import { NotFound } from '../lib/errors.ts';
import { JOBS } from '../lib/kube/api-resources.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { migrationLost, migrationOf } from './assess/migration.ts';
import type { ActionFailure, Observed, ObservedChildren } from './assess/observed.ts';
import { migrationJob } from './children/desired.ts';
import { makeOnce } from './cluster/apply.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import type { PlanningOptions } from './plan-children.ts';

export async function startMigration(
  observed: Observed,
  revision: AppRevision,
  { home, settings, contracts }: PlanningOptions,
): Promise<ActionFailure[]> {
  const { record, tenantId = '' } = observed;
  const job = migrationJob({ record, revision, tenantId, settings }, contracts);
  const created = job && (await makeOnce(job, record, home));
  return created && 'reason' in created ? [created] : [];
}

/** Reads a Job that the cache does not show: the cache may be older than the status that names it. */
export async function checkLostMigration(
  observed: ObservedChildren,
  revision: AppRevision,
  home: Cluster,
): Promise<ActionFailure[]> {
  if (migrationOf(observed, revision).is !== 'lost') return [];
  const lost = migrationLost(observed, revision);
  const place = { namespace: observed.record.metadata.namespace ?? '', name: lost.ref.name };
  try {
    overlayWrite(home.caches, await home.client.get(JOBS, place));
    return [];
  } catch (error) {
    return [error instanceof NotFound ? lost : failureOf(error, lost.ref, 'read')];
  }
}
