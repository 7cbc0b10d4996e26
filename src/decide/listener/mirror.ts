// The status of a record that a listener's cluster runs: what the cluster reports, unless it is silent or its report is older than
// one that was used before. Times are those of this cluster.

import { type AppDeployment, AppDeploymentStatus, type State } from '../../api/app-deployment.ts';
import { type AppRevision, type AppRevisionSpec, type AppRevisionStatus, Resolved } from '../../api/app-revision.ts';
import { type ConditionInput, conditionOf, mergeConditions, rfc3339 } from '../../api/conditions.ts';
import type { Listener } from '../../api/listener.ts';
import type { ListenerWork } from '../../api/listener-work.ts';
import { ABANDON_ANNOTATION } from '../../api/meta.ts';
import { type Condition } from '../../api/primitives.ts';
import { apiStatus } from '../../record/api-view.ts';

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
  const isOlder =
    used !== undefined &&
    (report.epoch < used.epoch || (report.epoch === used.epoch && (report.generation ?? 0) < used.generation));
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

/** The status of the record on the hub. `now` only dates what changed. */
export function mirroredStatus(seen: Mirrored, now: Date): AppDeploymentStatus {
  const { record } = seen;
  const before = record.status;
  const generation = record.metadata.generation ?? 0;
  const report = reportOf(seen);
  const parsed = AppDeploymentStatus.safeParse(report?.deployment ?? {});
  const sent: AppDeploymentStatus = parsed.success ? parsed.data : {};
  const word = wordOf(seen, report, parsed.success);
  const isCurrent = report !== undefined && parsed.success && !isSilent(seen.listener);
  const known = isCurrent && sent.conditions !== undefined ? sent : (before ?? {});
  const state = stateOf(seen, isCurrent ? sent.state : undefined, word);
  const { latestRevisionId, activeRevisionId, latestRevision, activeRevision } = known;
  const { image, url, replicas, databaseVolumeUid, resourceSpec } = known;
  const remote = isCurrent ? { epoch: report.epoch ?? 0, generation: report.generation ?? 0 } : before?.remote;
  return {
    state,
    stateChangedAt: before?.state === state ? (before.stateChangedAt ?? rfc3339(now)) : rfc3339(now),
    observedGeneration: generation,
    ...(latestRevisionId !== undefined && { latestRevisionId }),
    ...(activeRevisionId !== undefined && { activeRevisionId }),
    ...(latestRevision !== undefined && { latestRevision }),
    ...(activeRevision !== undefined && { activeRevision }),
    ...(image !== undefined && { image }),
    ...(url !== undefined && { url }),
    ...(replicas !== undefined && { replicas }),
    ...(databaseVolumeUid !== undefined && { databaseVolumeUid }),
    ...(remote !== undefined && { remote }),
    ...(resourceSpec !== undefined && { resourceSpec }),
    conditions: conditionsOf(record, known.conditions ?? [], word, isCurrent, now),
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

/** What is said instead of the cluster's own word, if anything. */
function wordOf(seen: Mirrored, report: Report | undefined, isReadable: boolean): Word | undefined {
  const { record, listener, work, paused, failure } = seen;
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
    return unknown(
      'ListenerSilent',
      `${base} The deletion continues when it reports. If it never will, release the name: kubectl annotate appd ${record.metadata.name} ${ABANDON_ANNOTATION}=${record.metadata.uid}.`,
    );
  }
  if (isLeaving)
    return no(
      'Deleting',
      `Being deleted: ${paused ?? `waiting for the cluster of listener ${name}.`}`,
      paused === undefined,
    );
  if (paused !== undefined) return no('Paused', paused);
  if (failure !== undefined) return no('RequestFailed', failure, true);
  if (report?.rejection) return no(report.rejection.reason, report.rejection.message);
  if (report !== undefined && !isReadable)
    return no(
      'ListenerTooOld',
      `The report of listener ${name} has another form than this Davit knows. Upgrade the older of the two.`,
    );
  const applied = report?.deployment?.conditions === undefined ? -1 : (report.generation ?? -1);
  if (work === undefined || applied < (record.metadata.generation ?? 0))
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
  const summary = word === undefined ? known.filter(isSummary) : summaryOf(word, conditionOf(known, 'Available'));
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

/** `wanted` with the values that the cluster resolved, once it has reported the revision. */
export function reportedSnapshot(seen: Mirrored, wanted: AppRevisionSpec): AppRevisionSpec | undefined {
  const reported = reportOf(seen)?.revisions?.find(({ id }) => id === wanted.id);
  const resolved = Resolved.safeParse(reported?.resolved);
  return resolved.success ? { ...wanted, resolved: resolved.data } : undefined;
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
