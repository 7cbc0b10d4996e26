// The status of a record that a listener's cluster runs: what the cluster reports, unless it is silent or its report is older than
// one that was used before. Times are those of this cluster.

import { apiStatus } from '../../deploy/record/api-view.ts';
import { changedBy } from '../../deploy/record/requester.ts';
import { stalledReasonSince } from '../../deploy/stalled-since.ts';
import { type AppDeployment, AppDeploymentStatus, type State } from '../../kinds/app-deployment.ts';
import { type AppRevision, type AppRevisionSpec, type AppRevisionStatus, Resolved } from '../../kinds/app-revision.ts';
import { type ConditionInput, conditionOf, mergeConditions, rfc3339 } from '../../kinds/conditions.ts';
import type { Listener } from '../../kinds/listener.ts';
import type { ListenerWork } from '../../kinds/listener-work.ts';
import { ABANDON_ANNOTATION } from '../../kinds/meta.ts';
import type { Condition } from '../../kinds/primitives.ts';
import { present } from '../../runtime/json-value.ts';

export interface Mirrored {
  readonly record: AppDeployment;
  readonly listener: Listener;
  readonly work: ListenerWork | undefined;
  /** Why the record is left as it is (pause.ts). */
  readonly paused?: string | undefined;
  /** Message of a request that failed. */
  readonly failure?: string | undefined;
}

type Report = NonNullable<ListenerWork['status']>;

/** The report of the work, unless it is another cluster's, or older than the one of the record's status. */
export function reportOf({ record, listener, work }: Mirrored): Report | undefined {
  const report = work?.status;
  if (report?.epoch === undefined || report.clusterId !== listener.status?.clusterId) return undefined;
  // The agent reports a generation that it was given.
  if ((report.generation ?? 0) > (work?.spec.generation ?? 0)) return undefined;
  const used = record.status?.remote;
  // A rejection that comes before anything was applied, as of a work that was made again, has no generation.
  const { generation = used?.generation } = report;
  const isOlder =
    used !== undefined &&
    (report.epoch < used.epoch || (report.epoch === used.epoch && (generation ?? 0) < used.generation));
  return isOlder ? undefined : report;
}

interface Word {
  readonly reason: string;
  readonly message: string;
  /** Whether it continues without a person. */
  readonly continues: boolean;
  /** Unknown: nothing is known of the present. */
  readonly status: 'False' | 'Unknown';
}

/** The newest word of the cluster: its report, or what the record's status has of a later one. */
interface Latest {
  readonly status: AppDeploymentStatus;
  readonly generation: number;
  readonly epoch: number;
}

function latestOf(seen: Mirrored): Latest | 'unreadable' | undefined {
  const { record, listener, work } = seen;
  const report = reportOf(seen);
  if (report?.absent === true) return undefined;
  if (report?.deployment?.conditions !== undefined) {
    const parsed = AppDeploymentStatus.safeParse(report.deployment);
    const { generation = 0, epoch = 0 } = report;
    return parsed.success ? { status: parsed.data, generation, epoch } : 'unreadable';
  }
  const before = record.status;
  const isOurs = work?.status !== undefined && work.status.clusterId === listener.status?.clusterId;
  const wasSilent = conditionOf(before?.conditions, 'Ready')?.reason === 'ListenerSilent';
  return isOurs && !wasSilent && before?.remote !== undefined ? { status: before, ...before.remote } : undefined;
}

/** The status of the record on the hub. `now` only dates what changed. */
export function mirroredStatus(seen: Mirrored, now: Date): AppDeploymentStatus {
  const { record } = seen;
  const before = record.status;
  const generation = record.metadata.generation ?? 0;
  const latest = isSilent(seen.listener) ? undefined : latestOf(seen);
  const word = wordOf(seen, latest);
  const current = latest === 'unreadable' ? undefined : latest;
  const isAbsent = !isSilent(seen.listener) && reportOf(seen)?.absent === true;
  // Nothing runs of what was reported last.
  const known = current?.status ?? (isAbsent ? {} : (before ?? {}));
  const state = stateOf(seen, current?.status.state, word);
  const { phase, latestRevisionId, activeRevisionId, latestRevision, activeRevision } = known;
  const { image, url, replicas, workers, databaseVolumeUid, databaseDriver, resourceSpec, tasks } = known;
  const { databaseBackup, databaseBackups, databaseArchive, databaseVerification, databaseRestore, datastores } = known;
  const { databaseDeletionPolicy, databaseDeletionDefault } = known;
  const conditions = conditionsOf(record, known.conditions ?? [], word, current !== undefined, now);
  const remote = current ? { epoch: current.epoch, generation: current.generation } : before?.remote;
  return {
    state,
    stateChangedAt: before?.state === state ? (before.stateChangedAt ?? rfc3339(now)) : rfc3339(now),
    ...stalledReasonSince(before, conditions, now),
    observedGeneration: generation,
    ...changedBy(record),
    ...present({ phase, latestRevisionId, activeRevisionId, latestRevision, activeRevision, image, url, replicas }),
    ...present({ workers, databaseDeletionPolicy, databaseDeletionDefault, databaseVolumeUid, databaseDriver }),
    ...present({ databaseBackup, databaseBackups, databaseArchive, databaseVerification, databaseRestore, datastores }),
    ...present({ remote, resourceSpec, tasks }),
    conditions,
  };
}

export function isSilent({ status }: Listener): boolean {
  return conditionOf(status?.conditions, 'Connected')?.status !== 'True';
}

function stateOf({ record }: Mirrored, reported: State | undefined, word: Word | undefined): State {
  if (record.metadata.deletionTimestamp !== undefined) return 'AWAITING_DELETE';
  if (word?.status === 'Unknown' || reported === undefined) {
    // By intention nothing runs, whatever the cluster says.
    const { status: _status, ...unreported } = record;
    return apiStatus(unreported);
  }
  return reported === 'AWAITING_DELETE' ? 'UNKNOWN' : reported;
}

function releaseOf({ metadata: { name, uid } }: AppDeployment): string {
  return `If the cluster will never report again, release the name: kubectl annotate appd ${name} --overwrite ${ABANDON_ANNOTATION}=${uid}.`;
}

/** What is said instead of the cluster's own word, if anything. */
function wordOf(seen: Mirrored, latest: Latest | 'unreadable' | undefined): Word | undefined {
  const { record, listener, paused, failure } = seen;
  const rejection = reportOf(seen)?.rejection;
  const { name } = listener.metadata;
  const isLeaving = record.metadata.deletionTimestamp !== undefined;
  const unknown = (reason: string, message: string): Word => ({ reason, message, continues: false, status: 'Unknown' });
  const no = (reason: string, message: string, continues = false): Word => ({
    reason,
    message,
    continues,
    status: 'False',
  });
  if (isSilent(listener)) {
    const connected = conditionOf(listener.status?.conditions, 'Connected');
    const since = listener.status?.lastSeenAt;
    const base =
      `Listener ${name} is not connected${since === undefined ? '' : ` (last seen ${since})`}. ${connected?.message ?? ''}`.trim();
    if (!isLeaving) return unknown('ListenerSilent', base);
    return unknown('ListenerSilent', `${base} The deletion continues when the cluster reports. ${releaseOf(record)}`);
  }
  if (paused === undefined && failure !== undefined) return no('RequestFailed', failure, true);
  // For these two the agent does not delete its copy.
  if (isLeaving && paused === undefined && rejection?.reason === 'HubChanged')
    return no(rejection.reason, `Being deleted: ${rejection.message}`);
  if (isLeaving && paused === undefined && rejection?.reason === 'NamespaceNotAllowed')
    return no(rejection.reason, `Being deleted: ${rejection.message} ${releaseOf(record)}`);
  const isReplaced = seen.work !== undefined && seen.work.spec.clusterId !== listener.status?.clusterId;
  if (isLeaving && paused === undefined && isReplaced)
    return no(
      'Deleting',
      `Being deleted: waiting for the cluster that listener ${name} had before it accepted another one. ${releaseOf(record)}`,
    );
  if (isLeaving)
    return no(
      'Deleting',
      `Being deleted: ${paused ?? `waiting for the cluster of listener ${name}.`}`,
      paused === undefined,
    );
  if (paused !== undefined) return no('Paused', paused);
  if (rejection) return no(rejection.reason, rejection.message);
  if (latest === 'unreadable')
    return no(
      'ListenerTooOld',
      `The report of listener ${name} is too long, or has a format that this Davit does not know. Upgrade the older Davit of the two.`,
    );
  if (latest === undefined || latest.generation < (record.metadata.generation ?? 0))
    return no('ListenerPending', `The cluster of listener ${name} has not applied the last change yet.`, true);
  return undefined;
}

const SUMMARY = ['Ready', 'Available', 'Reconciling', 'Stalled'] as const;

function conditionsOf(
  record: AppDeployment,
  known: readonly Condition[],
  word: Word | undefined,
  isCurrent: boolean,
  now: Date,
): Condition[] {
  const before = record.status?.conditions;
  const generation = record.metadata.generation ?? 0;
  const isSummary = ({ type }: { readonly type: string }): boolean => SUMMARY.some((one) => one === type);
  const summary =
    word === undefined
      ? known.filter(isSummary)
      : summaryOf(word, isCurrent ? conditionOf(known, 'Available') : undefined);
  const rest = known.filter((condition) => !isSummary(condition));
  return [
    ...mergeConditions(before, summary, generation, now),
    // What was reported last, with its time, while nothing newer is known.
    ...(isCurrent ? mergeConditions(before, rest, generation, now) : rest),
  ];
}

/** Available stays what it was reported to be as long as the cluster reports. */
function summaryOf({ reason, message, continues, status }: Word, available: Condition | undefined): ConditionInput[] {
  const keepsServing = status === 'False' && reason !== 'Deleting' && available !== undefined;
  return [
    { type: 'Ready', status, reason, message },
    keepsServing ? available : { type: 'Available', status, reason, message },
    { type: 'Reconciling', status: continues ? 'True' : 'False', reason, message },
    { type: 'Stalled', status: continues ? 'False' : 'True', reason, message },
  ];
}

/**
 * `wanted` with the id and the values of the cluster's revision, once that is reported. A hub that was restored would give it an id that
 * the cluster has given to what the hub has forgotten.
 */
export function reportedSnapshot(seen: Mirrored, wanted: AppRevisionSpec): AppRevisionSpec | undefined {
  const reported = reportOf(seen)?.revisions?.find(({ id, generation }) =>
    // An older agent reports no generation.
    generation === undefined ? id === wanted.id : generation === wanted.deploymentGeneration,
  );
  const resolved = Resolved.safeParse(reported?.resolved);
  return reported && resolved.success ? { ...wanted, id: reported.id, resolved: resolved.data } : undefined;
}

/** The status of a revision as the cluster reports it; undefined if it reports nothing. */
export function mirroredRevision(seen: Mirrored, revision: AppRevision, now: Date): AppRevisionStatus | undefined {
  const reported = reportOf(seen)?.revisions?.find(({ id }) => id === revision.spec.id);
  if (reported === undefined) return undefined;
  const { state, message } = reported;
  const before = revision.status;
  return {
    state,
    ...(message !== undefined && { message }),
    observedGeneration: revision.metadata.generation ?? 1,
    stateChangedAt: before?.state === state ? (before.stateChangedAt ?? rfc3339(now)) : rfc3339(now),
  };
}
