// The volume of a record's own PostgreSQL: whether it is there, whether it stays, and how large it is. A volume that was
// used once is never replaced by an empty one without an explicit word. plan/plan.ts decides whether it grows.

import type { IPersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import {
  APPLIED_ANNOTATION,
  CNPG_CLUSTER_LABEL,
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  EMPTY_DATABASE_ANNOTATION,
} from '../../kinds/meta.ts';
import { quantity } from '../../kinds/quantity.ts';
import type { KubeObject, Read } from '../../runtime/kube/client.ts';
import { databaseNumberOf } from '../record/database-move.ts';
import { isInCluster, ownCluster, volumesOfCluster } from './database-cluster.ts';
import {
  type ActionFailure,
  dataHolderOf,
  isOurs,
  knownDatabase,
  type ObservedChildren,
  type PostgresClusterSeen,
  refText,
  refTo,
  volumeClaimOf,
} from './observed.ts';

type Claim = Read<IPersistentVolumeClaim>;

/** Failures after which no pod that uses the volume may be started or replaced. */
export const VOLUME_UNUSABLE: ReadonlySet<ActionFailure['reason']> = new Set([
  'VolumeMissing',
  'VolumeTerminating',
  'VolumeLost',
]);

const GIBIBYTE = 2 ** 30;

/** The claim of the record's own PostgreSQL, undefined where there is none or it is somebody else's. */
function ownClaim(observed: ObservedChildren): Claim | undefined {
  const claim = volumeClaimOf(observed);
  return claim && isOurs(claim, observed) ? claim : undefined;
}

/**
 * Is there no volume, though the database of this record had one? A cache may lag, so that who acts on it looks live first.
 * A pass that ended early leaves no volume either: of that there is neither a uid in the status nor a deployed revision.
 */
export function isVolumeMissing(observed: ObservedChildren): boolean {
  const { record, revisions } = observed;
  if (dataHolderOf(observed)) return false;
  const isKnown = knownDatabase(observed).volumeUid !== undefined;
  const wasUsed =
    isKnown ||
    revisions.some(
      (one) =>
        one.status?.state === 'DEPLOYED' &&
        one.spec.resolved.postgres &&
        databaseNumberOf(one) === observed.names.databaseNumber,
    );
  return wasUsed && record.metadata.annotations?.[EMPTY_DATABASE_ANNOTATION] !== givenUp(observed);
}

/** How a person says that the data is given up. The annotation names one volume: it allows nothing when the next is lost. */
export function startEmpty(observed: ObservedChildren): string {
  const { name, namespace } = observed.record.metadata;
  return `kubectl annotate appd ${name} -n ${namespace} --overwrite ${EMPTY_DATABASE_ANNOTATION}=${givenUp(observed)}`;
}

function givenUp(observed: ObservedChildren): string {
  const { record, names } = observed;
  const nothingYet = `${record.metadata.uid ?? ''}${names.databaseNumber === 0 ? '' : `-${names.databaseNumber}`}`;
  return knownDatabase(observed).volumeUid ?? nothingYet;
}

/** What to say of a volume that is missing; `found` is a claim of its name that is not known to be it. */
export function volumeMissing(observed: ObservedChildren, found: KubeObject | undefined): ActionFailure {
  const { name, namespace, uid } = observed.record.metadata;
  const { postgresClaim } = observed.names;
  const inCluster = isInCluster(observed);
  const ref = { kind: inCluster ? 'Cluster' : 'PersistentVolumeClaim', name: postgresClaim };
  const labels = `${DEPLOYMENT_LABEL}=${name} ${COMPONENT_LABEL}=postgres ${DEPLOYMENT_UID_LABEL}=${uid}`;
  const restore = found
    ? `${refText(ref)} does not have the labels of this deployment. If it contains the data of its PostgreSQL: kubectl label ${inCluster ? 'clusters.postgresql.cnpg.io' : 'pvc'} ${postgresClaim} -n ${namespace} --overwrite ${labels}.`
    : `${refText(ref)} is missing, and with it the data of PostgreSQL. Davit does not replace it with an empty database.${restoreWords(observed)} If the ${inCluster ? 'Cluster' : 'volume'} itself is restored, with the labels ${labels}, the deployment continues automatically.`;
  const message = `${restore} To start with an empty database instead: ${startEmpty(observed)}.`;
  return { reason: 'VolumeMissing', ref, message };
}

/** The way on that every deployment with backups has. Begins with a space. */
function restoreWords({ record: { metadata, status } }: ObservedChildren): string {
  const { name: backup, lastSuccessAt } = status?.databaseBackup ?? {};
  return backup === undefined
    ? ''
    : ` To create a new database from its newest backup, of ${lastSuccessAt}: kubectl davit database restore ${metadata.name} -n ${metadata.namespace} --backup ${backup}.`;
}

/** May an object of the claim's name be taken for it? An apply of it heals its labels then. */
export function isKnownClaim(found: KubeObject, observed: ObservedChildren): boolean {
  return isOurs(found, observed) || found.metadata.annotations?.[APPLIED_ANNOTATION] !== undefined;
}

/** A volume that is there and does not stay: no pod that uses it may be replaced. */
export function volumeTrouble(observed: ObservedChildren): ActionFailure | undefined {
  const cluster = ownCluster(observed);
  if (cluster) return clusterTrouble(cluster);
  const claim = ownClaim(observed);
  if (!claim) return undefined;
  const { name, namespace, deletionTimestamp } = claim.metadata;
  const ref = refTo(claim);
  if (deletionTimestamp !== undefined)
    return {
      reason: 'VolumeTerminating',
      ref,
      message: `${refText(ref)} is being deleted, which cannot be undone. Its data is lost when pod ${name}-0 stops. Back up the data now (kubectl exec ${name}-0 -n ${namespace} -- sh -c 'pg_dump -U postgres "$POSTGRES_DB"'), and do not restart the pod first.`,
    };
  if (claim.status?.phase === 'Lost')
    return {
      reason: 'VolumeLost',
      ref,
      message: `${refText(ref)} has lost its PersistentVolume.${restoreWords(observed)} If the PersistentVolume itself is restored, the deployment continues automatically.`,
    };
  return undefined;
}

function clusterTrouble(cluster: PostgresClusterSeen): ActionFailure | undefined {
  const { name, namespace, deletionTimestamp } = cluster.metadata;
  if (deletionTimestamp === undefined) return undefined;
  const ref = refTo(cluster);
  return {
    reason: 'VolumeTerminating',
    ref,
    message: `${refText(ref)} and its volumes are being deleted, which cannot be undone. Back up the data now, while one of its pods still runs: kubectl get pods -n ${namespace} -l ${CNPG_CLUSTER_LABEL}=${name}.`,
  };
}

/** uid of the volume or Cluster that the database uses or used last; undefined before the first. */
export function usedVolume(observed: ObservedChildren, answers: boolean): string | undefined {
  const cluster = ownCluster(observed);
  if (cluster && (answers || (cluster.status?.instances ?? 0) > 0)) return cluster.metadata.uid;
  const claim = ownClaim(observed);
  const isUsed = claim !== undefined && (answers || claim.status?.phase === 'Bound');
  return isUsed ? claim.metadata.uid : knownDatabase(observed).volumeUid;
}

/** The present size in gibibytes of the volume, or of a Cluster's smallest one. Of a Cluster without volumes, the size that it asks for. */
export function volumeSizeGi(observed: ObservedChildren): number | undefined {
  const found = ownVolumes(observed).map(sizes);
  const sizeOfAll = found.map(({ asked, there }) => Math.min(asked, there ?? asked));
  const bytes = found.length > 0 ? Math.min(...sizeOfAll) : clusterStorage(observed);
  return bytes === undefined ? undefined : Math.max(1, Math.ceil(bytes / GIBIBYTE));
}

/** The claims of the record's own PostgreSQL. A Cluster has one for each instance. */
function ownVolumes(observed: ObservedChildren): readonly Claim[] {
  const cluster = ownCluster(observed);
  if (cluster) return volumesOfCluster(observed, cluster.metadata.uid);
  const claim = ownClaim(observed);
  return claim ? [claim] : [];
}

/** The size that is asked of CloudNativePG, which then asks it of each claim. */
function clusterStorage(observed: ObservedChildren): number | undefined {
  const size = ownCluster(observed)?.spec?.storage?.size;
  return size === undefined ? undefined : Number(quantity(size));
}

export interface Resize {
  readonly failed: boolean;
  readonly message: string;
}

/** The volume is smaller than what is asked of it: it is still being grown, or could not be. */
export function unfinishedResize(observed: ObservedChildren): Resize | undefined {
  const [claim] = ownVolumes(observed).toSorted((a, b) => (sizes(a).there ?? Infinity) - (sizes(b).there ?? Infinity));
  if (!claim) return undefined;
  const { asked: requested, there } = sizes(claim);
  const asked = Math.max(requested, clusterStorage(observed) ?? 0);
  if (there === undefined || there >= asked) return undefined;
  const sizesSaid = `The PostgreSQL volume has ${gibibytes(there)} of ${gibibytes(asked)}`;
  const { conditions = [], allocatedResourceStatuses = {} } = claim.status ?? {};
  const step = allocatedResourceStatuses['storage'] ?? '';
  const is = (type: string): boolean => conditions.some((one) => one.type === type && one.status === 'True');
  const describe = `run kubectl describe pvc ${claim.metadata.name} -n ${claim.metadata.namespace} for the cause`;
  if (requested < asked)
    return {
      failed: false,
      message: `${sizesSaid}: CloudNativePG has not expanded it. If this persists, the storage class needs allowVolumeExpansion. Until then CloudNativePG neither starts nor replaces instances.`,
    };
  if (step.endsWith('Infeasible') || is('ControllerResizeError') || is('NodeResizeError'))
    return {
      failed: true,
      message: `${sizesSaid}: it could not be expanded. Set db_storage_gi to a size that the storage class supports, or ${describe}.`,
    };
  if (is('FileSystemResizePending') || step.startsWith('NodeResize'))
    return {
      failed: false,
      message: `${sizesSaid}: its node expands the file system when the pod restarts, if not earlier.`,
    };
  return {
    failed: false,
    message: `${sizesSaid}: it is being expanded. If this persists, ${describe}. The storage class needs allowVolumeExpansion.`,
  };
}

function sizes({ spec, status }: Claim): { readonly asked: number; readonly there: number | undefined } {
  const capacity = status?.capacity?.['storage'];
  return {
    asked: Number(quantity(spec?.resources?.requests?.['storage'] ?? '0')),
    there: capacity === undefined ? undefined : Number(quantity(capacity)),
  };
}

function gibibytes(bytes: number): string {
  return `${Math.round((bytes / GIBIBYTE) * 100) / 100} Gi`;
}
