// Fills observed.ts from the watch caches. Base backups are read live: their kind is not watched.

import { hasEnded, type Job } from '../deployments/assess/jobs.ts';
import type { Pod } from '../deployments/assess/observed.ts';
import { pausedBy } from '../deployments/assess/pause.ts';
import type { Caches } from '../deployments/cluster/caches.ts';
import type { Cluster } from '../deployments/cluster/cluster.ts';
import { isOwnedBy, uidOf } from '../deployments/record/metadata.ts';
import { names } from '../deployments/record/names.ts';
import { undefinedIfNotFound } from '../lib/errors.ts';
import { BASE_BACKUPS } from '../lib/kube/api-resources.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { youngestFirst } from '../lib/kube/youngest-first.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { type DatastoreOperation, ENDED_PHASES } from '../schema/datastore-operation.ts';
import { BACKUP, COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL } from '../schema/meta.ts';
import type { Settings } from '../schema/settings.ts';
import type { BaseBackup, ObservedOperation } from './observed.ts';

/** Name of the work of an operation: the same for each try, and no other operation's. */
export function workName(operation: DatastoreOperation): string {
  return `${names(operation.spec.deployment).backup}-${(operation.metadata.uid ?? '').slice(0, 8)}`;
}

/** The operations of one deployment that have not ended: the oldest first, by uid where they are equally old. */
export function unfinishedOf(operations: readonly DatastoreOperation[]): DatastoreOperation[] {
  const orderOf = ({ metadata }: DatastoreOperation): string => `${metadata.creationTimestamp} ${metadata.uid}`;
  return operations
    .filter(({ status }) => status?.phase === undefined || !ENDED_PHASES.has(status.phase))
    .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
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
    unfinished: unfinishedOf(operations),
    paused: record && pausedBy(record, settings),
    source: { dump: record !== undefined && cronJobOf(record, caches) !== undefined, base: schedule !== undefined },
    job,
    pods: job ? podsOfJob(job, deployment, caches) : [],
    base,
    ...(other && { otherBackup: `Job ${other.metadata.name}` }),
  };
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
