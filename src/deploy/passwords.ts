// The password Secrets of a record's own PostgreSQL and Redis: created once and never regenerated.

import { randomBytes } from 'node:crypto';
import type { StorePart } from '../kinds/meta.ts';
import { placeOf } from '../runtime/controller/cluster.ts';
import { NotFound } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { ObjectRef } from '../runtime/kube/client.ts';
import { type ActionFailure, isOurs, type ObservedChildren } from './assess/observed.ts';
import { postgresSecret, redisSecret } from './children/secrets.ts';
import { makeOnce } from './cluster/apply.ts';
import type { Cluster } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { settleFailures } from './cluster/settle-all.ts';
import { passwordLost, passwordState } from './plan/passwords.ts';
import { nameConflict } from './plan/plan.ts';
import type { MadeFor } from './record/database-driver.ts';

/** Creates the passwords of these stores, and returns failures. `postgres`: the PostgreSQL that they are for. */
export function ensurePasswords(
  observed: ObservedChildren,
  stores: readonly StorePart[],
  postgres: MadeFor,
  home: Cluster,
): Promise<ActionFailure[]> {
  return settleFailures(stores.map((part) => ensurePassword(part, observed, postgres, home)));
}

/** What a pass that changes nothing can tell of the data of the deployment's own PostgreSQL: the caches are confirmed by live reads. */
export async function lostPassword(observed: ObservedChildren, home: Cluster): Promise<ActionFailure[]> {
  if (passwordState('postgres', observed) !== 'lost') return [];
  const { namespace = '' } = observed.record.metadata;
  const ref = { namespace, name: observed.names.postgresSecret };
  const failure = await lookForPassword('postgres', ref, observed, home);
  return failure ? [failure] : [];
}

/** Creates the password Secret of a store if it never existed. An existing password is never regenerated. */
async function ensurePassword(
  store: StorePart,
  observed: ObservedChildren,
  postgres: MadeFor,
  home: Cluster,
): Promise<ActionFailure | undefined> {
  const state = passwordState(store, observed);
  if (state === 'there') return undefined;
  const { record } = observed;
  const [password, superuserPassword] = [newPassword(), newPassword()];
  const secret =
    store === 'postgres'
      ? postgresSecret(record, { password, superuserPassword }, postgres, observed.names.databaseNumber)
      : redisSecret(record, password);
  if (state === 'foreign') return nameConflict(secret);
  if (state === 'lost') return lookForPassword(store, placeOf(secret), observed, home);
  const made = await makeOnce(secret, record, home);
  return 'reason' in made ? made : undefined;
}

function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

// The cache of Secrets may lag behind that of volumes, and contains only labelled ones.
async function lookForPassword(
  store: StorePart,
  ref: ObjectRef,
  observed: ObservedChildren,
  home: Cluster,
): Promise<ActionFailure | undefined> {
  try {
    const found = await home.client.get(SECRETS, ref, { metadataOnly: true });
    return isOurs(found, observed) ? undefined : passwordLost(store, observed, found);
  } catch (error) {
    if (error instanceof NotFound) return passwordLost(store, observed, undefined);
    return failureOf(error, { kind: 'Secret', name: ref.name }, 'read');
  }
}
