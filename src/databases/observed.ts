// What the decisions about an operation know.

import type { BaseBackup } from '../deploy/assess/base-backups.ts';
import type { Job } from '../deploy/assess/jobs.ts';
import type { Pod } from '../deploy/assess/observed.ts';
import type { Sourced } from '../deploy/record/backup-consent.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import type { Settings } from '../kinds/settings.ts';
import type { KubeObject } from '../runtime/kube/client.ts';

export interface ObservedOperation {
  readonly now: Date;
  readonly operation: DatastoreOperation;
  /** Undefined where there is none of that name. */
  readonly record: AppDeployment | undefined;
  /** Whose backup it may restore. Undefined where it names no deployment. */
  readonly restoreSource?: Sourced | undefined;
  /** The deployment that `restore.from` names. Undefined where it names none, or there is none of that name. */
  readonly origin?: AppDeployment | undefined;
  /** Whether no other unfinished operation of the deployment comes before it. */
  readonly isFirst: boolean;
  /** Why nothing may be changed; undefined where Davit and the record are not paused. */
  readonly paused: string | undefined;
  /** Whether there is what a backup is made from: the CronJob of dumps, or the schedule of base backups. */
  readonly source: { readonly dump: boolean; readonly base: boolean };
  /** The Job of a dump that was made for it. */
  readonly job?: Job | undefined;
  /** The pods of that Job. */
  readonly pods: readonly Pod[];
  /** The base backup that was made for it. */
  readonly base?: BaseBackup | undefined;
  /** The revisions of the record, newest first. */
  readonly revisions: readonly AppRevision[];
  /** Volumes, Clusters and passwords of the databases of the record, with their numbers. */
  readonly databases: readonly { readonly number: number; readonly object: KubeObject }[];
  /** Numbers of all databases of the name, also of those that earlier deployments have left. */
  readonly numbers: readonly number[];
  /** What of the deployment may still write to the database, for people: a pod, a workload, or a Job. */
  readonly running?: string | undefined;
  /** Images of new databases. */
  readonly images: Pick<Settings['images'], 'postgres' | 'cloudNativePg'>;
  /** Images of the pods of the datastore that it patches. */
  readonly serverImages: readonly (string | undefined)[];
  /** Whether the platform has room for one more operation that stops something. */
  readonly isItsTurn: boolean;
  /** Name of another backup of the same database that is being made. */
  readonly otherBackup?: string | undefined;
}
