// The finalizer of an AppDeployment that a listener's cluster runs: the record stays until that cluster has deleted what it has.

import type { Cluster } from '../../deployments/cluster/cluster.ts';
import { putFinalizer, removeFinalizer } from '../../deployments/cluster/finalizers.ts';
import { undefinedIfNotFound } from '../../lib/errors.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { hubNamespace } from '../../schema/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../schema/listener-work.ts';
import { ABANDON_ANNOTATION, REMOTE_FINALIZER } from '../../schema/meta.ts';
import { isGone, releaseWork, removeWork, workOf } from './works.ts';

/** Undefined if the record is gone. */
export async function ensureFinalizer(record: AppDeployment, home: Cluster): Promise<AppDeployment | undefined> {
  return hasFinalizer(record) ? record : putFinalizer(record, REMOTE_FINALIZER, home);
}

/** Waits for the cluster to delete what it has, unless a person has given it up. Resolves to whether the record is released. */
export async function finalizeRemote(
  record: AppDeployment,
  known: ListenerWork | undefined,
  home: Cluster,
): Promise<boolean> {
  const work = known ?? (await liveWork(record, home));
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
  const { uid, annotations } = record.metadata;
  if (annotations?.[ABANDON_ANNOTATION] === uid) {
    await removeFinalizer(record, REMOTE_FINALIZER, home);
    return true;
  }
  return false;
}

export function hasFinalizer({ metadata }: AppDeployment): boolean {
  return metadata.finalizers?.includes(REMOTE_FINALIZER) === true;
}

/** A cache may lack a work that was just created. */
function liveWork(record: AppDeployment, home: Cluster): Promise<ListenerWork | undefined> {
  const namespace = hubNamespace(record.spec.sourceConfig.listenerId?.toLowerCase() ?? '');
  return home.client.get<ListenerWork>(LISTENER_WORKS, workOf(record, namespace)).catch(undefinedIfNotFound);
}
