// The inputs of the makers in this folder: everything on which a child depends. Makers use no other observed state.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { Settings } from '../../kinds/settings.ts';
import type { BackupSource } from '../record/backup-consent.ts';
import type { ArchiveOrigin } from '../record/wal-archive.ts';

export interface Inputs {
  /** As read from the API server, with uid and namespace. */
  readonly record: AppDeployment;
  /** The snapshot from which the children are rendered. Only name, namespace, uid and source config come from the record. */
  readonly revision: AppRevision;
  /** uid of the tenant's namespace. */
  readonly tenantId: string;
  /** uid of the namespace kube-system. */
  readonly clusterId?: string;
  readonly settings: Settings;
  /** Digests of the Secret values that the workloads' pods read (secret-digest.ts). */
  readonly secretDigests?: PartDigests;
  /** The record's host. If absent, no address is made. */
  readonly host?: string;
  /** Whether the cluster has KEDA's kinds, and the platform uses them. */
  readonly keda?: boolean;
  /** Whose backup the database begins with. Absent where none may be taken. */
  readonly backupSource?: BackupSource;
  /** What is known of archives. Absent where the cluster has no Barman Cloud plugin. */
  readonly archives?: ArchivesKnown;
  /** Whether the database begins with an archive that is not known yet, so that no Cluster is made. */
  readonly awaitsArchive?: boolean;
  /** Parts whose `replicas` an autoscaler owns, so that the field is omitted. */
  readonly autoscaled?: ReadonlySet<string>;
  /** Workers of other revisions that still have pods, which use its stores. */
  readonly otherWorkers?: readonly string[];
}

export interface ArchivesKnown {
  readonly origin?: ArchiveOrigin;
  /** Whether there are keys for the store, or were: without them, PostgreSQL would keep its changes until its volume is full. */
  readonly hasKeys: boolean;
  /** Whether the instances can make base backups. */
  readonly isRunning: boolean;
}

/** By part. */
export type PartDigests = Readonly<Record<string, SecretDigests>>;

/** Keyed digests of values in Secrets. */
export interface SecretDigests {
  /** On the pods: a new digest rolls them. */
  readonly pods?: string;
  /** On the workload: the values for which its pods were last rolled. */
  readonly workload?: string;
}
