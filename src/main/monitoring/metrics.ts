// The metrics of records and builds. docs/monitoring.md lists them. No label names a tenant or a record; a setting adds metrics that
// name deployments.

import type { Registry } from 'prom-client';
import { ROLES, STORE_PARTS } from '../../kinds/meta.ts';
import { metricMaker, shownGauges } from '../../runtime/controller/metrics.ts';
import { CENSUS_GAUGES, type Census } from './census.ts';

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

/** Buckets of rollouts and builds: up to an hour, with the default deadlines of 600 s and 840 s between two of them. */
const MINUTES_BUCKETS = [5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600];

export function makeRecordMetrics(registry: Registry): RecordMetrics {
  const { counter, histogram } = metricMaker(registry);
  const rolloutSeconds = histogram(
    'rollout_duration_seconds',
    'Time from a revision, or its image if it was built, to its first result',
    MINUTES_BUCKETS,
    ['result'],
  );
  const buildSeconds = histogram(
    'build_duration_seconds',
    'Duration of a build, without its time in the queue',
    MINUTES_BUCKETS,
    ['result'],
  );
  const buildQueueSeconds = histogram(
    'build_queue_duration_seconds',
    'Time that a build waited for its turn',
    MINUTES_BUCKETS,
  );
  const buildFailures = counter('build_failure_total', 'Builds that failed, by reason', ['reason']);
  const restarts = counter('container_restarts_total', 'Restarts of containers of deployments, by part', ['part']);
  const restartsOfEach = counter('deployment_restarts_total', 'Restarts of containers of an AppDeployment', [
    'namespace',
    'name',
  ]);
  return {
    countRecords: shownGauges(registry, CENSUS_GAUGES),
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
