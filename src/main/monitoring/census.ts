// The state of all records and builds as numbers, for the metrics. The number of groups is bounded by the tables of states and
// reasons, not by the number of records or tenants.

import { retainedDatabases } from '../../deploy/record/retained-databases.ts';
import { stalledFrom } from '../../deploy/stalled-since.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { type ConditionType, REASONS, type Reason } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { isUnderWay } from '../../kinds/build.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { STORE_PARTS } from '../../kinds/meta.ts';
import { lastEnded, type TaskStatus } from '../../kinds/tasks.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { censusOfEach, UNPROTECTED } from './census-of-each.ts';
import type { Census } from './metrics.ts';
import { reasonLabel } from './outcomes.ts';
import { degraded, typeLabel, unavailable } from './unavailable.ts';

/** Reasons of DatabaseReady whose cause can cost the data of the own PostgreSQL. */
export const DATA_AT_RISK: readonly string[] = [
  'VolumeLost',
  'VolumeMissing',
  'VolumeTerminating',
  'PasswordMissing',
] satisfies Reason[];

/**
 * Counts records, builds and databases. `mostNamed`: how many records are named, if any. `holders`: claims and Clusters of databases, also
 * of records that are gone.
 */
export function censusOf(
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
  mostNamed?: number,
  holders: readonly KubeObject[] = [],
): Census {
  const deployments = new Map<string, Census['deployments'][number]>();
  const stalledSince = makeOldest();
  const unavailableSince = makeOldest();
  const degradedSince = makeOldest();
  const notReady = new Map<string | undefined, boolean>();
  const tasks = new Map<string, number>();
  for (const record of records) {
    const { status } = record;
    const ready = conditionOf(status?.conditions, 'Ready');
    const stalled = conditionOf(status?.conditions, 'Stalled');
    const group = {
      state: status?.state ?? 'UNKNOWN',
      ready: ready?.status ?? 'Unknown',
      stalled: stalled?.status ?? 'Unknown',
      reason: ready ? reasonLabel(ready.reason, REASONS) : 'NotObserved',
    };
    const key = `${group.state} ${group.ready} ${group.stalled} ${group.reason}`;
    deployments.set(key, { ...group, count: (deployments.get(key)?.count ?? 0) + 1 });
    for (const task of status?.tasks ?? []) tasks.set(lastRunOf(task), (tasks.get(lastRunOf(task)) ?? 0) + 1);
    const { namespace } = record.metadata;
    if (isMeantToRun(group)) notReady.set(namespace, notReady.get(namespace) === true || group.ready !== 'True');
    const type = typeLabel(record);
    unavailableSince.add(type, unavailable(record));
    degradedSince.add(type, degraded(record));
    const from = stalledFrom(status);
    if (stalled === undefined || from === undefined) continue;
    stalledSince.add(type, { reason: reasonLabel(stalled.reason, REASONS), at: from / 1000 });
  }
  const builds = new Map<string, number>();
  let queuedSince = Infinity;
  for (const { status } of revisions) {
    const build = status?.build;
    if (build === undefined || !isUnderWay(build)) continue;
    builds.set(build.phase, (builds.get(build.phase) ?? 0) + 1);
    if (build.phase === 'Queued' && build.queuedAt !== undefined)
      queuedSince = Math.min(queuedSince, Date.parse(build.queuedAt) / 1000);
  }
  const databases = reasonsOf(records, 'DatabaseReady').counts;
  return {
    deployments: [...deployments.values()],
    dataAtRisk: databases.filter(({ reason }) => DATA_AT_RISK.includes(reason)),
    databases,
    datastores: datastoresOf(records),
    ...backupsOf(records),
    retained: retainedOf(holders, records),
    unavailableSince: unavailableSince.all(),
    degradedSince: degradedSince.all(),
    stalledSince: stalledSince.all(),
    tenants: [true, false].map((isReady) => ({
      ready: isReady ? 'True' : 'False',
      count: [...notReady.values()].filter((isNot) => isNot !== isReady).length,
    })),
    tasks: [...tasks].map(([result, count]) => ({ result, count })),
    builds: [...builds].map(([phase, count]) => ({ phase, count })),
    ...(queuedSince < Infinity && { queuedSince }),
    ...(mostNamed !== undefined && { each: censusOfEach(records, mostNamed) }),
  };
}

/** Reasons of records that wait for a person, or of which nothing is known here. */
const WAITING: readonly string[] = [
  'Paused',
  'WaitingForImage',
  'BuilderNotConfigured',
  'ListenerSilent',
] satisfies Reason[];

function isMeantToRun({ state, reason }: Pick<Census['deployments'][number], 'state' | 'reason'>): boolean {
  return state !== 'UNUSED' && state !== 'AWAITING_DELETE' && !WAITING.includes(reason);
}

type Since = Census['unavailableSince'][number];

/** The oldest time for each deployment type and reason. */
function makeOldest(): {
  add(type: string, found: Omit<Since, 'type'> | undefined): void;
  all(): readonly Since[];
} {
  const oldest = new Map<string, Since>();
  return {
    add(type, found) {
      const key = `${type} ${found?.reason}`;
      if (found && found.at < (oldest.get(key)?.at ?? Infinity)) oldest.set(key, { type, ...found });
    },
    all: () => [...oldest.values()],
  };
}

/** How the last run of a task ended, as a label; `missed`: one was due since and did not begin. */
export function lastRunOf(task: TaskStatus): 'succeeded' | 'failed' | 'missed' | 'none' {
  if (task.missedAt !== undefined) return 'missed';
  const run = lastEnded(task);
  if (run === undefined) return 'none';
  return run.state === 'Failed' ? 'failed' : 'succeeded';
}

function datastoresOf(records: readonly AppDeployment[]): Census['datastores'] {
  const counts = new Map<string, Census['datastores'][number]>();
  for (const { status } of records)
    for (const datastore of STORE_PARTS) {
      const found = status?.datastores?.[datastore];
      if (!found) continue;
      const { version = 'unknown', available } = found;
      const group = { datastore, version, behind: String(available !== undefined) };
      const key = `${datastore} ${version} ${group.behind}`;
      counts.set(key, { ...group, count: (counts.get(key)?.count ?? 0) + 1 });
    }
  return [...counts.values()];
}

function retainedOf(holders: readonly KubeObject[], records: readonly AppDeployment[]): Census['retained'] {
  const all = retainedDatabases(holders, new Set(records.map(({ metadata: { uid = '' } }) => uid)));
  return { count: all.length, bytes: all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

/** Counts the records that have backups, verifications of them, and archives, and those that have none of these. */
function backupsOf(
  records: readonly AppDeployment[],
): Pick<Census, 'backups' | 'unprotected' | 'oldestBackup' | 'archives' | 'verifications' | 'oldestVerification'> {
  const backups = reasonsOf(records, 'BackupReady', (status) => status?.databaseBackup?.lastSuccessAt);
  const archives = reasonsOf(records, 'ArchiveReady');
  const verifications = reasonsOf(records, 'BackupVerified', (status) => status?.databaseVerification?.verifiedAt);
  return {
    backups: backups.counts.filter(({ reason }) => reason !== UNPROTECTED),
    unprotected: backups.counts.find(({ reason }) => reason === UNPROTECTED)?.count ?? 0,
    ...(backups.oldest !== undefined && { oldestBackup: backups.oldest }),
    archives: archives.counts,
    verifications: verifications.counts,
    ...(verifications.oldest !== undefined && { oldestVerification: verifications.oldest }),
  };
}

interface Reasons {
  readonly counts: readonly { readonly reason: string; readonly count: number }[];
  /** Seconds since 1970. */
  readonly oldest: number | undefined;
}

/** The records that have a condition, by its reason, and the oldest of their times. */
function reasonsOf(
  records: readonly AppDeployment[],
  type: ConditionType,
  timeOf: (status: AppDeployment['status']) => string | undefined = () => undefined,
): Reasons {
  const counts = new Map<string, number>();
  let oldest = Infinity;
  for (const { status } of records) {
    const condition = conditionOf(status?.conditions, type);
    if (condition === undefined) continue;
    const reason = reasonLabel(condition.reason, REASONS);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    const last = timeOf(status);
    if (last !== undefined) oldest = Math.min(oldest, Date.parse(last) / 1000);
  }
  return {
    counts: [...counts].map(([reason, count]) => ({ reason, count })),
    oldest: oldest < Infinity ? oldest : undefined,
  };
}
