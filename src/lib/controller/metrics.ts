// The metrics of a process for Prometheus. docs/monitoring.md lists them. No label names a tenant, a record or a user, so the
// number of series is bounded by the tables of states, reasons, kinds and routes. A setting adds metrics that name deployments.

import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type ReconcileResult = 'done' | 'requeued' | 'conflict' | 'terminal' | 'error';

/** The metrics of a process, and the registry that renders them. */
export interface RuntimeMetrics {
  readonly registry: Registry;
  reconciled(controller: string, result: ReconcileResult, seconds: number): void;
  queueDepth(queue: string, keys: number): void;
  relisted(resource: string): void;
  reconnected(resource: string): void;
  /** A watch or list that failed, by the error's name. */
  watchFailed(resource: string, error: string): void;
  /** Change of the number of objects in the watch caches of a resource. */
  cached(resource: string, change: 1 | -1): void;
  leading(lease: string, isLeading: boolean): void;
  /** One request to the API server; `resource` is a plural, never a name. */
  requested(verb: string, resource: string, result: string, seconds: number): void;
  /** One request to a code host; `kind` is the host's kind, `result` the class of the status or the cause of the failure. */
  codeHostRequested(kind: string, result: string, seconds: number): void;
  /** Calls `read` at every scrape, until the returned function is called. Only the leader counts records. */
  countRecords(read: () => Census): () => void;
  /** Calls `read` at every scrape, until the returned function is called. Only the leader looks at the registry. */
  showRegistry(read: () => RegistryHealth): () => void;
  /** Lets these series begin at 0: increase() does not see the first step of a series that begins at 1. */
  startAtZero(
    labels: Readonly<Partial<Record<'rollouts' | 'builds' | 'buildFailures' | 'streamLimits', readonly string[]>>>,
  ): void;
  /** A rollout that has its first result. */
  rolledOut(result: string, seconds: number): void;
  /** A build that ended after this long. */
  built(result: string, seconds: number): void;
  buildFailed(reason: string): void;
  /** A build that got its turn after this long. */
  buildQueued(seconds: number): void;
  /** One request to the HTTP API; `route` is the pattern of the route, never a path. */
  answered(method: string, route: string, code: number, seconds: number): void;
  /** An event stream that was opened (1) or has ended (-1); `kind` is what it shows. */
  streaming(kind: string, change: 1 | -1): void;
  /** An event stream that was refused because as many were open as `limit` allows. */
  streamRefused(limit: string): void;
  /** Davit's own spans that were sent, could not be sent, or found too many waiting. */
  spansSent(result: 'sent' | 'failed' | 'dropped', spans: number): void;
  /** When the certificate that is served expires. */
  servesUntil(expires: Date): void;
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
  /** Since when the deployed record that has been without Available longest for each reason is so; seconds since 1970. */
  readonly unavailableSince: readonly { readonly reason: string; readonly at: number }[];
  /** Since when the record that has been Stalled longest for each reason is so; seconds since 1970. */
  readonly stalledSince: readonly { readonly reason: string; readonly at: number }[];
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
    /** Since when it is Stalled, and why; seconds since 1970. */
    readonly stalled?: { readonly reason: string; readonly at: number };
  }[];
  /** Records that are not in the list, because it is full. */
  readonly omitted: number;
}

/** What is known of the platform's registry. What is undefined has no series. Times are in seconds since 1970. */
export interface RegistryHealth {
  /** Whether it answers and takes the platform's credential. */
  readonly isUp: boolean | undefined;
  /** What the pod of the chart's own registry does before it serves. */
  readonly collection:
    | { readonly state: string; readonly succeededAt: number | undefined; readonly dueAt?: number }
    | undefined;
  readonly backlog: RegistryBacklog | undefined;
}

/** What stands before the next collection of garbage. */
export interface RegistryBacklog {
  /** Repositories for which the collection waits. */
  readonly waiting: number;
  /** Repositories that fail although the registry answers. After some attempts the collection does not wait for them. */
  readonly failing: number;
  /** Tags that nothing needs, and that are deleted when a day has passed. */
  readonly unneeded: number;
}

const SECONDS_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Buckets of rollouts and builds: up to an hour, with the default deadlines of 600 s and 840 s between two of them. */
const MINUTES_BUCKETS = [5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600];

export function makeMetrics(prefix = 'davit_'): RuntimeMetrics {
  const registry = new Registry();
  const registers = [registry];
  const reconciles = new Counter({
    name: `${prefix}reconcile_total`,
    help: 'Reconciles by controller and result',
    labelNames: ['controller', 'result'],
    registers,
  });
  const reconcileSeconds = new Histogram({
    name: `${prefix}reconcile_duration_seconds`,
    help: 'Duration of a reconcile',
    labelNames: ['controller', 'result'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const depth = new Gauge({
    name: `${prefix}work_queue_depth`,
    help: 'Keys waiting for a worker',
    labelNames: ['queue'],
    registers,
  });
  const relists = new Counter({
    name: `${prefix}relist_total`,
    help: 'Full lists of a resource, including the first',
    labelNames: ['resource'],
    registers,
  });
  const reconnects = new Counter({
    name: `${prefix}watch_reconnect_total`,
    help: 'Watches resumed after they ended',
    labelNames: ['resource'],
    registers,
  });
  const failures = new Counter({
    name: `${prefix}watch_failure_total`,
    help: 'Lists and watches that failed, by error',
    labelNames: ['resource', 'error'],
    registers,
  });
  const objects = new Gauge({
    name: `${prefix}cache_objects`,
    help: 'Objects held in the watch cache',
    labelNames: ['resource'],
    registers,
  });
  const leader = new Gauge({
    name: `${prefix}leader`,
    help: '1 while this process holds the lease',
    labelNames: ['lease'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: `${prefix}kube_request_duration_seconds`,
    help: 'Requests to the API server, retries included',
    labelNames: ['verb', 'resource', 'result'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const codeHostSeconds = new Histogram({
    name: `${prefix}code_host_request_duration_seconds`,
    help: 'Requests to code hosts, counting each attempt',
    labelNames: ['kind', 'result'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
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
  const answers = new Counter({
    name: `${prefix}http_requests_total`,
    help: 'Requests to the HTTP API by route and status code',
    labelNames: ['method', 'route', 'code'],
    registers,
  });
  const answerSeconds = new Histogram({
    name: `${prefix}http_request_duration_seconds`,
    help: 'Duration of requests to the HTTP API',
    labelNames: ['method', 'route'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const streams = new Gauge({
    name: `${prefix}http_event_streams`,
    help: 'Event streams of the HTTP API that are open, by what they show',
    labelNames: ['kind'],
    registers,
  });
  const streamRefusals = new Counter({
    name: `${prefix}http_event_streams_refused_total`,
    help: 'Event streams of the HTTP API that were refused, by the limit that was reached',
    labelNames: ['limit'],
    registers,
  });
  const spans = new Counter({
    name: `${prefix}spans_total`,
    help: "Davit's own spans, by what came of them",
    labelNames: ['result'],
    registers,
  });
  let expires: Date | undefined;
  new Gauge({
    name: `${prefix}certificate_expiration_timestamp_seconds`,
    help: 'When the certificate that is served expires',
    registers,
    collect() {
      // Without a certificate there is no series: 0 would be one that expired in 1970.
      this.remove();
      if (expires !== undefined) this.set(expires.getTime() / 1000);
    },
  });
  return {
    registry,
    countRecords: makeRecordMetrics(prefix, registers),
    showRegistry: makeRegistryMetrics(prefix, registers),
    startAtZero({ rollouts = [], builds = [], buildFailures: reasons = [], streamLimits = [] }) {
      for (const result of rollouts) rolloutSeconds.zero({ result });
      for (const result of builds) buildSeconds.zero({ result });
      for (const reason of reasons) buildFailures.inc({ reason }, 0);
      for (const limit of streamLimits) streamRefusals.inc({ limit }, 0);
    },
    rolledOut: (result, seconds) => rolloutSeconds.observe({ result }, seconds),
    built: (result, seconds) => buildSeconds.observe({ result }, seconds),
    buildFailed: (reason) => buildFailures.inc({ reason }),
    buildQueued: (seconds) => buildQueueSeconds.observe(seconds),
    answered(method, route, code, seconds) {
      answers.inc({ method, route, code });
      answerSeconds.observe({ method, route }, seconds);
    },
    streaming: (kind, change) => streams.inc({ kind }, change),
    streamRefused: (limit) => streamRefusals.inc({ limit }),
    spansSent: (result, count) => spans.inc({ result }, count),
    servesUntil: (date) => void (expires = date),
    reconciled(controller, result, seconds) {
      reconciles.inc({ controller, result });
      reconcileSeconds.observe({ controller, result }, seconds);
    },
    queueDepth: (queue, keys) => depth.set({ queue }, keys),
    relisted: (resource) => relists.inc({ resource }),
    reconnected: (resource) => reconnects.inc({ resource }),
    watchFailed: (resource, error) => failures.inc({ resource, error }),
    cached: (resource, change) => objects.inc({ resource }, change),
    leading: (lease, isLeading) => leader.set({ lease }, isLeading ? 1 : 0),
    requested: (verb, resource, result, seconds) => requestSeconds.observe({ verb, resource, result }, seconds),
    codeHostRequested: (kind, result, seconds) => codeHostSeconds.observe({ kind, result }, seconds),
  };
}

/** Gauges of records and builds, read at each scrape. A process that does not lead has no series of them. */
function makeRecordMetrics(prefix: string, registers: Registry[]): RuntimeMetrics['countRecords'] {
  let read: (() => Census) | undefined;
  const deployments = new Gauge({
    name: `${prefix}deployments`,
    help: 'AppDeployments by state and by their conditions Ready and Stalled',
    labelNames: ['state', 'ready', 'stalled', 'reason'],
    registers,
    // The first metric sets the others too, so that all show one moment.
    collect() {
      for (const gauge of [deployments, dataAtRisk, unavailableSince, stalledSince, builds, ready, stalled])
        gauge.reset();
      queuedSince.remove();
      omitted.remove();
      if (read === undefined) return;
      const census = read();
      for (const { count, ...labels } of census.deployments) deployments.set(labels, count);
      for (const { reason, count } of census.dataAtRisk) dataAtRisk.set({ reason }, count);
      for (const { reason, at } of census.unavailableSince) unavailableSince.set({ reason }, at);
      for (const { reason, at } of census.stalledSince) stalledSince.set({ reason }, at);
      for (const { phase, count } of census.builds) builds.set({ phase }, count);
      if (census.queuedSince !== undefined) queuedSince.set(census.queuedSince);
      if (census.each === undefined) return;
      omitted.set(census.each.omitted);
      for (const { namespace, name, reason, isReady, stalled: since } of census.each.records) {
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
  return (reading) => {
    read = reading;
    return () => {
      if (read === reading) read = undefined;
    };
  };
}

/** Gauges of the platform's registry, read at each scrape. A process that does not look at it has no series of them. */
function makeRegistryMetrics(prefix: string, registers: Registry[]): RuntimeMetrics['showRegistry'] {
  let read: (() => RegistryHealth) | undefined;
  const up = new Gauge({
    name: `${prefix}registry_up`,
    help: "1 if the platform's registry answers and takes the platform's credential, otherwise 0",
    registers,
    // The first metric sets the others too, so that all show one moment.
    collect() {
      for (const gauge of [up, succeeded, due, unneeded]) gauge.remove();
      for (const gauge of [collecting, repositories]) gauge.reset();
      if (read === undefined) return;
      const { isUp, collection, backlog } = read();
      if (isUp !== undefined) up.set(isUp ? 1 : 0);
      if (collection) {
        collecting.set({ state: collection.state }, 1);
        if (collection.succeededAt !== undefined) succeeded.set(collection.succeededAt);
        if (collection.dueAt !== undefined) due.set(collection.dueAt);
      }
      if (backlog) {
        repositories.set({ state: 'waiting' }, backlog.waiting);
        repositories.set({ state: 'failing' }, backlog.failing);
        unneeded.set(backlog.unneeded);
      }
    },
  });
  const collecting = new Gauge({
    name: `${prefix}registry_garbage_collection`,
    help: "1 for the state of the garbage collection by the registry's pod: succeeded, running or failing",
    labelNames: ['state'],
    registers,
  });
  const succeeded = new Gauge({
    name: `${prefix}registry_garbage_collection_success_timestamp_seconds`,
    help: 'When the garbage collection of the registry last succeeded',
    registers,
  });
  const due = new Gauge({
    name: `${prefix}registry_garbage_collection_due_timestamp_seconds`,
    help: "When the registry's pod reaches the age at which it is replaced to collect garbage",
    registers,
  });
  const repositories = new Gauge({
    name: `${prefix}registry_repositories`,
    help: 'Repositories for which the garbage collection waits, and that fail although the registry answers',
    labelNames: ['state'],
    registers,
  });
  const unneeded = new Gauge({
    name: `${prefix}registry_unneeded_tags`,
    help: 'Tags that nothing needs and that are deleted when a day has passed',
    registers,
  });
  return (reading) => {
    read = reading;
    return () => {
      if (read === reading) read = undefined;
    };
  };
}
