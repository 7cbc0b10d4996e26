// Fills observed.ts from the watch caches.

import { databasesOfName, numberedDatabases } from '../deploy/assess/database-move.ts';
import { serverImages } from '../deploy/assess/datastores.ts';
import { hasEnded, type Job, jobsOf } from '../deploy/assess/jobs.ts';
import { isOurs, namesNow, type ObservedChildren, type Pod, type Workload } from '../deploy/assess/observed.ts';
import { pausedBy } from '../deploy/assess/pause.ts';
import { writersAmong } from '../deploy/assess/pod-failures.ts';
import { backupSourceIn } from '../deploy/cluster/archives.ts';
import { type Caches, childrenNamed, ownRevisions } from '../deploy/cluster/caches.ts';
import type { Cluster } from '../deploy/cluster/cluster.ts';
import { isOwnedBy, uidOf } from '../deploy/record/metadata.ts';
import { names } from '../deploy/record/names.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { DatabaseRestore } from '../kinds/database.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import { BACKUP, COMPONENT_LABEL, DEPLOYMENT_LABEL, isOfStores } from '../kinds/meta.ts';
import { isEnded, isPending } from '../kinds/operation-phases.ts';
import type { Settings } from '../kinds/settings.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { youngestFirst } from '../runtime/kube/youngest-first.ts';
import type { ObservedOperation } from './observed.ts';
import { orderOf } from './turns.ts';

/** Name of the work of an operation: the same for each try, and no other operation's. */
export function workName(operation: DatastoreOperation): string {
  return `${names(operation.spec.deployment).backup}-${(operation.metadata.uid ?? '').slice(0, 8)}`;
}

/** Of the unfinished operations of one deployment: the one that has begun, otherwise the oldest. */
export function firstOf(operations: readonly DatastoreOperation[]): DatastoreOperation | undefined {
  const order = (one: DatastoreOperation): string => `${isPending(one) ? 1 : 0} ${orderOf(one)}`;
  const unfinished = operations.filter((one) => !isEnded(one));
  return unfinished.reduce<DatastoreOperation | undefined>(
    (first, one) => (first && order(first) < order(one) ? first : one),
    undefined,
  );
}

export function observeOperation(
  operation: DatastoreOperation,
  operations: readonly DatastoreOperation[],
  { home, settings }: { readonly home: Cluster; readonly settings: Settings },
): Omit<ObservedOperation, 'isItsTurn' | 'now'> {
  const { caches } = home;
  const { namespace = '' } = operation.metadata;
  const { deployment, restore, patch } = operation.spec;
  const found = caches.records.get({ namespace, name: deployment });
  // A deployment of the same name that came later is not its own.
  const isOfEarlier = found && operation.metadata.ownerReferences?.length && !isOwnedBy(operation, uidOf(found));
  const record = isOfEarlier ? undefined : found;
  const children = record ? childrenNamed(caches, namespace, deployment) : [];
  const seen = record && { record, children };
  const jobs = seen ? jobsOf(seen, BACKUP) : [];
  const own = workName(operation);
  const job = jobs.find(({ metadata }) => metadata.name === own);
  const other = jobs.find((one) => one !== job && !hasEnded(one) && one.spec?.suspend !== true);
  const schedule = record && scheduleOf(record, caches);
  const base = caches.baseBackups?.get({ namespace, name: own });
  const pods = caches.pods.byLabel(namespace, DEPLOYMENT_LABEL, deployment);
  const revisions = record ? ownRevisions(record, caches) : [];
  const all = record && { record, names: namesNow(record, revisions, children), revisions, children, pods };
  return {
    operation,
    record,
    ...(record && restore?.from !== undefined && originOf(record, { ...restore, from: restore.from }, home)),
    revisions,
    serverImages: all && patch ? serverImages(all, patch.datastore) : [],
    databases: seen ? numberedDatabases(seen) : [],
    numbers: seen ? databasesOfName(seen).map(({ number }) => number) : [],
    running: seen && runningOf(seen, pods),
    images: settings.images,
    isFirst: firstOf(operations)?.metadata.uid === operation.metadata.uid,
    paused: record && pausedBy(record, settings),
    source: { dump: record !== undefined && cronJobOf(record, caches) !== undefined, base: schedule !== undefined },
    job,
    pods: job ? pods.filter((pod) => isOwnedBy(pod, job.metadata.uid)) : [],
    base,
    ...(other && { otherBackup: `Job ${other.metadata.name}` }),
  };
}

/** The list in the status of a deployment has the backups of its tenant alone, so it does not judge those of others that are allowed. */
function originOf(
  record: AppDeployment,
  restore: Pick<DatabaseRestore, 'from' | 'namespace'>,
  home: Cluster,
): Pick<ObservedOperation, 'origin' | 'restoreSource'> {
  const restoreSource = backupSourceIn(record, restore, home);
  if (!restoreSource || 'refused' in restoreSource || restoreSource.tenants.length > 1) return { restoreSource };
  const place = { namespace: restoreSource.namespace, name: restore.from };
  return { restoreSource, origin: home.caches.records.get(place) };
}

/** A workload counts until its controller has seen that it has no replicas, and a Job until it has ended: each may still create a pod. */
function runningOf(
  { record, children }: Pick<ObservedChildren, 'record' | 'children'>,
  pods: readonly Pod[],
): string | undefined {
  const [pod] = writersAmong(pods);
  if (pod) return `pod ${pod.metadata.name}`;
  const own = children.filter(
    (child) => isOurs(child, { record }) && !isOfStores(child.metadata.labels?.[COMPONENT_LABEL]),
  );
  const busy = own.find((child) => mayCreatePods(child));
  return busy && `${busy.kind} ${busy.metadata.name}`;
}

function mayCreatePods(child: KubeObject): boolean {
  if (child.kind === 'Job') return (child as Job).spec?.suspend !== true && !hasEnded(child as Job);
  if (child.kind !== 'Deployment' && child.kind !== 'StatefulSet') return false;
  const { metadata, spec, status }: Workload = child;
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return (spec?.replicas ?? 1) > 0 || (status?.replicas ?? 0) > 0 || !isSeen;
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
