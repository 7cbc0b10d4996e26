// The password Secrets of a record's own PostgreSQL and Redis: created once and never regenerated.

import { randomBytes } from 'node:crypto';
import type { AppRevision } from '../../api/app-revision.ts';
import { STORE_PARTS, type StorePart } from '../../api/meta.ts';
import { passwordLost, passwordState } from '../../decide/children/passwords.ts';
import { nameConflict } from '../../decide/children/plan.ts';
import { type ActionFailure, isOurs, type Observed } from '../../decide/observed.ts';
import { NotFound } from '../../errors.ts';
import { SECRETS } from '../../kube/api-resources.ts';
import type { ObjectRef } from '../../kube/client.ts';
import { postgresSecret, redisSecret } from '../../resources/secrets.ts';
import { makeOnce } from '../shared/apply.ts';
import { type Cluster, placeOf } from '../shared/cluster.ts';
import { failureOf } from '../shared/failures.ts';
import { settleFailures } from '../shared/settle-all.ts';

/** Makes the passwords of the stores that `revision` has. What failed comes back. */
export function ensurePasswords(observed: Observed, revision: AppRevision, target: Cluster): Promise<ActionFailure[]> {
  const own = STORE_PARTS.filter((part) => revision.spec.resolved[part] !== undefined);
  return settleFailures(own.map((part) => ensurePassword(part, observed, target)));
}

const PASSWORD_SECRETS = { postgres: postgresSecret, redis: redisSecret };

/** Creates the password Secret of a store if it never existed. An existing password is never regenerated. */
async function ensurePassword(
  store: StorePart,
  observed: Observed,
  target: Cluster,
): Promise<ActionFailure | undefined> {
  const state = passwordState(store, observed);
  if (state === 'there') return undefined;
  const secret = PASSWORD_SECRETS[store](observed.record, randomBytes(24).toString('base64url'));
  if (state === 'foreign') return nameConflict(secret);
  if (state === 'lost') return lookForPassword(store, placeOf(secret), observed, target);
  const made = await makeOnce(secret, observed.record, target);
  return 'reason' in made ? made : undefined;
}

// The cache of Secrets may lag behind that of what they open, and holds none without labels.
async function lookForPassword(
  store: StorePart,
  ref: ObjectRef,
  observed: Observed,
  target: Cluster,
): Promise<ActionFailure | undefined> {
  try {
    const found = await target.client.get(SECRETS, ref, { metadataOnly: true });
    return isOurs(found, observed) ? undefined : passwordLost(store, observed, found);
  } catch (error) {
    if (error instanceof NotFound) return passwordLost(store, observed, undefined);
    return failureOf(error, { kind: 'Secret', name: ref.name }, 'read');
  }
}
