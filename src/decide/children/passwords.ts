// The passwords of a record's own PostgreSQL and Redis: created once, and never regenerated while existing data depends on them.

import { COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL, type StorePart } from '../../api/meta.ts';
import type { KubeObject } from '../../kube/client.ts';
import { names } from '../../record/names.ts';
import { isVolumeMissing, startEmpty } from '../assess/database-volume.ts';
import { type ActionFailure, childOf, isOurs, type Observed, said, statefulSetOf, volumeClaimOf } from '../observed.ts';

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
    ? `${said(ref)} does not have the labels of this deployment. If it contains the password of ${what.locked}: kubectl label secret ${found.metadata.name} -n ${record.metadata.namespace} --overwrite ${labels}. Otherwise replace it with the one in a backup.`
    : `${said(ref)} is missing. It holds the password of ${what.locked}. Restore it from a backup, with the labels ${labels}; the deployment then continues automatically. ${what.giveUp} ${names(record.metadata.name)[store]},${store === 'postgres' ? ` ${startEmpty(observed)},` : ''} and deploy a new revision once it exists again, because the pods still use the old password.`;
  return { reason: 'PasswordMissing', ref, message };
}

const WORDS: Readonly<Record<StorePart, { readonly locked: string; readonly giveUp: string }>> = {
  postgres: {
    locked: 'the data in the PostgreSQL volume',
    giveUp: 'To start with an empty database instead, delete StatefulSet and PersistentVolumeClaim',
  },
  redis: { locked: 'the running Redis', giveUp: 'To get a new Redis instead, delete StatefulSet' },
};

function secretName(store: StorePart, { record }: Observed): string {
  const { postgresSecret, redisSecret } = names(record.metadata.name);
  return store === 'postgres' ? postgresSecret : redisSecret;
}

/** Is there, or may there come back, something of ours that only the password once made opens? The data of a Redis goes with its pod. */
function dependsOnPassword(store: StorePart, observed: Observed): boolean {
  const locked = store === 'postgres' ? volumeClaimOf(observed) : statefulSetOf(observed, 'redis');
  if (store === 'postgres' && isVolumeMissing(observed)) return true;
  return locked !== undefined && isOurs(locked, observed);
}
