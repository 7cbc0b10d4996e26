// The state of all records, builds and databases as gauges, read at each scrape. The number of series is bounded by the tables of states and
// reasons, not by the number of records or tenants, but for the gauges that name records, of which there are `mostNamed` at most.

import { retainedDatabases } from '../../deploy/record/retained-databases.ts';
import { stalledFrom } from '../../deploy/stalled-since.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { type ConditionType, isFailure, REASONS, type Reason } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { type BuildStatus, isUnderWay } from '../../kinds/build.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { STORE_PARTS } from '../../kinds/meta.ts';
import { hasFailedLast, lastEnded, type TaskStatus } from '../../kinds/tasks.ts';
import type { Series } from '../../runtime/controller/metrics.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { reasonLabel } from './outcomes.ts';
import { degraded, type Trouble, typeLabel, unavailable } from './unavailable.ts';

/** Reasons of DatabaseReady whose cause can cost the data of the deployment's own PostgreSQL. */
export const DATA_AT_RISK: readonly string[] = [
  'VolumeLost',
  'VolumeMissing',
  'VolumeTerminating',
  'PasswordMissing',
] satisfies Reason[];

/** Conditions of a record's data that have an alert. Ready may still be True. */
const OF_DATA = ['DatabaseReady', 'BackupReady', 'ArchiveReady', 'BackupVerified'] as const satisfies ConditionType[];

/** The reason of BackupReady of a database that has neither backups nor an archive, on some platforms every one. */
const UNPROTECTED = 'NotConfigured' satisfies Reason;

/** Reasons of records that wait for a person, or of which nothing is known here. */
const WAITING: readonly string[] = [
  'Paused',
  'WaitingForImage',
  'BuilderNotConfigured',
  'ListenerSilent',
] satisfies Reason[];

type Labels = Readonly<Record<string, string>>;

interface Seen {
  readonly records: readonly AppDeployment[];
  /** The records that gauges name; undefined where none do. */
  readonly named: readonly AppDeployment[] | undefined;
  /** Records by the reason of DatabaseReady, and of BackupReady. */
  readonly databases: Series;
  readonly backups: Series;
  readonly retained: ReturnType<typeof retainedDatabases>;
  /** Those that have not ended. */
  readonly builds: readonly BuildStatus[];
}

interface CensusGauge {
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly read: (seen: Seen) => Series;
}

const OF_EACH = ['namespace', 'name', 'deployment_type'] as const;

/** By their names without the prefix. Times are in seconds since 1970. */
export const CENSUS_GAUGES = {
  deployments: {
    help: 'AppDeployments by state and by their conditions Ready and Stalled',
    labelNames: ['state', 'ready', 'stalled', 'reason'],
    read: ({ records }) => tally(records, stateOf),
  },
  deployment_ready: {
    help: 'Whether an AppDeployment is Ready, with the reason of Ready',
    labelNames: [...OF_EACH, 'reason'],
    read: (seen) => ofEach(seen, (record) => [[{ reason: stateOf(record).reason }, isReady(record) ? 1 : 0]]),
  },
  deployment_stalled_timestamp_seconds: {
    help: 'Time since which an AppDeployment has been Stalled for its current reason',
    labelNames: [...OF_EACH, 'reason'],
    read: (seen) => ofEach(seen, (record) => [stalled(record)].flatMap((one) => (one ? [dated(one)] : []))),
  },
  deployment_trouble_timestamp_seconds: {
    help: 'Time since which a deployed AppDeployment has not served, has lacked pods, or its data has needed attention',
    labelNames: [...OF_EACH, 'condition', 'reason'],
    read: (seen) => ofEach(seen, (record) => troublesOf(record).map(dated)),
  },
  deployment_failed_tasks: {
    help: 'Tasks of an AppDeployment whose last run failed',
    labelNames: OF_EACH,
    read: (seen) =>
      ofEach(seen, ({ status }) => (status?.tasks ? [[{}, status.tasks.filter(hasFailedLast).length]] : [])),
  },
  deployments_omitted: {
    help: 'AppDeployments without metrics of their own',
    read: ({ records, named }) => unlabelled(named && records.length - named.length),
  },
  databases_at_risk: {
    help: 'AppDeployments whose volume or password of PostgreSQL is lost or being deleted, by reason of DatabaseReady',
    labelNames: ['reason'],
    read: ({ databases }) => databases.filter(([{ reason = '' }]) => DATA_AT_RISK.includes(reason)),
  },
  databases: {
    help: 'AppDeployments by the reason of DatabaseReady',
    labelNames: ['reason'],
    read: ({ databases }) => databases,
  },
  datastore_version_info: {
    help: 'PostgreSQL and Redis of AppDeployments, by the version that the server reports and by whether a patch would install another image',
    labelNames: ['datastore', 'version', 'behind'],
    read: ({ records }) => tally(records.flatMap(datastoresOf), (labels) => labels),
  },
  databases_unprotected: {
    help: 'AppDeployments whose own PostgreSQL has neither backups nor an archive',
    read: ({ backups }) => unlabelled(backups.find(([{ reason }]) => reason === UNPROTECTED)?.[1] ?? 0),
  },
  databases_retained: {
    help: 'Databases that deleted AppDeployments have retained',
    read: ({ retained }) => unlabelled(retained.length),
  },
  databases_retained_bytes: {
    help: 'Size of the volumes of databases that deleted AppDeployments have retained',
    read: ({ retained }) => unlabelled(retained.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)),
  },
  database_backups: {
    help: 'AppDeployments with backups of their PostgreSQL, by reason of BackupReady',
    labelNames: ['reason'],
    read: ({ backups }) => backups.filter(([{ reason }]) => reason !== UNPROTECTED),
  },
  database_backups_oldest_timestamp_seconds: {
    help: 'Time of the oldest last backup among AppDeployments',
    read: (seen) => oldestOf('BackupReady', seen, ({ databaseBackup }) => databaseBackup?.lastSuccessAt),
  },
  database_archives: {
    help: 'AppDeployments with an archive of their PostgreSQL, by reason of ArchiveReady',
    labelNames: ['reason'],
    read: ({ records }) => byReason('ArchiveReady', records),
  },
  database_verifications: {
    help: 'AppDeployments whose backups are verified, by reason of BackupVerified',
    labelNames: ['reason'],
    read: ({ records }) => byReason('BackupVerified', records),
  },
  database_verifications_oldest_timestamp_seconds: {
    help: 'Time of the oldest last verification among AppDeployments',
    read: (seen) => oldestOf('BackupVerified', seen, ({ databaseVerification }) => databaseVerification?.verifiedAt),
  },
  deployments_unavailable_oldest_timestamp_seconds: {
    help: 'Time since which the longest unavailable AppDeployment with a deployed revision has not been Available, by reason',
    labelNames: ['deployment_type', 'reason'],
    read: (seen) => oldestTroubles(seen, unavailable),
  },
  deployments_degraded_oldest_timestamp_seconds: {
    help: 'Time since which a serving AppDeployment has lacked pods of a part longest, by reason',
    labelNames: ['deployment_type', 'reason'],
    read: (seen) => oldestTroubles(seen, degraded),
  },
  tenants: {
    help: 'Namespaces with AppDeployments that should run, by whether all of them are Ready',
    labelNames: ['ready'],
    read: ({ records }) => {
      const tenants = Map.groupBy(records.filter(isMeantToRun), ({ metadata }) => metadata.namespace);
      const ready = [...tenants.values()].filter((all) => all.every(isReady)).length;
      return [
        [{ ready: 'True' }, ready],
        [{ ready: 'False' }, tenants.size - ready],
      ];
    },
  },
  deployments_stalled_oldest_timestamp_seconds: {
    help: 'Time since which the longest stalled AppDeployment has been Stalled, by reason',
    labelNames: ['deployment_type', 'reason'],
    read: (seen) => oldestTroubles(seen, stalled),
  },
  tasks: {
    help: 'Tasks of active revisions, by the result of their last run',
    labelNames: ['result'],
    read: ({ records }) =>
      tally(
        records.flatMap(({ status }) => status?.tasks ?? []),
        (task) => ({ result: lastRunOf(task) }),
      ),
  },
  builds: {
    help: 'Builds that have not ended, by phase',
    labelNames: ['phase'],
    read: ({ builds }) => tally(builds, ({ phase }) => ({ phase })),
  },
  builds_queued_oldest_timestamp_seconds: {
    help: 'Time since which the longest waiting build has waited for its turn',
    read: ({ builds }) => earliest(builds.map(({ phase, queuedAt }) => (phase === 'Queued' ? queuedAt : undefined))),
  },
} satisfies Readonly<Record<string, CensusGauge>>;

/** The series of all gauges at one moment. */
export type Census = Readonly<Record<keyof typeof CENSUS_GAUGES, Series>>;

/** `mostNamed`: how many records are named, if any. `holders`: claims and Clusters of databases, also of records that are gone. */
export function censusOf(
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
  mostNamed?: number,
  holders: readonly KubeObject[] = [],
): Census {
  const named = mostNamed === undefined ? undefined : mostUrgent(records, mostNamed);
  const seen: Seen = {
    records,
    named,
    databases: byReason('DatabaseReady', records),
    backups: byReason('BackupReady', records),
    retained: retainedDatabases(holders, new Set(records.map(({ metadata: { uid = '' } }) => uid))),
    builds: revisions.flatMap(({ status }) => (status?.build && isUnderWay(status.build) ? [status.build] : [])),
  };
  return Object.fromEntries(Object.entries(CENSUS_GAUGES).map(([name, { read }]) => [name, read(seen)])) as Census;
}

/** One value for each group of labels, which all points name in the same order. */
function grouped(points: Series, join: (a: number, b: number) => number): Series {
  const groups = new Map<string, [Labels, number]>();
  for (const [labels, value] of points) {
    const key = Object.values(labels).join('\n');
    const group = groups.get(key);
    if (group) group[1] = join(group[1], value);
    else groups.set(key, [labels, value]);
  }
  return [...groups.values()];
}

function tally<T>(all: readonly T[], labelsOf: (one: T) => Labels): Series {
  return grouped(
    all.map((one) => [labelsOf(one), 1]),
    (a, b) => a + b,
  );
}

function unlabelled(value: number | undefined): Series {
  return value === undefined ? [] : [[{}, value]];
}

/** The earliest of these times, RFC 3339. */
function earliest(times: readonly (string | undefined)[]): Series {
  const known = times.flatMap((time) => (time === undefined ? [] : [Date.parse(time) / 1000]));
  return known.length === 0 ? [] : unlabelled(Math.min(...known));
}

function dated<T extends Trouble>({ at, ...labels }: T): Series[number] {
  return [labels as Labels, at];
}

function ofEach({ named = [] }: Seen, read: (record: AppDeployment) => Series): Series {
  return named.flatMap((record) => {
    const { namespace = '', name } = record.metadata;
    const key = { namespace, name, deployment_type: typeLabel(record) };
    return read(record).map(([labels, value]) => [{ ...key, ...labels }, value] as const);
  });
}

function oldestTroubles({ records }: Seen, find: (record: AppDeployment) => Trouble | undefined): Series {
  const found = records.flatMap((record) => {
    const trouble = find(record);
    return trouble ? [dated({ deployment_type: typeLabel(record), ...trouble })] : [];
  });
  return grouped(found, Math.min);
}

/** The records that have a condition, by its reason. */
function byReason(type: ConditionType, records: readonly AppDeployment[]): Series {
  const conditions = records.flatMap(({ status }) => conditionOf(status?.conditions, type) ?? []);
  return tally(conditions, ({ reason }) => ({ reason: reasonLabel(reason, REASONS) }));
}

/** The oldest time of the records that have a condition. */
function oldestOf(
  type: ConditionType,
  { records }: Seen,
  timeOf: (status: AppDeploymentStatus) => string | undefined,
): Series {
  return earliest(
    records.map(({ status }) => (conditionOf(status?.conditions, type) ? timeOf(status ?? {}) : undefined)),
  );
}

/** `ready` and `stalled` are the status of the condition, `reason` that of Ready. */
function stateOf({ status }: AppDeployment): Readonly<Record<'state' | 'ready' | 'stalled' | 'reason', string>> {
  const ready = conditionOf(status?.conditions, 'Ready');
  return {
    state: status?.state ?? 'UNKNOWN',
    ready: ready?.status ?? 'Unknown',
    stalled: conditionOf(status?.conditions, 'Stalled')?.status ?? 'Unknown',
    reason: ready ? reasonLabel(ready.reason, REASONS) : 'NotObserved',
  };
}

function isReady(record: AppDeployment): boolean {
  return stateOf(record).ready === 'True';
}

function isMeantToRun(record: AppDeployment): boolean {
  const { state, reason } = stateOf(record);
  return state !== 'UNUSED' && state !== 'AWAITING_DELETE' && !WAITING.includes(reason);
}

function stalled({ status }: AppDeployment): Trouble | undefined {
  const from = stalledFrom(status);
  const { reason } = conditionOf(status?.conditions, 'Stalled') ?? {};
  return from === undefined ? undefined : { reason: reasonLabel(reason, REASONS), at: from / 1000 };
}

/** Why it does not serve, or its data or its backups are not as asked for. */
function troublesOf(record: AppDeployment): readonly (Trouble & { readonly condition: string })[] {
  const down = unavailable(record);
  const lacking = degraded(record);
  return [
    ...(down ? [{ condition: 'Available', ...down }] : []),
    ...(lacking ? [{ condition: 'WorkloadsReady', ...lacking }] : []),
    ...OF_DATA.flatMap((type) => {
      const condition = conditionOf(record.status?.conditions, type);
      // A database may answer, and its password be lost all the same.
      if (condition === undefined || (condition.status !== 'False' && !isFailure(condition.reason))) return [];
      const at = Date.parse(condition.lastTransitionTime) / 1000;
      return [{ condition: type, reason: reasonLabel(condition.reason, REASONS), at }];
    }),
  ];
}

/** At most `most` records: those that are Stalled, those with another trouble, those without backups, then the others by name. */
function mostUrgent(records: readonly AppDeployment[], most: number): readonly AppDeployment[] {
  const all = records.map((record) => {
    const { namespace, name } = record.metadata;
    return { record, urgency: urgencyOf(record), place: `${namespace}/${name}` };
  });
  const ordered = all.toSorted((a, b) => a.urgency - b.urgency || (a.place < b.place ? -1 : 1));
  return ordered.slice(0, most).map(({ record }) => record);
}

function urgencyOf(record: AppDeployment): number {
  if (stalled(record)) return 0;
  const troubles = troublesOf(record);
  if (!isReady(record) || troubles.some(({ reason }) => reason !== UNPROTECTED)) return 1;
  return troubles.length > 0 ? 2 : 3;
}

/** How the last run of a task ended; `missed`: one was due since and did not begin. */
function lastRunOf(task: TaskStatus): 'succeeded' | 'failed' | 'missed' | 'none' {
  if (task.missedAt !== undefined) return 'missed';
  const run = lastEnded(task);
  if (run === undefined) return 'none';
  return run.state === 'Failed' ? 'failed' : 'succeeded';
}

function datastoresOf({ status }: AppDeployment): Labels[] {
  return STORE_PARTS.flatMap((datastore) => {
    const found = status?.datastores?.[datastore];
    if (!found) return [];
    return [{ datastore, version: found.version ?? 'unknown', behind: String(found.available !== undefined) }];
  });
}
