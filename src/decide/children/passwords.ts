// The passwords of a record's own PostgreSQL and Redis: made once, and never anew for what is locked with another.

import { COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL, type StorePart } from '../../api/meta.ts';
import type { KubeObject } from '../../kube/client.ts';
import { names } from '../../record/names.ts';
import { isVolumeMissing, startEmpty } from '../assess/database-volume.ts';
import { type ActionFailure, childOf, isOurs, type Observed, said } from '../observed.ts';

/**
 * `lost`: the Secret is not there and what it opens is. A cache may lag, so that who acts on it looks live first; as on
 * `foreign`, it makes none.
 */
export type PasswordState = 'there' | 'foreign' | 'to make' | 'lost';

export function passwordState(store: StorePart, observed: Observed): PasswordState {
  const secret = childOf(observed, 'Secret', secretName(store, observed));
  if (secret) return isOurs(secret, observed) ? 'there' : 'foreign';
  return dependsOnPassword(store, observed) ? 'lost' : 'to make';
}

/** What to say of a password that is lost; `found` is an object of its name that is not known to be it. */
export function passwordLost(store: StorePart, observed: Observed, found: KubeObject | undefined): ActionFailure {
  const { record } = observed;
  const ref = { kind: 'Secret', name: secretName(store, observed) };
  const labels = [
    `${DEPLOYMENT_LABEL}=${record.metadata.name}`,
    `${COMPONENT_LABEL}=${store}`,
    `${DEPLOYMENT_UID_LABEL}=${record.metadata.uid}`,
  ].join(' ');
  const what = WORDS[store];
  const message = found
    ? `${said(ref)} does not carry the labels of this deployment. If it has the password of ${what.locked}: kubectl label secret ${found.metadata.name} -n ${record.metadata.namespace} --overwrite ${labels}. If not, replace it by the one in a backup.`
    : `${said(ref)} is missing: it has the password of ${what.locked}, which a new one would not open. Restore it from a backup, with the labels ${labels}; the deployment goes on by itself. ${what.giveUp} ${names(record.metadata.name)[store]},${store === 'postgres' ? ` ${startEmpty(observed)},` : ''} and deploy a new revision when it is back: the pods have the old password.`;
  return { reason: 'PasswordMissing', ref, message };
}

const WORDS: Readonly<Record<StorePart, { readonly locked: string; readonly giveUp: string }>> = {
  postgres: {
    locked: 'the data in the PostgreSQL volume',
    giveUp: 'To begin with an empty database instead, delete StatefulSet and PersistentVolumeClaim',
  },
  redis: { locked: 'the Redis that runs', giveUp: 'To have a new one made instead, delete StatefulSet' },
};

function secretName(store: StorePart, { record }: Observed): string {
  const { postgresSecret, redisSecret } = names(record.metadata.name);
  return store === 'postgres' ? postgresSecret : redisSecret;
}

/** Is there, or may there come back, something of ours that only the password once made opens? The data of a Redis goes with its pod. */
function dependsOnPassword(store: StorePart, observed: Observed): boolean {
  const { postgresClaim, redis } = names(observed.record.metadata.name);
  const locked =
    store === 'postgres'
      ? childOf(observed, 'PersistentVolumeClaim', postgresClaim)
      : childOf(observed, 'StatefulSet', redis);
  if (store === 'postgres' && isVolumeMissing(observed)) return true;
  return locked !== undefined && isOurs(locked, observed);
}
