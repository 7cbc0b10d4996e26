// Reconciles one operation: observe, decide, report, act. It writes the operation, and what does its work.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJobSpec } from 'kubernetes-models/batch/v1/JobSpec';
import { pausedBy } from '../deploy/assess/pause.ts';
import { type Caches, DEPLOYMENT_NAMED } from '../deploy/cluster/caches.ts';
import type { Cluster } from '../deploy/cluster/cluster.ts';
import type { BackupKind } from '../deploy/record/backup-request.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../kinds/app-deployment.ts';
import {
  DATASTORE_OPERATIONS,
  type DatastoreOperation,
  type DatastoreOperationStatus,
} from '../kinds/datastore-operation.ts';
import {
  API_VERSION,
  BACKUP,
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  FIELD_MANAGER,
  OPERATION_FINALIZER,
  UPLOAD_CONTAINER,
} from '../kinds/meta.ts';
import { isBegun, isEnded } from '../kinds/operation-phases.ts';
import type { Settings } from '../kinds/settings.ts';
import { overlayWrite, placeOf, until } from '../runtime/controller/cluster.ts';
import type { Reconcile } from '../runtime/controller/controller.ts';
import { keyOf, refOf } from '../runtime/controller/keys.ts';
import { reportStatus } from '../runtime/controller/report-status.ts';
import { endAll } from '../runtime/controller/store.ts';
import type { WorkQueue } from '../runtime/controller/work-queue.ts';
import { AlreadyExists, isRefusal, NotFound, undefinedIfNotFound } from '../runtime/errors.ts';
import { BASE_BACKUPS, CRON_JOBS, JOBS } from '../runtime/kube/api-resources.ts';
import type { KubeObject, Read } from '../runtime/kube/client.ts';
import { youngestFirst } from '../runtime/kube/youngest-first.ts';
import { cronJobOf, firstOf, observeOperation, scheduleOf, workName } from './observe.ts';
import type { ObservedOperation } from './observed.ts';
import { isHeld, nextOperationStep } from './step.ts';
import { type OperationStep, refusedStep, withLeft } from './steps.ts';
import { isItsTurn, nextInTurn } from './turns.ts';
import { patchesIn, type Window, windowAt } from './window.ts';

/** Operations of a deployment that are kept after their end. */
const KEPT = 10;

/** A datastore that falls behind while the window is open is seen so much later at most. */
const WINDOW_LOOK_MS = 60_000;
/** A timer counts to 2^31 ms at most, and clocks are corrected. */
const LONGEST_WAIT_MS = 3_600_000;

export interface OperationReconcilerOptions {
  readonly home: Cluster;
  readonly settings: Settings;
  readonly now: () => Date;
}

/** Returns a reconciler whose keys are `namespace/name`. */
export function makeOperationReconciler({ home, settings, now }: OperationReconcilerOptions): Reconcile {
  /** uids. Another worker may decide between a decision to begin and its arrival in the cache. */
  const begun = new Set<string>();
  return async function reconcile(key, signal) {
    const within = until(home, signal);
    const { caches } = within;
    const { namespace, name } = refOf(key);
    const operation = caches.operations.get({ namespace, name });
    if (!operation) return {};
    const siblings = caches.operations.byIndex(namespace, DEPLOYMENT_NAMED, operation.spec.deployment);
    const seen = observeOperation(operation, siblings, { home: within, settings });
    const { atOnce } = settings.datastores;
    const isOpen = !isBegun(operation) && !isEnded(operation);
    const observed = {
      ...seen,
      now: now(),
      isItsTurn:
        seen.isFirst && isOpen && isItsTurn(operation, caches.operations.list(), { begun, atOnce, now: now() }),
    };
    const step = nextOperationStep(observed);
    const { act, kind, requeueAfterMs } = step;
    let { status } = step;
    if (status && isBegun({ status }) && !isEnded({ status })) begun.add(operation.metadata.uid ?? '');
    else begun.delete(operation.metadata.uid ?? '');
    try {
      if (step.deletes !== undefined)
        status = await deleteDatabase(observed, { ...step, deletes: step.deletes }, within);
      if (status) await reportStatus(operation, status, within, { fieldManager: FIELD_MANAGER });
      if (act === 'hold') await hold(observed, within);
      if (act === 'start' && kind) await start(observed, kind, within);
      if (act === 'cancel') await removeWork(observed, within);
      if (act === 'release') await release(operation, within);
      if (status && isEnded({ status })) await prune(observed.record ? siblings : homeless(caches, namespace), within);
    } catch (error) {
      // Deleted during the reconcile.
      if (error instanceof NotFound) return {};
      if (isRefusal(error) && !isEnded({ status: status ?? operation.status }))
        await reportStatus(operation, refusedStep(observed, error), within, { fieldManager: FIELD_MANAGER });
      throw error;
    }
    return requeueAfterMs === undefined ? {} : { requeueAfterMs };
  };
}

/** Returns a reconciler that has one key: while the maintenance window is open, it creates the patches of datastores that are behind. */
export function makeWindowReconciler({ home, settings, now }: OperationReconcilerOptions, window: Window): Reconcile {
  /** Names of patches that were refused in this window. */
  const refused = new Set<string>();
  return async function reconcile(_key, signal) {
    const { caches, client } = until(home, signal);
    const at = windowAt(window, now().getTime());
    if ('opensAt' in at) return { requeueAfterMs: Math.min(at.opensAt - now().getTime(), LONGEST_WAIT_MS) };
    const records = caches.records
      .list()
      .filter((one) => one.metadata.deletionTimestamp === undefined && pausedBy(one, settings) === undefined);
    const { atOnce } = settings.datastores;
    const platform = { records, operations: caches.operations.list(), refused, atOnce };
    for (const patch of patchesIn(at.openedAt, platform, window, now())) {
      try {
        const made = await client.create(DATASTORE_OPERATIONS, patch, { fieldManager: FIELD_MANAGER });
        overlayWrite(caches, made);
      } catch (error) {
        if (isRefusal(error)) refused.add(keyOf(patch.metadata.namespace, patch.metadata.name));
        // The cache lacks what another process has made, or the namespace goes.
        if (!(error instanceof AlreadyExists || error instanceof NotFound)) throw error;
      }
    }
    return { requeueAfterMs: WINDOW_LOOK_MS };
  };
}

/** Enqueues what a change affects. Returns a function that unsubscribes. */
export function wakeOperations(caches: Caches, queue: WorkQueue): () => void {
  const wake = ({ metadata: { namespace, name } }: KubeObject): void => queue.add(keyOf(namespace, name));
  const wakeFirst = (namespace: string | undefined, deployment: string | undefined): void => {
    if (deployment === undefined) return;
    const first = firstOf(caches.operations.byIndex(namespace ?? '', DEPLOYMENT_NAMED, deployment));
    if (first) wake(first);
  };
  const ofChild = ({ object: { kind, metadata } }: { readonly object: KubeObject }): void => {
    const { namespace, labels = {} } = metadata;
    if (kind === 'ScheduledBackup' || labels[COMPONENT_LABEL] === BACKUP)
      wakeFirst(namespace, labels[DEPLOYMENT_LABEL]);
  };
  const subscriptions = [
    caches.operations.onChange(({ type, object }) => {
      wake(object);
      if (type !== 'deleted' && !isEnded(object)) return;
      // The next one begins when this one has ended.
      wakeFirst(object.metadata.namespace, object.spec.deployment);
      const next = nextInTurn(caches.operations.list());
      if (next) wake(next);
    }),
    caches.records.onChange(({ object: { metadata } }) => wakeFirst(metadata.namespace, metadata.name)),
    ...(['Job', 'CronJob', 'ScheduledBackup'] as const).flatMap(
      (kind) => caches.children.get(kind)?.onChange(ofChild) ?? [],
    ),
    caches.pods.onChange(ofChild),
  ];
  for (const operation of caches.operations.list()) if (!isOver(operation) || isHeld(operation)) wake(operation);
  return endAll(subscriptions);
}

function isOver(operation: DatastoreOperation): boolean {
  return operation.metadata.deletionTimestamp === undefined && isEnded(operation);
}

/** Its deletion cancels it from now on, and it goes with its record. */
async function hold({ operation, record }: ObservedOperation, home: Cluster): Promise<void> {
  const { finalizers = [], resourceVersion, uid } = operation.metadata;
  const { name = '', uid: owner = '' } = record?.metadata ?? {};
  const ownerReferences = [{ apiVersion: API_VERSION, kind: APP_DEPLOYMENTS.kind, name, uid: owner }];
  const metadata = { uid, resourceVersion, finalizers: [...finalizers, OPERATION_FINALIZER], ownerReferences };
  await patchMetadata(operation, metadata, home);
}

async function release(operation: DatastoreOperation, home: Cluster): Promise<void> {
  const { finalizers = [], resourceVersion, uid } = operation.metadata;
  const left = finalizers.filter((name) => name !== OPERATION_FINALIZER);
  await patchMetadata(operation, { uid, resourceVersion, finalizers: left }, home);
}

async function patchMetadata(operation: DatastoreOperation, metadata: object, home: Cluster): Promise<void> {
  const options = { fieldManager: FIELD_MANAGER };
  const patched = await home.client.mergePatch(DATASTORE_OPERATIONS, placeOf(operation), { metadata }, options);
  if (patched.metadata.deletionTimestamp === undefined) overlayWrite(home.caches, patched);
}

/** Creates the work. A try before this one may have done so. */
async function start({ operation, record }: ObservedOperation, kind: BackupKind, home: Cluster): Promise<void> {
  if (!record) return;
  const resource = kind === 'dump' ? JOBS : BASE_BACKUPS;
  const work = kind === 'dump' ? await dumpJob(operation, record, home) : baseBackup(operation, record, home);
  if (!work) return;
  try {
    overlayWrite(home.caches, await home.client.create(resource, work, { fieldManager: FIELD_MANAGER }));
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
  }
}

/** As `kubectl create job --from` makes it, so that it counts among the runs of the CronJob. */
async function dumpJob(
  operation: DatastoreOperation,
  record: AppDeployment,
  { client, caches }: Cluster,
): Promise<KubeObject | undefined> {
  const cached = cronJobOf(record, caches);
  // The cache holds no templates.
  const cronJob = cached && (await client.get<Read<ICronJob>>(CRON_JOBS, placeOf(cached)).catch(undefinedIfNotFound));
  const { metadata: template, spec } = cronJob?.spec?.jobTemplate ?? {};
  if (!cronJob || !spec) return undefined;
  const { apiVersion, metadata } = cronJob;
  const { name, uid = '' } = metadata;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...template,
      name: workName(operation),
      ...(operation.metadata.namespace !== undefined && { namespace: operation.metadata.namespace }),
      annotations: { 'cronjob.kubernetes.io/instantiate': 'manual' },
      ownerReferences: [{ apiVersion, kind: 'CronJob', name, uid, controller: true }],
    },
    spec: operation.spec.action === 'Backup' ? byHand(spec) : spec,
  } as KubeObject;
}

/** Whose backup retention neither counts nor deletes. */
function byHand({ template, ...spec }: IJobSpec): object {
  const containers = template.spec?.containers.map((container) =>
    container.name === UPLOAD_CONTAINER ? { ...container, args: [...(container.args ?? []), '--by-hand'] } : container,
  );
  return { ...spec, template: { ...template, spec: { ...template.spec, containers } } };
}

/** As the schedule has them made. It goes with the record, and nothing of the store goes with it. */
function baseBackup(operation: DatastoreOperation, record: AppDeployment, { caches }: Cluster): KubeObject | undefined {
  const schedule = scheduleOf(record, caches);
  if (!schedule) return undefined;
  const { cluster, method, pluginConfiguration } = schedule.spec;
  const { name, namespace = '', uid = '' } = record.metadata;
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Backup',
    metadata: {
      name: workName(operation),
      namespace,
      labels: { [DEPLOYMENT_LABEL]: name },
      ownerReferences: [{ apiVersion: API_VERSION, kind: APP_DEPLOYMENTS.kind, name, uid }],
    },
    spec: { cluster, method, pluginConfiguration },
  } as KubeObject;
}

/**
 * Deletes exactly what was observed, by uid. What it uses now has another number, and another operation cannot change that meanwhile. Returns
 * the status of the step: with the refusal, because the deployment does not wait for a database that nothing uses.
 */
async function deleteDatabase(
  { databases, operation }: ObservedOperation,
  { deletes, status, act }: OperationStep & { readonly deletes: number },
  home: Cluster,
): Promise<DatastoreOperationStatus | undefined> {
  try {
    for (const { object, number } of databases)
      if (number === deletes && object.metadata.deletionTimestamp === undefined) await removeObject(object, home);
    return status;
  } catch (error) {
    // Without these, the deletion is the operation.
    const isLast = status !== undefined || act !== undefined;
    if (!isLast || !isRefusal(error)) throw error;
    return status && withLeft(status, operation.spec.deployment, deletes, error);
  }
}

async function removeObject(object: KubeObject, { client, caches, registry }: Cluster): Promise<void> {
  const { uid = '', resourceVersion = '' } = object.metadata;
  const resource = registry.resourceOf(object);
  // Exactly what was observed: somebody may have taken it over since.
  const options = { uid, resourceVersion, propagationPolicy: 'Background' } as const;
  const left = await client.remove(resource, placeOf(object), options).catch(undefinedIfNotFound);
  if (left) overlayWrite(caches, left);
  else caches.children.get(object.kind)?.overlayDeleted(uid, resourceVersion);
}

async function removeWork({ job, base }: ObservedOperation, home: Cluster): Promise<void> {
  for (const object of [job, base]) if (object) await removeObject(object, home);
}

/** Operations in the namespace whose deployments do not exist. */
function homeless({ operations, records }: Caches, namespace: string): readonly DatastoreOperation[] {
  return operations.list(namespace).filter(({ spec }) => !records.get({ namespace, name: spec.deployment }));
}

/** Deletes the oldest of a deployment that have ended, beyond those that are kept. */
async function prune(siblings: readonly DatastoreOperation[], { client, caches }: Cluster): Promise<void> {
  // The one that ends now is kept too. `siblings` were read before its end was written.
  for (const operation of youngestFirst(siblings.filter(isOver)).slice(KEPT - 1)) {
    const { uid = '' } = operation.metadata;
    const left = await client.remove(DATASTORE_OPERATIONS, placeOf(operation), { uid }).catch(undefinedIfNotFound);
    if (left) overlayWrite(caches, left);
  }
}
