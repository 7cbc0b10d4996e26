// The Grafana dashboard of the chart: charts/davit/files/dashboard.json. Each panel is a title, a unit and expressions.

interface Panel {
  readonly title: string;
  /** Unit of Grafana: s, percentunit, bytes, or short for a number. */
  readonly unit: 's' | 'percentunit' | 'bytes' | 'short' | 'reqps';
  /** Legend → expression. `{{name}}` in a legend is the value of that label. */
  readonly series: Readonly<Record<string, string>>;
  /** One number instead of a graph. */
  readonly isStat?: true;
}

const quantile = (q: number, histogram: string, by: string): string =>
  `histogram_quantile(${q}, sum by (le${by}) (rate(${histogram}_bucket[$__rate_interval])))`;
const perSecond = (counter: string, by: string): string => `sum by (${by}) (rate(${counter}[$__rate_interval]))`;

/** A counter's rate, with one line for each combination of the labels `by`. */
function rate(title: string, counter: string, by: string): Panel {
  return { title, unit: 'reqps', series: { [legend(by)]: perSecond(counter, by) } };
}

/** The 99th percentile of durations, with one line for each combination of the labels `by`. */
function slowest(title: string, histogram: string, by: string): Panel {
  return { title, unit: 's', series: { [legend(by)]: quantile(0.99, histogram, `, ${by}`) } };
}

/**
 * A value of Davit's processes, with one line for each of them. Other programs have the same metrics: the join selects Davit's
 * processes and adds their command.
 */
function ofProcesses(title: string, unit: Panel['unit'], expression: string): Panel {
  const ours = `${expression} * on (job, instance) group_left (command) davit_build_info`;
  return { title, unit, series: { '{{command}} {{instance}}': ours } };
}

/** A metric of the kubelet about the volume of the chart's registry. */
function ofRegistryVolume(what: 'available' | 'capacity'): string {
  return `kubelet_volume_stats_${what}_bytes{persistentvolumeclaim="data-davit-registry-0"}`;
}

function legend(by: string): string {
  return by.replaceAll(/\w+/g, '{{$&}}').replaceAll(',', '');
}

/** Rows of panels, top to bottom. */
const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Deployments: [
    { title: 'Deployments', unit: 'short', isStat: true, series: { all: 'sum(davit_deployments)' } },
    {
      title: 'Ready',
      unit: 'percentunit',
      isStat: true,
      series: { ready: '(sum(davit_deployments{ready="True"}) or vector(0)) / sum(davit_deployments)' },
    },
    {
      title: 'Stalled',
      unit: 'short',
      isStat: true,
      series: { stalled: 'sum(davit_deployments{stalled="True"}) or vector(0)' },
    },
    {
      title: 'Not Ready, by reason',
      unit: 'short',
      series: { '{{reason}}': 'sum by (reason) (davit_deployments{ready!="True"})' },
    },
    {
      title: 'Stalled longest, by reason',
      unit: 's',
      series: { '{{reason}}': 'time() - max by (reason) (davit_deployments_stalled_oldest_timestamp_seconds)' },
    },
    {
      title: 'Restarts of containers in an hour',
      unit: 'short',
      series: { '{{part}}': 'sum by (part) (increase(davit_container_restarts_total[1h]))' },
    },
    {
      title: 'Tasks, by their last run',
      unit: 'short',
      series: { '{{result}}': 'sum by (result) (davit_tasks)' },
    },
    {
      title: 'Rollouts',
      unit: 's',
      series: {
        'median, {{result}}': quantile(0.5, 'davit_rollout_duration_seconds', ', result'),
        '95%, {{result}}': quantile(0.95, 'davit_rollout_duration_seconds', ', result'),
      },
    },
  ],
  'Deployments of a tenant (settings.metrics.perDeployment)': [
    {
      title: 'Not Ready',
      unit: 'short',
      series: {
        '{{namespace}}/{{name}} {{reason}}':
          'max by (namespace, name, reason) (davit_deployment_ready{namespace=~"$tenant"} == 0) + 1',
      },
    },
    {
      title: 'Stalled for',
      unit: 's',
      series: {
        '{{namespace}}/{{name}} {{reason}}':
          'time() - max by (namespace, name, reason) (davit_deployment_stalled_timestamp_seconds{namespace=~"$tenant"})',
      },
    },
    {
      title: 'Restarts of containers in an hour',
      unit: 'short',
      series: {
        '{{namespace}}/{{name}}':
          'sum by (namespace, name) (increase(davit_deployment_restarts_total{namespace=~"$tenant"}[1h])) > 0',
      },
    },
    {
      title: 'Failed tasks',
      unit: 'short',
      series: {
        '{{namespace}}/{{name}}': 'max by (namespace, name) (davit_deployment_failed_tasks{namespace=~"$tenant"}) > 0',
      },
    },
    {
      title: 'Left out of these panels',
      unit: 'short',
      isStat: true,
      series: { omitted: 'max(davit_deployments_omitted)' },
    },
  ],
  'Backups of databases': [
    { title: 'Backups', unit: 'short', series: { '{{reason}}': 'sum by (reason) (davit_database_backups)' } },
    {
      title: 'Age of the oldest last backup',
      unit: 's',
      isStat: true,
      series: { oldest: 'time() - min(davit_database_backups_oldest_timestamp_seconds)' },
    },
    { title: 'Archives', unit: 'short', series: { '{{reason}}': 'sum by (reason) (davit_database_archives)' } },
    { title: 'Proofs', unit: 'short', series: { '{{reason}}': 'sum by (reason) (davit_database_proofs)' } },
    {
      title: 'Age of the oldest last proof',
      unit: 's',
      isStat: true,
      series: { oldest: 'time() - min(davit_database_proofs_oldest_timestamp_seconds)' },
    },
  ],
  Builds: [
    { title: 'Builds that have not ended', unit: 'short', series: { '{{phase}}': 'sum by (phase) (davit_builds)' } },
    {
      title: 'Builds',
      unit: 's',
      series: {
        'median, {{result}}': quantile(0.5, 'davit_build_duration_seconds', ', result'),
        'in the queue, 95%': quantile(0.95, 'davit_build_queue_duration_seconds', ''),
        'waiting longest': 'time() - min(davit_builds_queued_oldest_timestamp_seconds)',
      },
    },
    {
      title: 'Failed builds in an hour, by reason',
      unit: 'short',
      series: { '{{reason}}': 'sum by (reason) (increase(davit_build_failure_total[1h])) > 0' },
    },
  ],
  Registry: [
    { title: 'Registry answers', unit: 'short', isStat: true, series: { up: 'min(davit_registry_up)' } },
    {
      title: 'Room left in the volume (kubelet)',
      unit: 'percentunit',
      isStat: true,
      series: {
        left: `min(${ofRegistryVolume('available')} / ${ofRegistryVolume('capacity')})`,
      },
    },
    {
      title: 'Garbage collection',
      unit: 's',
      series: {
        'since the last success': 'time() - max(davit_registry_garbage_collection_success_timestamp_seconds)',
        'until the next is due': 'max(davit_registry_garbage_collection_due_timestamp_seconds) - time()',
      },
    },
    {
      title: 'Waiting for the garbage collection',
      unit: 'short',
      series: {
        'repositories {{state}}': 'max by (state) (davit_registry_repositories)',
        'unneeded tags': 'max(davit_registry_unneeded_tags)',
        'collection {{state}}': 'max by (state) (davit_registry_garbage_collection)',
      },
    },
  ],
  'HTTP API': [
    rate('Requests, by status', 'davit_http_requests_total', 'code'),
    rate('Requests, by route', 'davit_http_requests_total', 'method, route'),
    slowest('Duration, 99%', 'davit_http_request_duration_seconds', 'method, route'),
    {
      title: 'Certificate expires in',
      unit: 's',
      isStat: true,
      series: { API: 'min(davit_certificate_expiration_timestamp_seconds) - time()' },
    },
    { title: 'Open event streams', unit: 'short', series: { '{{kind}}': 'sum by (kind) (davit_http_event_streams)' } },
    {
      title: 'Refused event streams in 15 minutes, by limit',
      unit: 'short',
      series: { '{{limit}}': 'sum by (limit) (increase(davit_http_event_streams_refused_total[15m])) > 0' },
    },
  ],
  Controller: [
    rate('Reconciles', 'davit_reconcile_total', 'controller, result'),
    slowest('Reconciles, 99%', 'davit_reconcile_duration_seconds', 'controller'),
    { title: 'Waiting keys', unit: 'short', series: { '{{queue}}': 'sum by (queue) (davit_work_queue_depth)' } },
    { title: 'Leader', unit: 'short', series: { '{{instance}}': 'max by (instance) (davit_leader)' } },
  ],
  'API server and code hosts': [
    rate('Requests to the API server', 'davit_kube_request_duration_seconds_count', 'verb, result'),
    slowest('Requests to the API server, 99%', 'davit_kube_request_duration_seconds', 'verb'),
    {
      title: 'Failed, repeated and resumed watches',
      unit: 'reqps',
      series: {
        'failed {{resource}} {{error}}': perSecond('davit_watch_failure_total', 'resource, error'),
        'listed {{resource}}': perSecond('davit_relist_total', 'resource'),
        'resumed {{resource}}': perSecond('davit_watch_reconnect_total', 'resource'),
      },
    },
    {
      title: 'Objects in the caches',
      unit: 'short',
      series: { '{{resource}}': 'max by (resource) (davit_cache_objects)' },
    },
    rate('Requests to code hosts', 'davit_code_host_request_duration_seconds_count', 'kind, result'),
  ],
  Processes: [
    ofProcesses('CPU', 'percentunit', 'rate(process_cpu_seconds_total[$__rate_interval])'),
    ofProcesses('Memory', 'bytes', 'process_resident_memory_bytes'),
    ofProcesses('Heap', 'bytes', 'nodejs_heap_size_used_bytes'),
    ofProcesses('Lag of the event loop, 99%', 's', 'nodejs_eventloop_lag_p99_seconds'),
    ofProcesses(
      'Garbage collection',
      'percentunit',
      'sum by (job, instance) (rate(nodejs_gc_duration_seconds_sum[$__rate_interval]))',
    ),
  ],
};

const TENANT = {
  name: 'tenant',
  label: 'Tenant',
  type: 'query',
  datasource: { type: 'prometheus', uid: '${datasource}' },
  query: 'label_values(davit_deployment_ready, namespace)',
  refresh: 2,
  includeAll: true,
  multi: true,
  allValue: '.*',
  sort: 1,
};

const WIDTH = 24;
const PANEL = { w: 6, h: 7 };

/** The text of charts/davit/files/dashboard.json. */
export function dashboardJson(): string {
  const panels: object[] = [];
  let y = 0;
  for (const [title, row] of Object.entries(ROWS)) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      gridPos: { x: 0, y, w: WIDTH, h: 1 },
      collapsed: false,
      panels: [],
    });
    y += 1;
    row.forEach((panel, index) => {
      const place = index * PANEL.w;
      panels.push(panelOf(panel, panels.length + 1, { x: place % WIDTH, y: y + Math.floor(place / WIDTH) * PANEL.h }));
    });
    y += Math.ceil((row.length * PANEL.w) / WIDTH) * PANEL.h;
  }
  const datasource = { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' };
  const dashboard = {
    uid: 'davit',
    title: 'Davit',
    tags: ['davit'],
    schemaVersion: 39,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [datasource, TENANT] },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function panelOf({ title, unit, series, isStat }: Panel, id: number, place: { x: number; y: number }): object {
  const datasource = { type: 'prometheus', uid: '${datasource}' };
  return {
    id,
    type: isStat ? 'stat' : 'timeseries',
    title,
    datasource,
    gridPos: { ...place, ...PANEL },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(series).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat,
    })),
  };
}
