// The Jobs of a revision in a pass: the restore with which its database begins, and its migration.

import type { AppRevision } from '../kinds/app-revision.ts';
import { overlayWrite } from '../runtime/controller/cluster.ts';
import { NotFound } from '../runtime/errors.ts';
import { JOBS } from '../runtime/kube/api-resources.ts';
import { migrationLost, migrationOf } from './assess/migration.ts';
import type { ActionFailure, Observed, ObservedChildren } from './assess/observed.ts';
import { mayRestore } from './assess/restore.ts';
import { makeRestore } from './children/database/restore.ts';
import { migrationJob } from './children/desired.ts';
import { makeOnce } from './cluster/apply.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { inputsOf, type PlanningOptions } from './plan-children.ts';

/** Its Job is created as soon as PostgreSQL answers. */
export async function startRestore(
  observed: Observed,
  revision: AppRevision,
  options: PlanningOptions,
): Promise<ActionFailure[]> {
  if (!mayRestore(observed, revision)) return [];
  const job = makeRestore(inputsOf(observed, revision, {}, options));
  const created = job && (await makeOnce(job, observed.record, options.home));
  return created && 'reason' in created ? [created] : [];
}

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
