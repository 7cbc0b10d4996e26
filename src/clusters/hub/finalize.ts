// The finalizer of an AppDeployment that a listener's cluster runs: the record stays until that cluster has deleted what it has.

import type { Cluster } from '../../deploy/cluster/cluster.ts';
import { putFinalizer, removeFinalizer } from '../../deploy/cluster/finalizers.ts';
import { namespaceOf } from '../../deploy/record/metadata.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import type { Listener } from '../../kinds/listener.ts';
import { hubNamespace } from '../../kinds/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../kinds/listener-work.ts';
import { ABANDON_ANNOTATION, REMOTE_FINALIZER } from '../../kinds/meta.ts';
import { placeOf } from '../../runtime/controller/cluster.ts';
import { Forbidden, NotFound, undefinedIfNotFound } from '../../runtime/errors.ts';
import { isGone, makeRemoval, releaseWork, removeWork, workOf } from './works.ts';

/** Undefined if the record is gone. */
export async function ensureFinalizer(record: AppDeployment, home: Cluster): Promise<AppDeployment | undefined> {
  return hasFinalizer(record) ? record : putFinalizer(record, REMOTE_FINALIZER, home);
}

/**
 * Waits for the cluster to delete what it has, unless a person has given it up. Resolves to whether the record is released.
 * `listener`: undefined if it is gone.
 */
export async function finalizeRemote(
  record: AppDeployment,
  { work: known, listener }: { readonly work: ListenerWork | undefined; readonly listener: Listener | undefined },
  home: Cluster,
): Promise<boolean> {
  const { uid, annotations } = record.metadata;
  const isGivenUp = annotations?.[ABANDON_ANNOTATION] === uid;
  const live = known ?? (await liveWork(record, home));
  // Somebody deleted it. The cluster has its copy still.
  const work = live ?? (await workAgain(record, { listener, isGivenUp }, home));
  if (work === undefined) {
    await removeFinalizer(record, REMOTE_FINALIZER, home);
    return true;
  }
  if (isGone(work)) {
    // The record first: a work without a record is settled with its Listener.
    await removeFinalizer(record, REMOTE_FINALIZER, home);
    await releaseWork(work, home);
    return true;
  }
  await removeWork(work, home);
  if (isGivenUp) {
    await removeFinalizer(record, REMOTE_FINALIZER, home);
    return true;
  }
  return false;
}

export function hasFinalizer({ metadata }: AppDeployment): boolean {
  return metadata.finalizers?.includes(REMOTE_FINALIZER) === true;
}

/** Undefined where no cluster can have got the record. */
async function workAgain(
  record: AppDeployment,
  { listener, isGivenUp }: { readonly listener: Listener | undefined; readonly isGivenUp: boolean },
  home: Cluster,
): Promise<ListenerWork | undefined> {
  const { clusterId } = listener?.status ?? {};
  const [hub, tenant] = ['kube-system', namespaceOf(record)].map((name) => home.caches.namespaces.get({ name }));
  const hubId = hub?.metadata.uid;
  // Whoever writes a record can give it the finalizer, and name the Listener of another tenant.
  const isTenants = listener?.metadata.namespace === record.metadata.namespace;
  if (listener === undefined || !isTenants || clusterId === undefined || hubId === undefined) return undefined;
  // The cache may still have a record that is gone with its work.
  const live = await home.client.get<AppDeployment>(APP_DEPLOYMENTS, placeOf(record)).catch(undefinedIfNotFound);
  if (live === undefined || live.metadata.uid !== record.metadata.uid || !hasFinalizer(live)) return undefined;
  const target = { listener, clusterId, hubId, tenantId: tenant?.metadata.uid ?? '' };
  return makeRemoval(record, target, home).catch((error: unknown) => {
    // The Listener's namespace is not there, or goes. That holds no record that is given up.
    if (isGivenUp && (error instanceof NotFound || error instanceof Forbidden)) return undefined;
    throw error;
  });
}

/** A cache may lack a work that was just created. */
function liveWork(record: AppDeployment, home: Cluster): Promise<ListenerWork | undefined> {
  const namespace = hubNamespace(record.spec.sourceConfig.listenerId?.toLowerCase() ?? '');
  return home.client.get<ListenerWork>(LISTENER_WORKS, workOf(record, namespace)).catch(undefinedIfNotFound);
}
