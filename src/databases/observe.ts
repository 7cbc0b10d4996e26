// Fills observed.ts from the watch caches. Base backups are read live: their kind is not watched.

import { hasEnded, type Job } from '../deployments/assess/jobs.ts';
import { isOurs, type Pod } from '../deployments/assess/observed.ts';
import { pausedBy } from '../deployments/assess/pause.ts';
import { writersAmong } from '../deployments/assess/pod-failures.ts';
import type { Caches } from '../deployments/cluster/caches.ts';
import type { Cluster } from '../deployments/cluster/cluster.ts';
import { isOwnedBy, uidOf } from '../deployments/record/metadata.ts';
import { databaseNumberIn, names } from '../deployments/record/names.ts';
import { revisionsOf } from '../deployments/record/revisions.ts';
import { undefinedIfNotFound } from '../lib/errors.ts';
import { BASE_BACKUPS } from '../lib/kube/api-resources.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { youngestFirst } from '../lib/kube/youngest-first.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { type DatastoreOperation } from '../schema/datastore-operation.ts';
import { BACKUP, COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL, PROOF, RESTORE } from '../schema/meta.ts';
import { isEnded } from '../schema/operation-phases.ts';
import type { Settings } from '../schema/settings.ts';
import type { BaseBackup, ObservedOperation } from './observed.ts';

/** Name of the work of an operation: the same for each try, and no other operation's. */
export function workName(operation: DatastoreOperation): string {
  return `${names(operation.spec.deployment).backup}-${(operation.metadata.uid ?? '').slice(0, 8)}`;
}

/** The operations of one deployment that have not ended: the oldest first, by uid where they are equally old. */
export function unfinishedOf(operations: readonly DatastoreOperation[]): DatastoreOperation[] {
  const orderOf = ({ metadata }: DatastoreOperation): string => `${metadata.creationTimestamp} ${metadata.uid}`;
  return operations.filter((one) => !isEnded(one)).toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
}

export async function observeOperation(
  operation: DatastoreOperation,
  operations: readonly DatastoreOperation[],
  { home, settings }: { readonly home: Cluster; readonly settings: Settings },
): Promise<ObservedOperation> {
  const { caches } = home;
  const { namespace = '' } = operation.metadata;
  const { deployment } = operation.spec;
  const record = caches.records.get({ namespace, name: deployment });
  const jobs = record === undefined ? [] : backupJobsOf(record, caches);
  const own = workName(operation);
  const job = jobs.find(({ metadata }) => metadata.name === own);
  const other = jobs.find((one) => one !== job && !hasEnded(one) && one.spec?.suspend !== true);
  const schedule = record && scheduleOf(record, caches);
  const base =
    schedule && (await home.client.get<BaseBackup>(BASE_BACKUPS, { namespace, name: own }).catch(undefinedIfNotFound));
  return {
    operation,
    record,
    revisions: record ? revisionsOf(record, caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, deployment)) : [],
    used: record ? databasesOf(record, caches).map(({ number }) => number) : [],
    running: record && runningOf(record, caches),
    images: settings.images,
    unfinished: unfinishedOf(operations),
    paused: record && pausedBy(record, settings),
    source: { dump: record !== undefined && cronJobOf(record, caches) !== undefined, base: schedule !== undefined },
    job,
    pods: job ? podsOfJob(job, deployment, caches) : [],
    base,
    ...(other && { otherBackup: `Job ${other.metadata.name}` }),
  };
}

export interface DatabaseObject {
  readonly number: number;
  readonly object: KubeObject;
}

/** The volumes, Clusters and passwords of all databases of the record. */
export function databasesOf(record: AppDeployment, caches: Caches): readonly DatabaseObject[] {
  const { namespace = '', name } = record.metadata;
  return ['PersistentVolumeClaim', 'Cluster', 'Secret'].flatMap((kind) =>
    (caches.children.get(kind)?.byLabel(namespace, DEPLOYMENT_LABEL, name) ?? []).flatMap((object) => {
      const number = isOurs(object, { record }) ? databaseNumberIn(name, object.metadata.name) : undefined;
      return number === undefined ? [] : [{ number, object }];
    }),
  );
}

/** Source: Kubernetes, "Deployments: Deployment status". */
interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number; readonly observedGeneration?: number };
}

/** A workload counts until its controller has seen that it has no replicas: before that it may still create a pod. */
function runningOf(record: AppDeployment, caches: Caches): string | undefined {
  const { namespace = '', name } = record.metadata;
  const workloads = (caches.children.get('Deployment')?.byLabel(namespace, DEPLOYMENT_LABEL, name) ??
    []) as readonly Workload[];
  const busy = workloads.find(
    (one) =>
      isOurs(one, { record }) &&
      ((one.spec?.replicas ?? 1) > 0 ||
        (one.status?.replicas ?? 0) > 0 ||
        (one.status?.observedGeneration ?? 0) < (one.metadata.generation ?? 0)),
  );
  const [pod] = writersAmong(caches.pods.byLabel(namespace, DEPLOYMENT_LABEL, name));
  if (pod) return `pod ${pod.metadata.name}`;
  const jobs = (caches.children.get('Job')?.byLabel(namespace, DEPLOYMENT_LABEL, name) ?? []) as readonly Job[];
  const job = jobs.find((one) => isOurs(one, { record }) && mayWrite(one) && !hasEnded(one));
  return busy ? `Deployment ${busy.metadata.name}` : job && `Job ${job.metadata.name}`;
}

/** A migration, a task or a run: its pod may come any moment. */
function mayWrite({ metadata, spec }: Job): boolean {
  const component = metadata.labels?.[COMPONENT_LABEL] ?? '';
  return ![BACKUP, PROOF, RESTORE].includes(component) && spec?.suspend !== true;
}

/** The CronJob of the record's dumps. */
export function cronJobOf(record: AppDeployment, caches: Caches): KubeObject | undefined {
  const { namespace = '', name } = record.metadata;
  const found = caches.children.get('CronJob')?.get({ namespace, name: names(name).backup });
  return found && isOwnedBy(found, uidOf(record)) ? found : undefined;
}

/** The schedule of base backups of the record's present database: the newest one. */
export function scheduleOf(record: AppDeployment, caches: Caches): ScheduledBackup | undefined {
  const { namespace = '', name } = record.metadata;
  const all = caches.children.get('ScheduledBackup')?.byLabel(namespace, DEPLOYMENT_LABEL, name) ?? [];
  return youngestFirst(all.filter((one): one is ScheduledBackup => isOwnedBy(one, uidOf(record))))[0];
}

/** The used part of postgresql.cnpg.io/v1 ScheduledBackup. */
export interface ScheduledBackup extends KubeObject {
  readonly spec: {
    readonly cluster: { readonly name: string };
    readonly method?: string;
    readonly pluginConfiguration?: object;
  };
}

/** Jobs that make dumps of this record, by schedule or by hand. */
function backupJobsOf(record: AppDeployment, caches: Caches): readonly Job[] {
  const { namespace = '', name, uid } = record.metadata;
  const all = (caches.children.get('Job')?.byLabel(namespace, DEPLOYMENT_LABEL, name) ?? []) as readonly Job[];
  return all.filter(
    ({ metadata: { labels } }) => labels?.[COMPONENT_LABEL] === BACKUP && labels[DEPLOYMENT_UID_LABEL] === uid,
  );
}

function podsOfJob({ metadata }: Job, deployment: string, { pods }: Caches): readonly Pod[] {
  return pods
    .byLabel(metadata.namespace ?? '', DEPLOYMENT_LABEL, deployment)
    .filter((pod) => isOwnedBy(pod, metadata.uid));
}
