// The metrics of records and builds. docs/monitoring.md lists them. No label names a tenant or a record; a setting adds metrics that
// name deployments.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { makeReading } from '../lib/controller/metrics.ts';

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
}

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
  /** Records that ask for backups, by the reason of BackupReady. */
  readonly backups: readonly { readonly reason: string; readonly count: number }[];
  /** Time of the last backup of the record whose last one is oldest; seconds since 1970. */
  readonly oldestBackup?: number;
  /** Since when the deployed record that has been without Available longest for each reason is so; seconds since 1970. */
  readonly unavailableSince: readonly { readonly reason: string; readonly at: number }[];
  /** Since when the record that has been Stalled longest for each reason is so; seconds since 1970. */
  readonly stalledSince: readonly { readonly reason: string; readonly at: number }[];
  /** Tasks of active revisions, by how their last run ended: succeeded, failed, or none. */
  readonly tasks: readonly { readonly result: string; readonly count: number }[];
  /** Builds that have not ended. */
  readonly builds: readonly { readonly phase: string; readonly count: number }[];
  /** Since when the build that has waited longest for its turn does so; seconds since 1970. */
  readonly queuedSince?: number;
  /** Where single records are counted. */
  readonly each?: EachRecord;
}

export interface EachRecord {
  readonly records: readonly {
    readonly namespace: string;
    readonly name: string;
    /** That of Ready. */
    readonly reason: string;
    readonly isReady: boolean;
    /** Tasks whose last run failed; absent where it has no tasks. */
    readonly failedTasks?: number;
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
  return {
    startOutcomesAtZero({ rollouts, builds, buildFailures: reasons }) {
      for (const result of rollouts) rolloutSeconds.zero({ result });
      for (const result of builds) buildSeconds.zero({ result });
      for (const reason of reasons) buildFailures.inc({ reason }, 0);
    },
    rolledOut: (result, seconds) => rolloutSeconds.observe({ result }, seconds),
    built: (result, seconds) => buildSeconds.observe({ result }, seconds),
    buildFailed: (reason) => buildFailures.inc({ reason }),
    buildQueued: (seconds) => buildQueueSeconds.observe(seconds),
  };
}

/** Gauges of records and builds, read at each scrape. A process that does not lead has no series of them. */
function makeCensusMetrics(registry: Registry, prefix: string): Pick<RecordMetrics, 'countRecords'> {
  const registers = [registry];
  const reading = makeReading<Census>();
  const deployments = new Gauge({
    name: `${prefix}deployments`,
    help: 'AppDeployments by state and by their conditions Ready and Stalled',
    labelNames: ['state', 'ready', 'stalled', 'reason'],
    registers,
    // The first metric sets the others too, so that all show one moment.
    collect() {
      for (const gauge of [
        deployments,
        dataAtRisk,
        backups,
        unavailableSince,
        stalledSince,
        tasks,
        builds,
        ready,
        stalled,
        failed,
      ])
        gauge.reset();
      queuedSince.remove();
      oldestBackup.remove();
      omitted.remove();
      const census = reading.now();
      if (census === undefined) return;
      for (const { count, ...labels } of census.deployments) deployments.set(labels, count);
      for (const { reason, count } of census.dataAtRisk) dataAtRisk.set({ reason }, count);
      for (const { reason, count } of census.backups) backups.set({ reason }, count);
      if (census.oldestBackup !== undefined) oldestBackup.set(census.oldestBackup);
      for (const { reason, at } of census.unavailableSince) unavailableSince.set({ reason }, at);
      for (const { reason, at } of census.stalledSince) stalledSince.set({ reason }, at);
      for (const { result, count } of census.tasks) tasks.set({ result }, count);
      for (const { phase, count } of census.builds) builds.set({ phase }, count);
      if (census.queuedSince !== undefined) queuedSince.set(census.queuedSince);
      if (census.each === undefined) return;
      omitted.set(census.each.omitted);
      for (const { namespace, name, reason, isReady, stalled: since, failedTasks } of census.each.records) {
        if (failedTasks !== undefined) failed.set({ namespace, name }, failedTasks);
        ready.set({ namespace, name, reason }, isReady ? 1 : 0);
        if (since) stalled.set({ namespace, name, reason: since.reason }, since.at);
      }
    },
  });
  const ready = new Gauge({
    name: `${prefix}deployment_ready`,
    help: 'Whether an AppDeployment is Ready, with the reason of Ready',
    labelNames: ['namespace', 'name', 'reason'],
    registers,
  });
  const stalled = new Gauge({
    name: `${prefix}deployment_stalled_timestamp_seconds`,
    help: 'Since when an AppDeployment is Stalled for its present reason',
    labelNames: ['namespace', 'name', 'reason'],
    registers,
  });
  const failed = new Gauge({
    name: `${prefix}deployment_failed_tasks`,
    help: 'Tasks of an AppDeployment whose last run failed',
    labelNames: ['namespace', 'name'],
    registers,
  });
  const omitted = new Gauge({
    name: `${prefix}deployments_omitted`,
    help: 'AppDeployments that the metrics of each deployment leave out',
    registers,
  });
  const dataAtRisk = new Gauge({
    name: `${prefix}databases_at_risk`,
    help: 'AppDeployments whose volume or password of PostgreSQL is lost or being deleted, by reason of DatabaseReady',
    labelNames: ['reason'],
    registers,
  });
  const backups = new Gauge({
    name: `${prefix}database_backups`,
    help: 'AppDeployments that ask for backups of their PostgreSQL, by reason of BackupReady',
    labelNames: ['reason'],
    registers,
  });
  const oldestBackup = new Gauge({
    name: `${prefix}database_backups_oldest_timestamp_seconds`,
    help: 'Time of the last backup of the AppDeployment whose last backup is oldest',
    registers,
  });
  const unavailableSince = new Gauge({
    name: `${prefix}deployments_unavailable_oldest_timestamp_seconds`,
    help: 'Since when the AppDeployment with a deployed revision that has not been Available longest is so, by reason',
    labelNames: ['reason'],
    registers,
  });
  const stalledSince = new Gauge({
    name: `${prefix}deployments_stalled_oldest_timestamp_seconds`,
    help: 'Since when the AppDeployment that has been Stalled longest is so, by reason',
    labelNames: ['reason'],
    registers,
  });
  const tasks = new Gauge({
    name: `${prefix}tasks`,
    help: 'Tasks of active revisions, by how their last run ended',
    labelNames: ['result'],
    registers,
  });
  const builds = new Gauge({
    name: `${prefix}builds`,
    help: 'Builds that have not ended, by phase',
    labelNames: ['phase'],
    registers,
  });
  const queuedSince = new Gauge({
    name: `${prefix}builds_queued_oldest_timestamp_seconds`,
    help: 'Since when the build that has waited longest for its turn waits',
    registers,
  });
  return { countRecords: reading.by };
}
