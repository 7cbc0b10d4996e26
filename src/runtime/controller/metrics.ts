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
  /** When the served certificate expires. */
  servesUntil(expires: Date): void;
}

const SECONDS_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Makes metrics in one registry. Their names are without the prefix. */
interface MetricMaker {
  counter(name: string, help: string, labelNames?: readonly string[]): Counter;
  gauge(name: string, help: string, labelNames?: readonly string[]): Gauge;
  histogram(name: string, help: string, buckets: readonly number[], labelNames?: readonly string[]): Histogram;
}

export function metricMaker(registry: Registry, prefix = 'davit_'): MetricMaker {
  const registers = [registry];
  return {
    counter: (name, help, labelNames = []) => new Counter({ name: prefix + name, help, labelNames, registers }),
    gauge: (name, help, labelNames = []) => new Gauge({ name: prefix + name, help, labelNames, registers }),
    histogram: (name, help, buckets, labelNames = []) =>
      new Histogram({ name: prefix + name, help, buckets: [...buckets], labelNames, registers }),
  };
}

/** Values of a gauge, each with its labels. */
export type Series = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

/** What gauges are for, by their names without the prefix. */
export type ShownGauges<Name extends string> = Readonly<
  Record<Name, { readonly help: string; readonly labelNames?: readonly string[] }>
>;

/**
 * Gauges that show at each scrape what somebody reads for as long as he does, and have no series otherwise. Returns a function that
 * calls `read` at every scrape, until the function that it returns is called.
 */
export function shownGauges<Name extends string>(
  registry: Registry,
  gauges: ShownGauges<Name>,
): (read: () => Readonly<Record<Name, Series>>) => () => void {
  let current: (() => Readonly<Record<Name, Series>>) | undefined;
  const made = Object.entries(gauges as ShownGauges<string>).map(([name, { help, labelNames = [] }], index) => ({
    name: name as Name,
    isLabelled: labelNames.length > 0,
    gauge: new Gauge({
      name: `davit_${name}`,
      help,
      labelNames,
      registers: [registry],
      // The first gauge sets the others too, so that all show one moment.
      ...(index === 0 && { collect: () => setAll(current?.()) }),
    }),
  }));
  function setAll(now: Readonly<Record<Name, Series>> | undefined): void {
    for (const { name, gauge, isLabelled } of made) {
      // A gauge without labels is 0 after a reset, and absent only when it is removed.
      if (isLabelled) gauge.reset();
      else gauge.remove();
      for (const [labels, value] of now?.[name] ?? []) gauge.set(labels, value);
    }
  }
  return (read) => {
    current = read;
    return () => {
      if (current === read) current = undefined;
    };
  };
}

export function makeMetrics(prefix?: string): RuntimeMetrics {
  const registry = new Registry();
  const { counter, gauge, histogram } = metricMaker(registry, prefix);
  const reconciles = counter('reconcile_total', 'Reconciles by controller and result', ['controller', 'result']);
  const reconcileSeconds = histogram('reconcile_duration_seconds', 'Duration of a reconcile', SECONDS_BUCKETS, [
    'controller',
    'result',
  ]);
  const depth = gauge('work_queue_depth', 'Keys waiting for a worker', ['queue']);
  const relists = counter('relist_total', 'Full lists of a resource, including the first', ['resource']);
  const reconnects = counter('watch_reconnect_total', 'Watches that were resumed after they ended', ['resource']);
  const failures = counter('watch_failure_total', 'Failed lists and watches, by error', ['resource', 'error']);
  const objects = gauge('cache_objects', 'Objects held in the watch cache', ['resource']);
  const leader = gauge('leader', '1 while this process holds the lease', ['lease']);
  const requestSeconds = histogram(
    'kube_request_duration_seconds',
    'Requests to the API server, retries included',
    SECONDS_BUCKETS,
    ['verb', 'resource', 'result'],
  );
  const codeHostSeconds = histogram(
    'code_host_request_duration_seconds',
    'Requests to code hosts, counting each attempt',
    SECONDS_BUCKETS,
    ['kind', 'result'],
  );
  const answers = counter('http_requests_total', 'Requests to the HTTP API by route and status code', [
    'method',
    'route',
    'code',
  ]);
  const answerSeconds = histogram(
    'http_request_duration_seconds',
    'Duration of requests to the HTTP API',
    SECONDS_BUCKETS,
    ['method', 'route'],
  );
  const certificate = gauge('certificate_expiration_timestamp_seconds', 'When the served certificate expires');
  // Without a certificate there is no series: 0 would be one that expired in 1970.
  certificate.remove();
  return {
    registry,
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
    answered(method, route, code, seconds) {
      answers.inc({ method, route, code });
      answerSeconds.observe({ method, route }, seconds);
    },
    servesUntil: (expires) => certificate.set(expires.getTime() / 1000),
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
    help: 'Always 1; the labels have the command and its version',
    labelNames: ['command', 'version'],
    registers: [registry],
  }).set({ command, version }, 1);
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_RESOLUTION_MS });
}
