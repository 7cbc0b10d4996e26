// Whether the record's own stores can be used: their passwords, and the volume of PostgreSQL.

import type { AppRevision } from '../kinds/app-revision.ts';
import type { StorePart } from '../kinds/meta.ts';
import { volumeRefusals } from './adopt-database.ts';
import { cloudNativePgMissing, lacksCloudNativePg } from './assess/database-cluster.ts';
import type { ActionFailure, Observed } from './assess/observed.ts';
import { isOwn } from './assess/stores.ts';
import { revisionOfStore } from './assess/workloads.ts';
import type { Cluster } from './cluster/cluster.ts';
import { settleAll } from './cluster/settle-all.ts';
import type { PassOutcome } from './pass.ts';
import { ensurePasswords, lostPassword } from './passwords.ts';
import { planAdoption } from './plan/adoption.ts';
import { driverOf, postgresOfRevisions } from './record/database-driver.ts';
import { runsHere } from './record/listener-assignment.ts';

/**
 * What makes these stores unusable. Creates passwords that never existed. Passwords come first: a volume without one means that the
 * password was lost.
 */
export async function guardStores(
  stores: readonly StorePart[],
  observed: Observed,
  latest: AppRevision,
  home: Cluster,
): Promise<readonly ActionFailure[]> {
  const hasPostgres = stores.includes('postgres');
  // Not even a password is made: the driver may still change while there is neither that nor data.
  const isMissing = hasPostgres && lacksCloudNativePg(observed, latest);
  const others = isMissing ? stores.filter((part) => part !== 'postgres') : stores;
  const passwords = await ensurePasswords(observed, others, postgresOfRevisions([latest, ...observed.revisions]), home);
  if (isMissing) return [...passwords, cloudNativePgMissing(observed)];
  return [...passwords, ...(hasPostgres ? await volumeRefusals(observed, home) : [])];
}

/**
 * What is lost of the deployment's own PostgreSQL if the pass did not guard it: the record is paused, refused, or waits, or only pods that are
 * being replaced need it. It is reported in DatabaseReady, and Ready keeps its reason.
 */
export async function unguardedDataLoss(
  observed: Observed,
  { latest, address }: PassOutcome,
  home: Cluster,
): Promise<ActionFailure[]> {
  const revision = latest && revisionOfStore('postgres', observed, latest);
  const isOwnHere = revision !== undefined && isOwn('postgres', revision) && runsHere(observed.record);
  const isPlanned = address !== undefined && revision === latest;
  if (isPlanned || !isOwnHere || lacksCloudNativePg(observed, revision)) return [];
  if (planAdoption(observed, driverOf(revision.spec.resolved.postgres ?? {})).refusals.length > 0) return [];
  const found = await settleAll([lostPassword(observed, home), volumeRefusals(observed, home)]);
  return found.flat().filter(({ reason }) => reason === 'PasswordMissing' || reason === 'VolumeMissing');
}
