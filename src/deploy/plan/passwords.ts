// The passwords of a record's own PostgreSQL and Redis: created once, and never regenerated while existing data depends on them.

import { COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL, type StorePart } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { isInCluster } from '../assess/database-cluster.ts';
import { isVolumeMissing, startEmpty } from '../assess/database-volume.ts';
import {
  type ActionFailure,
  childOf,
  dataHolderOf,
  isOurs,
  type ObservedChildren,
  refText,
  statefulSetOf,
} from '../assess/observed.ts';

/**
 * `lost`: the Secret is missing, or is not labelled as the deployment's, but the data that it opens exists. The cache may lag, so the caller confirms this by a live
 * read. For `lost` and `foreign` no password is created.
 */
export type PasswordState = 'there' | 'foreign' | 'to make' | 'lost';

export function passwordState(store: StorePart, observed: ObservedChildren): PasswordState {
  const secret = childOf(observed, 'Secret', secretName(store, observed));
  if (secret && isOurs(secret, observed)) return 'there';
  // One of its name is not to be deleted where data depends on a password: it may be the one, without a label.
  if (dependsOnPassword(store, observed)) return 'lost';
  return secret ? 'foreign' : 'to make';
}

/** The failure for a lost password; `found` is an object of its name without the right labels. */
export function passwordLost(
  store: StorePart,
  observed: ObservedChildren,
  found: KubeObject | undefined,
): ActionFailure {
  const { record } = observed;
  const ref = { kind: 'Secret', name: secretName(store, observed) };
  const labels = [
    `${DEPLOYMENT_LABEL}=${record.metadata.name}`,
    `${COMPONENT_LABEL}=${store}`,
    `${DEPLOYMENT_UID_LABEL}=${record.metadata.uid}`,
  ].join(' ');
  const what = WORDS[store];
  const message = found
    ? `${refText(ref)} does not have the labels of this deployment. If it contains the password of ${what.locked}: kubectl label secret ${found.metadata.name} -n ${record.metadata.namespace} --overwrite ${labels}. Otherwise replace it with the one in a backup.`
    : `${refText(ref)} is missing. It holds the password of ${what.locked}. Restore it from a backup, with the labels ${labels}; the deployment then continues automatically. Without a backup, read the password from a pod while it runs: ${fromPod(store, observed)} (docs/deploy.md, "The data of a deployment"). ${what.giveUp} ${observed.names[store]} -n ${record.metadata.namespace}${store === 'postgres' ? `, then ${startEmpty(observed)}` : ''}; then deploy a new revision, because the running pods have the old password.`;
  return { reason: 'PasswordMissing', ref, message };
}

const WORDS: Readonly<Record<StorePart, { readonly locked: string; readonly giveUp: string }>> = {
  postgres: {
    locked: 'the data in the PostgreSQL volume',
    giveUp: 'To start with an empty database instead: kubectl delete statefulset,pvc',
  },
  redis: { locked: 'the running Redis', giveUp: 'To get a new Redis instead: kubectl delete statefulset' },
};

/** The command that prints it. A Cluster's pods do not have it in their environment. */
function fromPod(store: StorePart, observed: ObservedChildren): string {
  const { record, names } = observed;
  const { name, namespace } = record.metadata;
  if (store === 'redis') return `kubectl exec ${names.redis}-0 -n ${namespace} -- printenv REDISCLI_AUTH`;
  return isInCluster(observed)
    ? `kubectl exec deploy/${name} -n ${namespace} -- printenv POSTGRES_URI`
    : `kubectl exec ${names.postgres}-0 -n ${namespace} -- printenv APP_PASSWORD POSTGRES_PASSWORD`;
}

function secretName(store: StorePart, { names }: ObservedChildren): string {
  return store === 'postgres' ? names.postgresSecret : names.redisSecret;
}

/** Whether something exists, or may be restored, that only the existing password opens. The data of a Redis is lost with its pod. */
function dependsOnPassword(store: StorePart, observed: ObservedChildren): boolean {
  const locked = store === 'postgres' ? dataHolderOf(observed) : statefulSetOf(observed, 'redis');
  if (store === 'postgres' && isVolumeMissing(observed)) return true;
  return locked !== undefined && isOurs(locked, observed);
}
