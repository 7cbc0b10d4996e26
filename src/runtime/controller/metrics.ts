// The metrics of a process for Prometheus. docs/monitoring.md lists them. No label names a tenant, a record or a user, so the
// number of series is bounded by the tables of kinds, routes and errors.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

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
  /** One request to the HTTP API; `route` is the pattern of the route, never a path. */
  answered(method: string, route: string, code: number, seconds: number): void;
  /** When the certificate that is served expires. */
  servesUntil(expires: Date): void;
}

const SECONDS_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

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
  return {
    registry,
    ...makeHttpMetrics(registry, prefix),
    ...makeRequestMetrics(registry, prefix),
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
  };
}

/** What gauges show at each scrape, as somebody reads it for as long as he does. */
export interface Reading<T> {
  /** Undefined while nobody reads. */
  now(): T | undefined;
  /** Calls `read` at every scrape, until the returned function is called. */
  by(read: () => T): () => void;
}

export function makeReading<T>(): Reading<T> {
  let current: (() => T) | undefined;
  return {
    now: () => current?.(),
    by(read) {
      current = read;
      return () => {
        if (current === read) current = undefined;
      };
    },
  };
}

/** The metrics of the HTTP API. */
function makeHttpMetrics(registry: Registry, prefix: string): Pick<RuntimeMetrics, 'answered' | 'servesUntil'> {
  const registers = [registry];
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
    answered(method, route, code, seconds) {
      answers.inc({ method, route, code });
      answerSeconds.observe({ method, route }, seconds);
    },
    servesUntil: (date) => void (expires = date),
  };
}

/** The metrics of requests that Davit sends. */
function makeRequestMetrics(
  registry: Registry,
  prefix: string,
): Pick<RuntimeMetrics, 'requested' | 'codeHostRequested'> {
  const registers = [registry];
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
  return {
    requested: (verb, resource, result, seconds) => requestSeconds.observe({ verb, resource, result }, seconds),
    codeHostRequested: (kind, result, seconds) => codeHostSeconds.observe({ kind, result }, seconds),
  };
}

// Metrics of the process itself: version, CPU, memory, event loop and garbage collection, under the names that Prometheus clients
// for Node.js share.

/** Interval of the event loop's samples. The default of 10 ms would wake an idle process a hundred times a second. */
const LAG_RESOLUTION_MS = 100;

/** Adds the metrics to `registry`. `command` is the command that the process runs. Call it once in a process. */
export function addProcessMetrics(
  registry: Registry,
  { command, version }: { command: string; version: string },
): void {
  new Gauge({
    name: 'davit_build_info',
    help: 'Always 1; the labels say what runs',
    labelNames: ['command', 'version'],
    registers: [registry],
  }).set({ command, version }, 1);
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_RESOLUTION_MS });
}
