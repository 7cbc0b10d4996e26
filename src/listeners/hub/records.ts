// Reconciles one AppDeployment that a listener's cluster runs: its work on the hub, and its status from what the cluster reports.

import { checkPreconditions } from '../../deployments/assess/assessment.ts';
import { type Observed, refTo } from '../../deployments/assess/observed.ts';
import { pausedBy } from '../../deployments/assess/pause.ts';
import { makeRevisionOnce } from '../../deployments/cluster/apply.ts';
import type { Caches } from '../../deployments/cluster/caches.ts';
import type { Cluster, Clusters } from '../../deployments/cluster/cluster.ts';
import { causesOf, decisiveOf, failureOf, wasLost } from '../../deployments/cluster/failures.ts';
import { reportRecord, reportRevision } from '../../deployments/cluster/report.ts';
import { observeCaches } from '../../deployments/observe.ts';
import { collectRevisions } from '../../deployments/prune-revisions.ts';
import { runsHere } from '../../deployments/record/listener-assignment.ts';
import { wantedRevision } from '../../deployments/record/wanted-revision.ts';
import { overlayWrite, placeOf, until } from '../../lib/controller/cluster.ts';
import type { Reconcile, Result } from '../../lib/controller/controller.ts';
import type { EventRecorder } from '../../lib/controller/events.ts';
import { keyOf, refOf } from '../../lib/controller/keys.ts';
import type { WorkQueue } from '../../lib/controller/work-queue.ts';
import { Conflict, NotFound, Terminal, undefinedIfNotFound } from '../../lib/errors.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../schema/app-deployment.ts';
import type { Listener } from '../../schema/listener.ts';
import { hubNamespace } from '../../schema/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../schema/listener-work.ts';
import { ABANDON_ANNOTATION, FIELD_MANAGER, REMOTE_FINALIZER } from '../../schema/meta.ts';
import type { Settings } from '../../schema/settings.ts';
import type { ListenerCaches } from './caches.ts';
import { isSilent, type Mirrored, mirroredRevision, mirroredStatus, reportedSnapshot } from './mirror.ts';
import { ensureWork, isGone, releaseWork, removeWork, workOf } from './works.ts';

export interface RemoteRecordsOptions extends Clusters {
  readonly listening: ListenerCaches;
  readonly settings: Settings;
  readonly events: EventRecorder;
  readonly now: () => Date;
  /** Reconciles all other records, and reports on those that violate a rule. */
  readonly local: Reconcile;
}

/** Reconciles one record, by `namespace/name`, whichever cluster runs it. */
export function makeRecordReconciler(options: RemoteRecordsOptions): Reconcile {
  const { local, listening, settings, now } = options;
  const { caches } = options.home;
  return async function reconcile(key, signal, log) {
    const record = caches.records.get(refOf(key));
    if (record === undefined || runsHere(record)) return local(key, signal, log);
    const home = until(options.home, signal);
    const within = { ...options, home };
    const listenerId = record.spec.sourceConfig.listenerId?.toLowerCase() ?? '';
    const listener = caches.listeners.byUid(listenerId);
    const work = listening.works.get(workOf(record, hubNamespace(listenerId)));
    const paused = pausedBy(record, settings);
    if (record.metadata.deletionTimestamp !== undefined)
      return finalizeRemote({ record, listener, work, paused }, within);

    const observed: Observed = {
      ...observeCaches(record, options),
      secretKeys: {},
      unfixedSecrets: [],
      secretsRead: { is: 'nothing' },
    };
    // Without a valid Listener the reports are the local ones. What the cluster runs stays.
    if (checkPreconditions(observed, settings).policy.is !== 'pass' || listener === undefined)
      return local(key, signal, log);
    const failed: unknown[] = [];
    if (paused === undefined) {
      try {
        await bringRemote(observed, { listener, work }, within);
      } catch (error) {
        if (error instanceof Conflict || wasLost(signal)) throw error;
        failed.push(error);
      }
    }
    const current = caches.records.get(refOf(key));
    if (current?.metadata.uid !== record.metadata.uid || current === undefined) return {};
    const seen: Mirrored = {
      record: current,
      listener,
      work: listening.works.get(workOf(record, hubNamespace(listenerId))),
      paused,
      ...(failed.length > 0 && { failure: failureOf(failed[0], refTo(record), 'hand over').message }),
    };
    await reportRevisions(seen, within);
    await reportOn(current, seen, within, now());
    if (failed.length > 0) throw decisiveOf(failed);
    return {};
  };
}

/** Writes what the listener's cluster reads, and the revisions that it has reported. */
async function bringRemote(
  observed: Observed,
  { listener, work }: { readonly listener: Listener; readonly work: ListenerWork | undefined },
  { home, settings }: RemoteRecordsOptions,
): Promise<void> {
  const { clusterId } = listener.status ?? {};
  const hubId = home.caches.namespaces.get({ name: 'kube-system' })?.metadata.uid;
  // Nothing is handed over before a cluster has enrolled.
  if (clusterId === undefined || hubId === undefined) return;
  const record = await ensureFinalizer(observed.record, home);
  if (record === undefined || work?.metadata.deletionTimestamp !== undefined) return;
  await ensureWork(record, work, { listener, clusterId, hubId, tenantId: observed.tenantId ?? '' }, home);
  const wanted = wantedRevision(record, observed.revisions, settings);
  const snapshot =
    'create' in wanted && !isSilent(listener) ? reportedSnapshot({ record, listener, work }, wanted.create) : undefined;
  if (snapshot === undefined) return;
  const made = await makeRevisionOnce(record, snapshot, home);
  if ('reason' in made) {
    const [cause] = causesOf([made]);
    throw cause instanceof Error ? cause : new Terminal(made.message);
  }
  await collectRevisions(observed, settings.revisions.kept, home);
}

async function reportRevisions(seen: Mirrored, options: RemoteRecordsOptions): Promise<void> {
  const { home, events, now } = options;
  if (isSilent(seen.listener)) return;
  for (const revision of observeCaches(seen.record, { ...options, target: home }).revisions) {
    const status = mirroredRevision(seen, revision, now());
    // oxlint-disable-next-line no-await-in-loop -- newest first, as the local reconciler does
    if (status !== undefined) await reportRevision(seen.record, revision, status, home, events);
  }
}

async function reportOn(
  record: AppDeployment,
  seen: Mirrored,
  { home, events }: RemoteRecordsOptions,
  now: Date,
): Promise<void> {
  try {
    await reportRecord(record, mirroredStatus(seen, now), home, events);
  } catch (error) {
    // Deleted during the pass.
    if (!(error instanceof NotFound)) throw error;
  }
}

/** Undefined if the record is gone. */
async function ensureFinalizer(record: AppDeployment, home: Cluster): Promise<AppDeployment | undefined> {
  const { finalizers = [] } = record.metadata;
  return finalizers.includes(REMOTE_FINALIZER)
    ? record
    : patchFinalizers(record, [...finalizers, REMOTE_FINALIZER], home);
}

async function patchFinalizers(
  record: AppDeployment,
  finalizers: readonly string[],
  home: Cluster,
): Promise<AppDeployment | undefined> {
  const { uid, resourceVersion, deletionTimestamp } = record.metadata;
  const patched = await home.client
    .mergePatch<AppDeployment>(
      APP_DEPLOYMENTS,
      placeOf(record),
      { metadata: { uid, resourceVersion, finalizers } },
      { fieldManager: FIELD_MANAGER },
    )
    .catch(undefinedIfNotFound);
  if (patched !== undefined && deletionTimestamp === undefined) overlayWrite(home.caches, patched);
  return patched;
}

interface Leaving {
  readonly record: AppDeployment;
  readonly listener: Listener | undefined;
  readonly work: ListenerWork | undefined;
  readonly paused: string | undefined;
}

/** Waits for the cluster to delete what it has, unless a person has given it up. */
async function finalizeRemote(leaving: Leaving, options: RemoteRecordsOptions): Promise<Result> {
  const { record, listener, paused } = leaving;
  const { home, now } = options;
  const { finalizers = [], uid, annotations } = record.metadata;
  if (!finalizers.includes(REMOTE_FINALIZER)) return {};
  const release = (): Promise<unknown> =>
    patchFinalizers(
      record,
      finalizers.filter((name) => name !== REMOTE_FINALIZER),
      home,
    );
  if (paused === undefined) {
    const work = leaving.work ?? (await liveWork(record, home));
    if (work === undefined) {
      await release();
      return {};
    }
    if (isGone(work)) {
      // The record first: a work without a record is settled with its Listener.
      await release();
      await releaseWork(work, home);
      return {};
    }
    await removeWork(work, home);
    if (annotations?.[ABANDON_ANNOTATION] === uid) {
      await release();
      return {};
    }
  }
  if (listener !== undefined) await reportOn(record, { record, listener, work: leaving.work, paused }, options, now());
  return {};
}

/** A cache may lack a work that was just created. */
function liveWork(record: AppDeployment, home: Cluster): Promise<ListenerWork | undefined> {
  const namespace = hubNamespace(record.spec.sourceConfig.listenerId?.toLowerCase() ?? '');
  return home.client.get<ListenerWork>(LISTENER_WORKS, workOf(record, namespace)).catch(undefinedIfNotFound);
}

/** Adds the key of a record to the queue when its work changes. Returns a function that stops it. */
export function wakeRemoteRecords(caches: Caches, { works }: ListenerCaches, queue: WorkQueue): () => void {
  return works.onChange(({ object }) => {
    const record = caches.records.byUid(object.metadata.name);
    if (record !== undefined) queue.add(keyOf(record.metadata.namespace, record.metadata.name));
  });
}
