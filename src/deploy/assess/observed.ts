// The observed state of one record and its surroundings, as one plain value. Decisions are functions of it;
// deploy/observe.ts fills it from the watch caches. `isServing` and `availableOf` decide which pods count as available.

import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { IPod } from 'kubernetes-models/v1/Pod';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { AppTemplate } from '../../kinds/app-template.ts';
import type { CodeHostIntegration } from '../../kinds/code-host-integration.ts';
import type { DatabaseBackup } from '../../kinds/database.ts';
import type { DeletionPolicy } from '../../kinds/database-names.ts';
import type { DatastoreOperation } from '../../kinds/datastore-operation.ts';
import type { Listener } from '../../kinds/listener.ts';
import { COMPONENT_LABEL, DEPLOYMENT_UID_LABEL, type StorePart } from '../../kinds/meta.ts';
import type { TracingProject } from '../../kinds/tracing-project.ts';
import { isWorker } from '../../kinds/worker-parts.ts';
import type { AsSeen, KubeObject } from '../../runtime/kube/client.ts';
import type { Sourced } from '../record/backup-consent.ts';
import { databaseNumberOf } from '../record/database-move.ts';
import { databaseNumberIn, type Names, names } from '../record/names.ts';
import { markOf } from '../record/used-last.ts';
import type { ObjectStoreSeen } from '../record/wal-archive.ts';
import type { BaseBackup } from './base-backups.ts';
import type { Patience } from './patience.ts';

/** The record and its revisions. */
export interface ObservedRecord {
  readonly record: AppDeployment;
  /** Names of the record's children. */
  readonly names: Names;
  /** This record's revisions, newest first, each at the scale that the record asks for (deploy/record/scaled.ts). */
  readonly revisions: readonly AppRevision[];
  /** What the deletion of the record does with its database, if its spec does not say so. */
  readonly deletionDefault?: DeletionPolicy;
}

/** The record and what was made for it. */
export interface ObservedChildren extends ObservedRecord {
  /** Objects in the namespace labelled with this record's name (Secrets as metadata only), without pods and revisions. */
  readonly children: readonly KubeObject[];
  readonly pods: readonly Pod[];
}

/** The Secrets that the record references. */
export interface ObservedSecrets {
  /** The keys of each referenced Secret, or null if the Secret does not exist. */
  readonly secretKeys: Readonly<Record<string, readonly string[] | null>>;
  /** Secrets that editors may name without the right to read them (deploy/record/names.ts) and that are not Opaque and immutable. */
  readonly unfixedSecrets: readonly string[];
  /** Secrets that a container gets as a whole although they have too many keys. */
  readonly tooLargeSecrets?: readonly string[];
  readonly secretsRead: SecretsRead;
  /** Failures to read existing Secrets, whose keys are therefore unknown. */
  readonly unread?: readonly ActionFailure[];
}

/** Everything on which decisions about a record depend. */
export interface Observed extends ObservedChildren, ObservedSecrets {
  /** The operation on its database or Redis that works now, and does more than a backup. */
  readonly operation?: DatastoreOperation | undefined;
  /** uid of the record's namespace; undefined if the namespace is not a tenant. */
  readonly tenantId: string | undefined;
  /** uid of the namespace kube-system. */
  readonly clusterId?: string | undefined;
  /** Whose backup the database is to begin with. Absent where it begins with none. */
  readonly backupSource?: Sourced | undefined;
  /** The tenant's annotation with the hosts that it may claim. */
  readonly tenantHosts: string | undefined;
  /** The cluster does not have the configured kind of address objects. */
  readonly addressKindMissing: boolean;
  /** The namespace is being deleted. */
  readonly namespaceTerminating: boolean;
  readonly tracingProject: TracingProject | undefined;
  /** The catalogue. */
  readonly templates: readonly AppTemplate[];
  /** The listeners of the record's namespace, for a record that names one. */
  readonly listeners: readonly Listener[];
  /** The organization's integrations. */
  readonly integrations: readonly CodeHostIntegration[];
  /** Whether the cluster has KEDA's kinds, and the platform uses them. */
  readonly keda?: boolean;
  /** Whether the cluster has CloudNativePG's kinds, and the platform uses them. */
  readonly cloudNativePg?: boolean;
  /** Whether the platform has them switched off: then Davit may not even look for Clusters. */
  readonly cloudNativePgOff?: boolean;
  /**
   * ObjectStores of the deployment with whose archive the database is to begin, of any life. Undefined if the cluster has no Barman Cloud
   * plugin.
   */
  readonly archives?: readonly ObjectStoreSeen[] | undefined;
  /** Backups of CloudNativePG of the record's Clusters. */
  readonly baseBackups?: readonly BaseBackup[];
  /** The backups that the platform makes of a database whose record does not say otherwise. Undefined if it makes none. */
  readonly backupDefault?: DatabaseBackup | undefined;
  /** Where backups go, and whether they are verified by default. Undefined if the platform has no store. */
  readonly backupStore?:
    | { readonly secret: string; readonly hasCredentials: boolean; readonly isVerified: boolean }
    | undefined;
  /** Whether sources are built here. */
  readonly canBuild?: boolean;
  /** For a record that is being deleted: its Secrets of values that other records or their revisions name. */
  readonly namedByOthers?: ReadonlySet<string>;
  /** What the servers of its datastores say about themselves, where the status does not have it yet. Absent before the report. */
  readonly versions?: Readonly<Partial<Record<StorePart, string>>>;
  /** How long something may fail. Absent before the report: no decision on children depends on it. */
  readonly patience?: Patience;
}

/** The Secret values that the record's pods read when they start. */
export type SecretsRead =
  | { readonly is: 'nothing' }
  /** A required value is missing. */
  | { readonly is: 'incomplete' }
  /** `digest` as deploy/children/secret-digest.ts makes it; `quietForMs`: how long ago this process saw the newest change, if any. */
  | { readonly is: 'complete'; readonly digest: string; readonly quietForMs?: number };

type PodSpec = AsSeen<NonNullable<IPod['spec']>>;
type PodStatus = AsSeen<NonNullable<IPod['status']>>;
export type PodContainer = NonNullable<PodSpec['containers']>[number];
export type ObservedCondition = NonNullable<PodStatus['conditions']>[number];
export type ContainerStatus = NonNullable<PodStatus['containerStatuses']>[number] & {
  /** Not part of the status: it exited, and has not run for long enough since (pod-settling.ts). */
  readonly unsettled?: boolean;
};
export type ContainerState = NonNullable<ContainerStatus['state']>;

export interface Pod extends KubeObject {
  /** Not part of the Pod: the kubelet's event message about a volume that it cannot mount. */
  readonly failedMount?: string;
  /** Not part of the Pod: the kubelet's last event message about a health check that failed. */
  readonly failedProbe?: string;
  /** Not part of the Pod: its own container began so recently that it may still start well (pod-startup.ts). */
  readonly justStarted?: boolean;
  /** Not part of the Pod: one of its init containers has held it back for long (pod-inits.ts). */
  readonly longHeld?: boolean;
  /** Not part of the Pod: it is past its termination time (terminating-pods.ts). */
  readonly overdue?: boolean;
  readonly spec?: Omit<PodSpec, 'volumes'> & {
    readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName?: string } }[];
  };
  readonly status?: Omit<PodStatus, 'initContainerStatuses' | 'containerStatuses'> & {
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** A Deployment or StatefulSet. */
export interface Workload extends KubeObject {
  /** Deployments only have `paused`: somebody has paused the rollout (kubectl rollout pause). */
  readonly spec?: AsSeen<NonNullable<IStatefulSet['spec']>> & { readonly paused?: boolean };
  readonly status?: AsSeen<NonNullable<IStatefulSet['status']>>;
}

/** The used part of postgresql.cnpg.io/v1 Cluster. */
export interface PostgresClusterSeen extends KubeObject {
  readonly spec?: {
    readonly instances?: number;
    readonly imageName?: string;
    readonly primaryUpdateMethod?: string;
    readonly postgresql?: { readonly parameters?: object };
    readonly storage?: { readonly size?: string; readonly storageClass?: string };
    readonly postgresUID?: number;
    readonly bootstrap?: { readonly recovery?: object };
    readonly plugins?: readonly { readonly name?: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly phaseReason?: string;
    readonly instances?: number;
    readonly conditions?: readonly ObservedCondition[];
  };
}

/** A reference to an object in the record's namespace. */
export interface ChildRef {
  readonly kind: string;
  readonly name: string;
}

/** The failure of one action. */
export interface ActionFailure {
  readonly reason:
    | 'NameConflict'
    | 'ApplyRefused'
    | 'StorageCannotShrink'
    | 'PodsRefused'
    | 'DatabaseKept'
    | 'PasswordMissing'
    | 'ContractUnknown'
    | 'MigrationFailed'
    | 'VolumeMissing'
    | 'VolumeTerminating'
    | 'VolumeLost'
    /** The database is a Cluster, and the cluster has no such kind. */
    | 'CloudNativePgMissing'
    /** The next revision waits for a file of the repository. */
    | 'FileUnread'
    | 'BuilderNotConfigured'
    /** The request failed, and a retry may succeed. */
    | 'RequestFailed';
  readonly ref: ChildRef;
  readonly message: string;
  /** The error of a failed request, to be thrown after the report. */
  readonly cause?: unknown;
  /** No object of that name is known to exist. */
  readonly absent?: true;
}

export function refTo({ kind, metadata: { name } }: KubeObject): ChildRef {
  return { kind, name };
}

/** For people: `Deployment shop`. */
export function refText({ kind, name }: ChildRef): string {
  return `${kind} ${name}`;
}

/** Whether nothing is rolled out because of it: a dry run found it before anything was applied. */
export function rollsNothing({ reason }: ActionFailure): boolean {
  return reason === 'PodsRefused';
}

/** The failure of this object. */
export function failureAt({ kind, name }: ChildRef, failures: readonly ActionFailure[]): ActionFailure | undefined {
  return failures.find(({ ref }) => ref.kind === kind && ref.name === name);
}

/** The first failure of any object of this kind. */
export function failureOfKind(kind: string, failures: readonly ActionFailure[]): ActionFailure | undefined {
  return failures.find(({ ref }) => ref.kind === kind);
}

export function childOf(
  observed: Pick<ObservedChildren, 'children'>,
  kind: string,
  name: string,
): KubeObject | undefined {
  return observed.children.find((child) => child.kind === kind && child.metadata.name === name);
}

/** The workload of a part: a Deployment, or of a singleton a StatefulSet. One that is not being deleted comes first. */
export function workloadOf(observed: ObservedChildren, part: string): Workload | undefined {
  const name = observed.names.part(part);
  const found = observed.children.filter(
    ({ kind, metadata }) =>
      metadata.name === name && (kind === 'Deployment' || (kind === 'StatefulSet' && isWorker(part))),
  );
  return (found.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? found[0]) as Workload | undefined;
}

/** Is the main service available now, by whatever revision's pods? */
export function isServing(observed: ObservedChildren): boolean {
  return availableOf(observed, 'server') > 0;
}

/** The pods of a part that are available: ready, and without a container that is running again after an exit and may exit again. */
export function availableOf(observed: ObservedChildren, part: string): number {
  const unsettled = observed.pods.filter(
    ({ metadata, status }) =>
      metadata.labels?.[COMPONENT_LABEL] === part &&
      metadata.deletionTimestamp === undefined &&
      status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true &&
      isUnsettled({ status }),
  );
  return Math.max(0, (workloadOf(observed, part)?.status?.availableReplicas ?? 0) - unsettled.length);
}

/** Whether one of its containers is running again after an exit, and may exit again (pod-settling.ts). */
export function isUnsettled({ status }: Pick<Pod, 'status'>): boolean {
  const { initContainerStatuses: init = [], containerStatuses: main = [] } = status ?? {};
  return [...init, ...main].some(({ unsettled }) => unsettled === true);
}

/** The workers of which the record has a workload, whatever revision made it. */
export function workersThere(observed: Pick<ObservedChildren, 'children' | 'record'>): readonly string[] {
  const own = observed.children.filter((child) => isOfPart(child) && isOurs(child, observed));
  return workersAmong(own);
}

/** The names of the workers to which these objects belong, sorted. */
export function workersAmong(objects: readonly KubeObject[]): readonly string[] {
  const components = objects.flatMap(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] ?? []);
  return [...new Set(components.filter(isWorker))].toSorted();
}

/** A workload of a part, and no own store. */
export function isOfPart({ kind, metadata }: KubeObject): boolean {
  return kind === 'Deployment' || (kind === 'StatefulSet' && isWorker(metadata.labels?.[COMPONENT_LABEL]));
}

/** Whether it is the StatefulSet of a PostgreSQL or Redis. A singleton's is a part: it has no data, and replaces its own pod. */
export function isStoreSet(object: KubeObject): object is Workload {
  return object.kind === 'StatefulSet' && !isOfPart(object);
}

/** The StatefulSet of the record's own PostgreSQL or Redis. */
export function statefulSetOf(observed: ObservedChildren, part: StorePart): Workload | undefined {
  return childOf(observed, 'StatefulSet', observed.names[part]) as Workload | undefined;
}

/** The claim with the name of the record's own PostgreSQL, whatever its owner. */
export function volumeClaimOf(observed: ObservedChildren): KubeObject | undefined {
  return childOf(observed, 'PersistentVolumeClaim', observed.names.postgresClaim);
}

/** The Cluster of CloudNativePG with that name, whatever its owner. */
export function postgresClusterOf(observed: ObservedChildren): PostgresClusterSeen | undefined {
  return childOf(observed, 'Cluster', observed.names.postgres) as PostgresClusterSeen | undefined;
}

/**
 * What holds the data of the deployment's own PostgreSQL: a claim or a Cluster of its name. The record's own comes before another's; no record
 * has both under one name, because only a move changes its driver.
 */
export function dataHolderOf(observed: ObservedChildren): KubeObject | undefined {
  const found = [volumeClaimOf(observed), postgresClusterOf(observed)].filter((one) => one !== undefined);
  return found.find((one) => isOurs(one, observed)) ?? found[0];
}

/**
 * The names of a record's children, of which those of the database follow from its newest revision. Before the first one: from the one that
 * an earlier deployment of the name has left. If it has left several, one is marked as used last; those that it was moved from are older.
 */
export function namesNow(
  record: AppDeployment,
  [newest]: readonly AppRevision[],
  children: readonly KubeObject[],
): Names {
  const { name } = record.metadata;
  if (newest) return names(name, databaseNumberOf(newest));
  const kept = children.flatMap((child) => {
    const number = databaseNumberIn(name, child.metadata.name);
    const isOthers = child.metadata.labels?.[DEPLOYMENT_UID_LABEL] !== undefined && !isOurs(child, { record });
    if (number === undefined || !isOthers) return [];
    const isHolder = child.kind === 'PersistentVolumeClaim' || child.kind === 'Cluster';
    const isMarked = child.kind === 'Secret' && markOf(child).driver !== undefined;
    return isHolder || isMarked ? [{ number, isMarked }] : [];
  });
  const marked = kept.filter(({ isMarked }) => isMarked);
  return names(name, Math.max(0, ...(marked.length > 0 ? marked : kept).map(({ number }) => number)));
}

/** Whether the status was reported of another database than the record has now. */
export function isNextDatabase({ record: { status }, names }: ObservedChildren): boolean {
  return (status?.databaseNumber ?? 0) !== names.databaseNumber;
}

/** What the status knows of the database that the record uses: nothing of one that it was moved from. */
export function knownDatabase({ record: { status = {} }, names }: ObservedRecord): {
  readonly volumeUid?: string | undefined;
  readonly restore?: AppDeploymentStatus['databaseRestore'];
} {
  const { databaseNumber = 0, databaseVolumeUid: volumeUid, databaseRestore: restore } = status;
  return databaseNumber === names.databaseNumber ? { volumeUid, restore } : {};
}

/** What runs an own store, in whose annotation the revision stands. */
export function storeObjectOf(observed: ObservedChildren, part: StorePart): KubeObject | undefined {
  return statefulSetOf(observed, part) ?? (part === 'postgres' ? postgresClusterOf(observed) : undefined);
}

/** Whether its database outlives the record. Only a known Delete loses data. */
export function keepsDatabase({
  record,
  deletionDefault,
}: Pick<ObservedRecord, 'record' | 'deletionDefault'>): boolean {
  return (record.spec.databaseDeletionPolicy ?? deletionDefault) !== 'Delete';
}

/** Whether it was created for this record, not for an earlier one of its name or by somebody else. */
export function isOurs(child: KubeObject, observed: Pick<ObservedRecord, 'record'>): boolean {
  return child.metadata.labels?.[DEPLOYMENT_UID_LABEL] === observed.record.metadata.uid;
}
