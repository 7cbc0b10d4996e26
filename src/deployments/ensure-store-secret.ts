// The Secret with what an ObjectStore says of the store, in a pass: before instances mount it.

import type { AppRevision } from '../schema/app-revision.ts';
import { type ActionFailure, childOf, type Observed } from './assess/observed.ts';
import { makeStoreSecret } from './children/database/wal-archive.ts';
import { makeOnce } from './cluster/apply.ts';
import { inputsOf, type PlanningOptions } from './plan-children.ts';
import { driverOf } from './record/database-driver.ts';

/** Its name follows from its content, so it is created once and never changed. */
export async function ensureStoreSecret(
  observed: Observed,
  latest: AppRevision,
  options: PlanningOptions,
): Promise<ActionFailure[]> {
  const { postgres } = latest.spec.resolved;
  if (postgres === undefined || driverOf(postgres) !== 'cloudnative-pg') return [];
  const secret = makeStoreSecret(inputsOf(observed, latest, {}, options));
  if (!secret || childOf(observed, 'Secret', secret.metadata.name)) return [];
  const made = await makeOnce(secret, observed.record, options.home);
  return 'reason' in made ? [made] : [];
}
