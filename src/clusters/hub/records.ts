// Reconciles one AppDeployment that a listener's cluster runs: its work on the hub, and its status from what the cluster reports.

import { checkPreconditions } from '../../deploy/assess/assessment.ts';
import { type Observed, refTo } from '../../deploy/assess/observed.ts';
import { pausedBy } from '../../deploy/assess/pause.ts';
import type { Caches } from '../../deploy/cluster/caches.ts';
import type { Cluster } from '../../deploy/cluster/cluster.ts';
import { decisiveOf, failureOf, wasLost } from '../../deploy/cluster/failures.ts';
import { reportRecord, reportRevision } from '../../deploy/cluster/report.ts';
import { observeCaches } from '../../deploy/observe.ts';
import { runsHere } from '../../deploy/record/listener-assignment.ts';
import { withStableMessages } from '../../deploy/stable-messages.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { hubNamespace } from '../../kinds/listener-names.ts';
import { isPaused } from '../../kinds/meta.ts';
import type { Settings } from '../../kinds/settings.ts';
import { until } from '../../runtime/controller/cluster.ts';
import type { Reconcile } from '../../runtime/controller/controller.ts';
import type { EventRecorder } from '../../runtime/controller/events.ts';
import { keyOf, refOf } from '../../runtime/controller/keys.ts';
import type { WorkQueue } from '../../runtime/controller/work-queue.ts';
import { Conflict, NotFound } from '../../runtime/errors.ts';
import type { ListenerCaches } from './caches.ts';
import { finalizeRemote, hasFinalizer } from './finalize.ts';
import { handOver } from './hand-over.ts';
import { isSilent, type Mirrored, mirroredRevision, mirroredStatus } from './mirror.ts';
import { pauseWork, workOf } from './works.ts';

export interface RemoteRecordsOptions {
  readonly home: Cluster;
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
    if (work !== undefined && !settings.paused && isPaused(record.metadata.annotations)) await pauseWork(work, home);
    const failed: unknown[] = [];
    const fail = (error: unknown): false => {
      if (error instanceof Conflict || wasLost(signal)) throw error;
      failed.push(error);
      return false;
    };
    if (record.metadata.deletionTimestamp !== undefined) {
      const isOver =
        !hasFinalizer(record) ||
        (paused === undefined && (await finalizeRemote(record, { work, listener }, home).catch(fail)));
      const failure = messageOf(failed, record, 'delete');
      if (!isOver && listener !== undefined)
        await reportOn(record, { record, listener, work, paused, failure }, within, now());
      if (failed.length > 0) throw decisiveOf(failed);
      return {};
    }

    const observed: Observed = {
      ...observeCaches(record, options),
      secretKeys: {},
      unfixedSecrets: [],
      secretsRead: { is: 'nothing' },
    };
    // Without a valid Listener the reports are the local ones. What the cluster runs stays.
    if (checkPreconditions(observed, settings).policy.is !== 'pass' || listener === undefined)
      return local(key, signal, log);
    if (paused === undefined) await handOver(observed, { listener, work }, within).catch(fail);
    const current = caches.records.get(refOf(key));
    if (current?.metadata.uid !== record.metadata.uid || current === undefined) return {};
    const seen: Mirrored = {
      record: current,
      listener,
      work: listening.works.get(workOf(record, hubNamespace(listenerId))),
      paused,
      failure: messageOf(failed, current, 'hand over'),
    };
    await reportRevisions(seen, within);
    await reportOn(current, seen, within, now());
    if (failed.length > 0) throw decisiveOf(failed);
    return {};
  };
}

function messageOf([error]: readonly unknown[], record: AppDeployment, verb: string): string | undefined {
  if (error === undefined) return undefined;
  const failure = { ...failureOf(error, refTo(record), verb), reason: 'RequestFailed' } as const;
  return withStableMessages([failure], record)[0]?.message;
}

async function reportRevisions(seen: Mirrored, options: RemoteRecordsOptions): Promise<void> {
  const { home, events, now } = options;
  if (isSilent(seen.listener)) return;
  for (const revision of observeCaches(seen.record, options).revisions) {
    const status = mirroredRevision(seen, revision, now());
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

/** Adds the key of a record to the queue when its work changes. Returns a function that stops it. */
export function wakeRemoteRecords(caches: Caches, { works }: ListenerCaches, queue: WorkQueue): () => void {
  return works.onChange(({ object }) => {
    const record = caches.records.byUid(object.metadata.name);
    if (record !== undefined) queue.add(keyOf(record.metadata.namespace, record.metadata.name));
  });
}
