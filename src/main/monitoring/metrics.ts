// The metrics of records and builds. docs/monitoring.md lists them. No label names a tenant or a record; a setting adds metrics that
// name deployments.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { ROLES, STORE_PARTS } from '../../kinds/meta.ts';
import { makeReading } from '../../runtime/controller/metrics.ts';

export interface RecordMetrics {
  /** Calls `read` at every scrape, until the returned function is called. Only the leader counts records. */
  countRecords(read: () => Census): () => void;
  /** Lets these series begin at 0: increase() does not see the first step of a series that begins at 1. */
  startOutcomesAtZero(labels: Readonly<Record<'rollouts' | 'builds' | 'buildFailures', readonly string[]>>): void;
  /** A rollout that has its first result. */
  rolledOut(result: string, seconds: number): void;
  /** A build that ended after this long. */
  built(result: string, seconds: number): void;
  buildFailed(reason: string): void;
  /** A build that got its turn after this long. */
  buildQueued(seconds: number): void;
  /** Containers of a part were started again. `of`: where the metrics name this deployment. */
  restarted(part: string, count: number, of?: DeploymentKey): void;
  /** The deployment is gone, and its own series with it. */
  forget(of: DeploymentKey): void;
}

type DeploymentKey = Readonly<Record<'namespace' | 'name', string>>;

/** The state of all records and builds, in groups of which there are as many as combinations of states and reasons. */
export interface Census {
  /** `ready` and `stalled` are the status of the condition, `reason` that of Ready. */
  readonly deployments: readonly {
    readonly state: string;
    readonly ready: string;
    readonly stalled: string;
    readonly reason: string;
    readonly count: number;
  }[];
  /** Records whose data is at risk, by the reason of DatabaseReady, whatever Ready says. */
  readonly dataAtRisk: readonly { readonly reason: string; readonly count: number }[];
  /** Records by the reason of DatabaseReady. */
  readonly databases: readonly { readonly reason: string; readonly count: number }[];
  /** Own PostgreSQL and Redis of records, by version. `behind`: whether a patch would bring another image. */
  readonly datastores: readonly {
    readonly datastore: string;
    readonly version: string;
    readonly behind: string;
    readonly count: number;
  }[];
  /** Records that ask for backups, by the reason of BackupReady. */
  readonly backups: readonly { readonly reason: string; readonly count: number }[];
  /** Records with an own PostgreSQL that nothing protects. */
  readonly unprotected: number;
  /** Databases that deleted records have retained. */
  readonly retained: { readonly count: number; readonly bytes: number };
  /** Time of the last backup of the record whose last one is oldest; seconds since 1970. */
  readonly oldestBackup?: number;
  /** Records that ask for an archive, by the reason of ArchiveReady. */
  readonly archives: readonly { readonly reason: string; readonly count: number }[];
  /** Records whose backups are verified, by the reason of BackupVerified. */
  readonly verifications: readonly { readonly reason: string; readonly count: number }[];
  /** Time of the last verification of the record whose last one is oldest; seconds since 1970. */
  readonly oldestVerification?: number;
  /** Since when the deployed record that has been without Available longest for each reason is so; seconds since 1970. */
  readonly unavailableSince: readonly OldestOfType[];
  /** The same of a record that serves and lacks pods of a part. */
  readonly degradedSince: readonly OldestOfType[];
  /** Since when the record that has been Stalled longest for each reason is so; seconds since 1970. */
  readonly stalledSince: readonly OldestOfType[];
  /** Namespaces with records that are meant to run, by whether all of these are Ready. */
  readonly tenants: readonly { readonly ready: string; readonly count: number }[];
  /** Tasks of active revisions, by how their last run ended: succeeded, failed, or none. */
  readonly tasks: readonly { readonly result: string; readonly count: number }[];
  /** Builds that have not ended. */
  readonly builds: readonly { readonly phase: string; readonly count: number }[];
  /** Since when the build that has waited longest for its turn does so; seconds since 1970. */
  readonly queuedSince?: number;
  /** Where single records are counted. */
  readonly each?: EachRecord;
}

interface OldestOfType {
  /** The deployment_type, or none. */
  readonly type: string;
  readonly reason: string;
  /** Seconds since 1970. */
  readonly at: number;
}

export interface EachRecord {
  readonly records: readonly {
    readonly namespace: string;
    readonly name: string;
    /** The deployment_type, or none. */
    readonly type: string;
    /** That of Ready. */
    readonly reason: string;
    readonly isReady: boolean;
    /** Tasks whose last run failed; absent where it has no tasks. */
    readonly failedTasks?: number;
    /** Since when it does not serve, or its data or its backups are not as asked for, and why; seconds since 1970. */
    readonly troubles: readonly { readonly condition: string; readonly reason: string; readonly at: number }[];
    /** Since when it is Stalled, and why; seconds since 1970. */
    readonly stalled?: { readonly reason: string; readonly at: number };
  }[];
  /** Records that are not in the list, because it is full. */
  readonly omitted: number;
}

/** Buckets of rollouts and builds: up to an hour, with the default deadlines of 600 s and 840 s between two of them. */
const MINUTES_BUCKETS = [5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600];

export function makeRecordMetrics(registry: Registry, prefix = 'davit_'): RecordMetrics {
  return { ...makeCensusMetrics(registry, prefix), ...makeOutcomeMetrics(registry, prefix) };
}

function makeOutcomeMetrics(registry: Registry, prefix: string): Omit<RecordMetrics, 'countRecords'> {
  const registers = [registry];
  const rolloutSeconds = new Histogram({
    name: `${prefix}rollout_duration_seconds`,
    help: 'From a revision, or its image if it was built, to its first result',
    labelNames: ['result'],
    buckets: MINUTES_BUCKETS,
    registers,
  });
  const buildSeconds = new Histogram({
    name: `${prefix}build_duration_seconds`,
    help: 'Duration of a build, without its time in the queue',
    labelNames: ['result'],
    buckets: MINUTES_BUCKETS,
    registers,
  });
  const buildQueueSeconds = new Histogram({
    name: `${prefix}build_queue_duration_seconds`,
    help: 'Time that a build waited for its turn',
    buckets: MINUTES_BUCKETS,
    registers,
  });
  const buildFailures = new Counter({
    name: `${prefix}build_failure_total`,
    help: 'Builds that failed, by reason',
    labelNames: ['reason'],
    registers,
  });
  const restarts = new Counter({
    name: `${prefix}container_restarts_total`,
    help: 'Containers of deployments that were started again, by part',
    labelNames: ['part'],
    registers,
  });
  const restartsOfEach = new Counter({
    name: `${prefix}deployment_restarts_total`,
    help: 'Containers of an AppDeployment that were started again',
    labelNames: ['namespace', 'name'],
    registers,
  });
  return {
    restarted(part, count, of) {
      restarts.inc({ part }, count);
      if (of) restartsOfEach.inc(of, count);
    },
    forget: (of) => restartsOfEach.remove(of),
    startOutcomesAtZero({ rollouts, builds, buildFailures: reasons }) {
      for (const result of rollouts) rolloutSeconds.zero({ result });
      for (const result of builds) buildSeconds.zero({ result });
      for (const reason of reasons) buildFailures.inc({ reason }, 0);
      for (const part of [...ROLES, ...STORE_PARTS, 'worker']) restarts.inc({ part }, 0);
    },
    rolledOut: (result, seconds) => rolloutSeconds.observe({ result }, seconds),
    built: (result, seconds) => buildSeconds.observe({ result }, seconds),
    buildFailed: (reason) => buildFailures.inc({ reason }),
    buildQueued: (seconds) => buildQueueSeconds.observe(seconds),
  };
}

/** Values of a gauge, each with its labels. */
type Series = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

interface CensusGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly read: (census: Census) => Series;
}

const unlabelled = (value: number | undefined): Series => (value === undefined ? [] : [[{}, value]]);
const ofEach = (
  census: Census,
  read: (record: EachRecord['records'][number], key: Readonly<Record<(typeof OF_EACH)[number], string>>) => Series,
): Series =>
  census.each?.records.flatMap((record) => {
    const { namespace, name, type } = record;
    return read(record, { namespace, name, deployment_type: type });
  }) ?? [];
const oldest = (since: readonly OldestOfType[]): Series =>
  since.map(({ type, reason, at }) => [{ deployment_type: type, reason }, at]);

const OF_EACH = ['namespace', 'name', 'deployment_type'] as const;

const CENSUS_GAUGES: readonly CensusGauge[] = [
  {
    name: 'deployments',
    help: 'AppDeployments by state and by their conditions Ready and Stalled',
    labelNames: ['state', 'ready', 'stalled', 'reason'],
    read: ({ deployments }) => deployments.map(({ count, ...labels }) => [labels, count]),
  },
  {
    name: 'deployment_ready',
    help: 'Whether an AppDeployment is Ready, with the reason of Ready',
    labelNames: [...OF_EACH, 'reason'],
    read: (census) => ofEach(census, ({ reason, isReady }, key) => [[{ ...key, reason }, isReady ? 1 : 0]]),
  },
  {
    name: 'deployment_stalled_timestamp_seconds',
    help: 'Since when an AppDeployment is Stalled for its present reason',
    labelNames: [...OF_EACH, 'reason'],
    read: (census) =>
      ofEach(census, ({ stalled }, key) => (stalled ? [[{ ...key, reason: stalled.reason }, stalled.at]] : [])),
  },
  {
    name: 'deployment_trouble_timestamp_seconds',
    help: 'Since when an AppDeployment does not serve though it was deployed, or lacks pods, or its data needs attention',
    labelNames: [...OF_EACH, 'condition', 'reason'],
    read: (census) =>
      ofEach(census, ({ troubles }, key) => troubles.map(({ at, ...labels }) => [{ ...key, ...labels }, at])),
  },
  {
    name: 'deployment_failed_tasks',
    help: 'Tasks of an AppDeployment whose last run failed',
    labelNames: OF_EACH,
    read: (census) => ofEach(census, ({ failedTasks }, key) => (failedTasks === undefined ? [] : [[key, failedTasks]])),
  },
  {
    name: 'deployments_omitted',
    help: 'AppDeployments that the metrics of each deployment leave out',
    read: ({ each }) => unlabelled(each?.omitted),
  },
  {
    name: 'databases_at_risk',
    help: 'AppDeployments whose volume or password of PostgreSQL is lost or being deleted, by reason of DatabaseReady',
    labelNames: ['reason'],
    read: ({ dataAtRisk }) => dataAtRisk.map(({ reason, count }) => [{ reason }, count]),
  },
  {
    name: 'databases',
    help: 'AppDeployments by the reason of DatabaseReady',
    labelNames: ['reason'],
    read: ({ databases }) => databases.map(({ reason, count }) => [{ reason }, count]),
  },
  {
    name: 'datastore_version_info',
    help: 'PostgreSQL and Redis of AppDeployments, by the version that the server reports and by whether a patch would bring another image',
    labelNames: ['datastore', 'version', 'behind'],
    read: ({ datastores }) => datastores.map(({ count, ...labels }) => [labels, count]),
  },
  {
    name: 'databases_unprotected',
    help: 'AppDeployments whose own PostgreSQL has neither backups nor an archive',
    read: ({ unprotected }) => unlabelled(unprotected),
  },
  {
    name: 'databases_retained',
    help: 'Databases that deleted AppDeployments have retained',
    read: ({ retained }) => unlabelled(retained.count),
  },
  {
    name: 'databases_retained_bytes',
    help: 'Size of the volumes of these databases',
    read: ({ retained }) => unlabelled(retained.bytes),
  },
  {
    name: 'database_backups',
    help: 'AppDeployments that ask for backups of their PostgreSQL, by reason of BackupReady',
    labelNames: ['reason'],
    read: ({ backups }) => backups.map(({ reason, count }) => [{ reason }, count]),
  },
  {
    name: 'database_backups_oldest_timestamp_seconds',
    help: 'Time of the last backup of the AppDeployment whose last backup is oldest',
    read: ({ oldestBackup }) => unlabelled(oldestBackup),
  },
  {
    name: 'database_archives',
    help: 'AppDeployments that ask for an archive of their PostgreSQL, by reason of ArchiveReady',
    labelNames: ['reason'],
    read: ({ archives }) => archives.map(({ reason, count }) => [{ reason }, count]),
  },
  {
    name: 'database_verifications',
    help: 'AppDeployments whose backups are verified, by reason of BackupVerified',
    labelNames: ['reason'],
    read: ({ verifications }) => verifications.map(({ reason, count }) => [{ reason }, count]),
  },
  {
    name: 'database_verifications_oldest_timestamp_seconds',
    help: 'Time of the last verification of the AppDeployment whose last verification is oldest',
    read: ({ oldestVerification }) => unlabelled(oldestVerification),
  },
  {
    name: 'deployments_unavailable_oldest_timestamp_seconds',
    help: 'Since when the AppDeployment with a deployed revision that has not been Available longest is so, by reason',
    labelNames: ['deployment_type', 'reason'],
    read: ({ unavailableSince }) => oldest(unavailableSince),
  },
  {
    name: 'deployments_degraded_oldest_timestamp_seconds',
    help: 'Since when the AppDeployment that serves and has lacked pods of a part longest is so, by reason',
    labelNames: ['deployment_type', 'reason'],
    read: ({ degradedSince }) => oldest(degradedSince),
  },
  {
    name: 'tenants',
    help: 'Namespaces with AppDeployments that are meant to run, by whether all of these are Ready',
    labelNames: ['ready'],
    read: ({ tenants }) => tenants.map(({ ready, count }) => [{ ready }, count]),
  },
  {
    name: 'deployments_stalled_oldest_timestamp_seconds',
    help: 'Since when the AppDeployment that has been Stalled longest is so, by reason',
    labelNames: ['deployment_type', 'reason'],
    read: ({ stalledSince }) => oldest(stalledSince),
  },
  {
    name: 'tasks',
    help: 'Tasks of active revisions, by how their last run ended',
    labelNames: ['result'],
    read: ({ tasks }) => tasks.map(({ result, count }) => [{ result }, count]),
  },
  {
    name: 'builds',
    help: 'Builds that have not ended, by phase',
    labelNames: ['phase'],
    read: ({ builds }) => builds.map(({ phase, count }) => [{ phase }, count]),
  },
  {
    name: 'builds_queued_oldest_timestamp_seconds',
    help: 'Since when the build that has waited longest for its turn waits',
    read: ({ queuedSince }) => unlabelled(queuedSince),
  },
];

/** Gauges of records and builds, read at each scrape. A process that does not lead has no series of them. */
function makeCensusMetrics(registry: Registry, prefix: string): Pick<RecordMetrics, 'countRecords'> {
  const reading = makeReading<Census>();
  const gauges = CENSUS_GAUGES.map(({ name, help, labelNames = [], read }, index) => {
    const gauge = new Gauge({
      name: `${prefix}${name}`,
      help,
      labelNames,
      registers: [registry],
      // The first metric sets the others too, so that all show one moment.
      ...(index === 0 && { collect: () => setAll(reading.now()) }),
    });
    return { gauge, read, isLabelled: labelNames.length > 0 };
  });
  function setAll(census: Census | undefined): void {
    for (const { gauge, read, isLabelled } of gauges) {
      // A gauge without labels is 0 after a reset, and absent only when it is removed.
      if (isLabelled) gauge.reset();
      else gauge.remove();
      if (census !== undefined) for (const [labels, value] of read(census)) gauge.set(labels, value);
    }
  }
  return { countRecords: reading.by };
}
