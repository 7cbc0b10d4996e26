// Whether the record's own stores can be used: their passwords, and the volume of PostgreSQL.

import { randomBytes } from 'node:crypto';
import { NotFound } from '../lib/errors.ts';
import { SECRETS } from '../lib/kube/api-resources.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import type { StorePart } from '../schema/meta.ts';
import { volumeRefusals } from './adopt-database.ts';
import { cloudNativePgMissing, lacksCloudNativePg } from './assess/database-cluster.ts';
import { type ActionFailure, childOf, isOurs, type Observed } from './assess/observed.ts';
import {
  SHARED_SERVER_MISSING,
  sharedDatabaseKept,
  sharedDataLost,
  sharedFailure,
  sharedPasswordLost,
  sharedPlaceOf,
  sharedWantedOf,
} from './assess/shared-database.ts';
import { isOwn } from './assess/stores.ts';
import { revisionOfStore } from './assess/workloads.ts';
import { sharedDatabaseSecret } from './children/secrets.ts';
import { makeOnce } from './cluster/apply.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { settleAll } from './cluster/settle-all.ts';
import type { PassOutcome, ReconcilerOptions } from './pass.ts';
import { ensurePasswords, lostPassword } from './passwords.ts';
import { planAdoption } from './plan/adoption.ts';
import { driverOf, postgresOfRevisions } from './record/database-driver.ts';
import { runsHere } from './record/listener-assignment.ts';
import { nextForThere, type SharedView } from './record/shared-database.ts';

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
 * What keeps pods from using the database on the shared server. Has it made. A password is made only where the server has shown that no
 * database depends on one.
 */
export async function guardShared(
  observed: Observed,
  latest: AppRevision,
  { home, sharedDatabases }: Pick<ReconcilerOptions, 'home' | 'sharedDatabases'>,
): Promise<readonly ActionFailure[]> {
  const { record } = observed;
  const { sharedDatabase: shared } = latest.spec.resolved;
  if (shared === undefined || !runsHere(record)) return [];
  const { name } = sharedPlaceOf(record, shared);
  const view: SharedView = sharedDatabases?.view(record, name) ?? { is: 'unconfigured' };
  const isThere = sharedWantedOf(observed, shared, 0).hasPassword;
  // Pods that have their password wait for the database themselves.
  const unless = (reason: ActionFailure['reason'], message: string): readonly ActionFailure[] =>
    isThere ? [] : [sharedFailure(observed, reason, message)];
  if (view.is === 'unconfigured') return unless('SharedServerUnusable', SHARED_SERVER_MISSING);
  if (view.is === 'unknown') return unless('Starting', 'The shared server is being asked for the database.');
  if (view.is === 'troubled') return unless(view.trouble.reason, view.trouble.message);
  const wanted = sharedWantedOf(observed, shared, view.reserved);
  const next = nextForThere(view.view, wanted);
  switch (next.is) {
    case 'done':
      return [];
    case 'kept':
      sharedDatabases?.awaitRoom(name);
      return [];
    case 'refused':
      sharedDatabases?.awaitRoom(name);
      return unless(next.trouble.reason, next.trouble.message);
    case 'password lost':
      return await confirmLost(observed, name, home);
    case 'data lost':
      return [sharedDataLost(observed, name)];
    case 'step':
      sharedDatabases?.order(record, { is: 'there', wanted, secret: observed.names.postgresSecret });
      return [];
    case 'needs password': {
      const kept = childOf(observed, 'Secret', observed.names.postgresSecret);
      if (kept && !isOurs(kept, observed)) return [sharedDatabaseKept(observed)];
      const made = await makeOnce(
        sharedDatabaseSecret(record, randomBytes(24).toString('base64url'), shared, observed.names.databaseNumber),
        record,
        home,
      );
      if ('reason' in made) return [made];
      sharedDatabases?.order(record, {
        is: 'there',
        wanted: { ...wanted, hasPassword: true },
        secret: observed.names.postgresSecret,
      });
      return [];
    }
  }
}

/** The cache of Secrets may lag, and contains only labelled ones. */
async function confirmLost(observed: Observed, name: string, home: Cluster): Promise<readonly ActionFailure[]> {
  const { namespace = '' } = observed.record.metadata;
  const ref = { namespace, name: observed.names.postgresSecret };
  try {
    const found = await home.client.get(SECRETS, ref, { metadataOnly: true });
    return isOurs(found, observed) ? [] : [sharedPasswordLost(observed, name)];
  } catch (error) {
    if (error instanceof NotFound) return [sharedPasswordLost(observed, name)];
    return [failureOf(error, { kind: 'Secret', name: ref.name }, 'read')];
  }
}

/**
 * What is lost of the own PostgreSQL if the pass did not guard it: the record is paused, refused, or waits, or only pods that are
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
