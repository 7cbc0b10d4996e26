// A record's own PostgreSQL that is a Cluster of CloudNativePG: whether it answers, and what it says of itself. The pods are asked rather
// than the operator: PostgreSQL answers also while that one is away.

import type { AppRevision } from '../../kinds/app-revision.ts';
import type { DatabaseDriver } from '../../kinds/database.ts';
import { CNPG_CLUSTER_LABEL, CNPG_ROLE_LABEL, HIBERNATION_ANNOTATION } from '../../kinds/meta.ts';
import { quoted } from '../../kinds/text.ts';
import { driverOfRevisions } from '../record/database-driver.ts';
import { isOwnedBy } from '../record/metadata.ts';
import { databaseNumberIn } from '../record/names.ts';
import {
  type ActionFailure,
  childOf,
  dataHolderOf,
  isOurs,
  isServing,
  keepsDatabase,
  knownDatabase,
  type Observed,
  type ObservedChildren,
  type Pod,
  type PostgresClusterSeen,
  postgresClusterOf,
} from './observed.ts';
import { isReadyPod, living } from './pod-failures.ts';

/** The Cluster of this record, undefined where there is none or it is somebody else's. */
export function ownCluster(observed: ObservedChildren): PostgresClusterSeen | undefined {
  const cluster = postgresClusterOf(observed);
  return cluster && isOurs(cluster, observed) ? cluster : undefined;
}

/** Whether the data of the record is, or would be, in a Cluster: by what there is, else by its newest revision. */
export function isInCluster(observed: ObservedChildren): boolean {
  return ownCluster(observed) !== undefined || driverOfRevisions(observed.revisions) === 'cloudnative-pg';
}

/** The driver that the record can no longer change, because there is data, or a password that opens data. Undefined before the first database. */
export function driverThere(observed: ObservedChildren): DatabaseDriver | undefined {
  const { names, revisions } = observed;
  const named = driverOfRevisions(revisions);
  // Only a move makes another one, and leaves the one before.
  if (names.databaseNumber > 0 && named) return named;
  const holder = dataHolderOf(observed);
  if (holder && isOurs(holder, observed)) return holder.kind === 'Cluster' ? 'cloudnative-pg' : 'pod';
  const secret = childOf(observed, 'Secret', names.postgresSecret);
  const isBegun = knownDatabase(observed).volumeUid !== undefined || (secret && isOurs(secret, observed));
  return isBegun ? named : undefined;
}

/** Whether its primary is ready, which is where the Service leads. */
export function clusterAnswers(observed: ObservedChildren): boolean {
  return living(instancesOf(observed)).some((pod) => isPrimary(pod) && isReadyPod(pod));
}

/** How many of its instances are ready, and how many there should be. */
export function readyInstances(observed: ObservedChildren): { readonly ready: number; readonly wanted: number } {
  const wanted = ownCluster(observed)?.spec?.instances ?? 0;
  return { ready: Math.min(wanted, living(instancesOf(observed)).filter(isReadyPod).length), wanted };
}

/** What CloudNativePG says of it, for people; empty where it has said nothing. */
export function phaseOf(observed: ObservedChildren): string {
  const { phase, phaseReason = '' } = ownCluster(observed)?.status ?? {};
  if (phase === undefined) return ' CloudNativePG has not reported its state yet: check that its operator is running.';
  const reason = phaseReason === '' || phaseReason === phase ? '' : ` (${quoted(phaseReason)})`;
  return ` CloudNativePG reports: ${quoted(phase)}${reason}.`;
}

export function isHibernated({ metadata }: Pick<PostgresClusterSeen, 'metadata'>): boolean {
  return metadata.annotations?.[HIBERNATION_ANNOTATION] === 'on';
}

/**
 * Clusters that the record was moved from and that still run, once its present database serves. CloudNativePG ends their pods and keeps
 * their volumes. Action Return writes the opposite with the Cluster.
 */
export function clustersToRest(observed: Observed): readonly PostgresClusterSeen[] {
  const { record, names, revisions, children, operation } = observed;
  const isDeployed = revisions[0]?.status?.state === 'DEPLOYED';
  if (!isDeployed || !isServing(observed) || operation !== undefined) return [];
  return children.filter((child): child is PostgresClusterSeen => {
    const number = databaseNumberIn(record.metadata.name, child.metadata.name);
    const isLeft = number !== undefined && number !== names.databaseNumber && isOurs(child, observed);
    return child.kind === 'Cluster' && isLeft && !isHibernated(child) && child.metadata.deletionTimestamp === undefined;
  });
}

/** Whether CloudNativePG made it for a Cluster of this name. */
export function isOfCluster({ metadata }: Pick<Pod, 'metadata'>, name: string): boolean {
  return metadata.labels?.[CNPG_CLUSTER_LABEL] === name;
}

/**
 * The volumes of the Cluster with this uid, one for each instance. The volumes of another Cluster of its name may be what an earlier record
 * retained.
 */
export function volumesOfCluster(
  { children }: Pick<ObservedChildren, 'children'>,
  uid: string | undefined,
): readonly ObservedChildren['children'][number][] {
  if (uid === undefined) return [];
  return children.filter(
    ({ kind, metadata: { ownerReferences = [] } }) =>
      kind === 'PersistentVolumeClaim' &&
      ownerReferences.some((owner) => owner.kind === 'Cluster' && owner.uid === uid),
  );
}

/** Whether the database would be a Cluster, and the kind is not there. */
export function lacksCloudNativePg(observed: Observed, latest?: AppRevision): boolean {
  const revisions = latest === undefined ? observed.revisions : [latest, ...observed.revisions];
  return observed.cloudNativePg !== true && driverOfRevisions(revisions) === 'cloudnative-pg';
}

/** A Cluster that was to be deleted with its record, and that Davit has no right to. It has no owner, so nothing else deletes it. */
export function clusterOutOfReach(observed: Observed): { readonly hindrance: string } | undefined {
  const { cloudNativePgOff, names, record } = observed;
  const isOwed = record.status?.databaseDriver === 'cloudnative-pg' && !keepsDatabase(observed);
  if (cloudNativePgOff !== true || !isOwed) return undefined;
  const hindrance = `Davit may not delete Cluster ${names.postgres}, because settings.database.cloudNativePg.enabled is false. Set it to true, and the deletion continues automatically. ${howToLeave(record, 'the Cluster running')}`;
  return { hindrance };
}

/** How a person lets go of a deletion that the data holds up. */
export function howToLeave({ metadata: { name, namespace } }: Observed['record'], what: string): string {
  return `To complete the deletion and leave ${what}: kubectl patch appd ${name} -n ${namespace} --type=merge -p '{"spec":{"databaseDeletionPolicy":"Retain"}}'.`;
}

/** Nothing is made for a database whose kind the cluster lacks: a password would be taken for that of lost data. */
export function cloudNativePgMissing(observed: ObservedChildren): ActionFailure {
  return {
    reason: 'CloudNativePgMissing',
    ref: { kind: 'Cluster', name: observed.names.postgres },
    message:
      "This deployment's PostgreSQL has driver cloudnative-pg, but this platform does not have CloudNativePG. Ask the platform team to install it (settings.database.cloudNativePg.enabled must not be false); the deployment then continues automatically. If the database has never had data, you can set source_config.database.driver to pod instead.",
  };
}

/** Pods of the instances of its present Cluster. One that CloudNativePG has just made has no role yet. */
export function instancesOf(observed: ObservedChildren): readonly Pod[] {
  const uid = ownCluster(observed)?.metadata.uid;
  return observed.pods.filter((pod) => isOwnedBy(pod, uid));
}

/** Whether the pod is the instance that takes writes. */
export function isPrimary({ metadata }: Pod): boolean {
  return metadata.labels?.[CNPG_ROLE_LABEL] === 'primary';
}
