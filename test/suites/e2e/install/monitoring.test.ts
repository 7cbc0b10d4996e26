// The chart's alerts and the expressions of its dashboard, evaluated by Prometheus' own engine over series that Davit's metrics
// rendered: two hours of a platform in order, of one out of order, and of one that is gone.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  AS_EXPECTED,
  type Evaluation,
  evaluate,
  firing,
  promtoolPath,
  RULES,
  type Series,
} from '../../../support/promtool.ts';
import { START, scrapes } from './series.ts';

const run = promisify(execFile);
const files = join(import.meta.dirname, '../../../../charts/davit/files');
const MINUTES = 120;

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}
interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

const alerts = (parse(await readFile(RULES, 'utf8')) as Rules).groups.flatMap((group) => group.rules);
const names = [...new Set(alerts.map(({ alert }) => alert))];
const dashboard = JSON.parse(await readFile(join(files, 'dashboard.json'), 'utf8')) as Dashboard;
const expressions = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$tenant', '.*')),
);
/** Those that fire when nothing is scraped any more. */
const OF_ABSENCE = ['DavitNoLeader', 'DavitApiDown'];
/** Those that fire after more than these two hours. */
const OF_A_WEEK = ['DavitDatastoreBehind'];
const UP: readonly Series[] = [
  { series: 'davit_leader{lease="davit-controller"}', values: '1x120' },
  { series: 'davit_build_info{command="api"}', values: '1x120' },
];

let promtool: string;
beforeAll(async () => {
  promtool = await promtoolPath();
});

function outcomeAtEnd(series: readonly Series[], expected: Evaluation['expected']): Promise<string> {
  return evaluate(promtool, [{ start: START, minutes: MINUTES, series, expected }]);
}

it('the rules are what Prometheus takes, with their templates', async () => {
  const { stdout } = await run(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', RULES]);
  expect(stdout).toContain(`${alerts.length} rules found`);
});

it('the metrics are as Prometheus wants them named and described', async () => {
  const { makeAllMetrics } = await import('../../../../src/main/metrics.ts');
  const checking = run(promtool, ['check', 'metrics']);
  checking.child.stdin?.end(await makeAllMetrics().registry.metrics());
  await expect(checking).resolves.toMatchObject({ stdout: '' });
});

it('no alert fires on a platform in order', async () => {
  expect(await outcomeAtEnd(await scrapes('in order', MINUTES), [firing([])])).toBe(AS_EXPECTED);
});

it('every alert fires on a platform out of order, but those of a platform that is gone', async () => {
  const fires = names.filter((name) => ![...OF_ABSENCE, ...OF_A_WEEK].includes(name));
  expect(fires.length).toBeGreaterThan(10);
  expect(await outcomeAtEnd(await scrapes('out of order', MINUTES), [firing(fires)])).toBe(AS_EXPECTED);
});

it('a deployment that is stalled is named where the metrics name deployments, and counted otherwise', async () => {
  const stalled = (named: boolean, omitted: string): Promise<string> => {
    const at = Date.parse(START) / 1000 - 7200;
    const series = [
      { series: 'davit_deployments_stalled_oldest_timestamp_seconds{reason="PodsRefused"}', values: `${at}x120` },
      { series: 'davit_leader{lease="davit-controller"}', values: '1x120' },
      ...(named
        ? [
            { series: 'davit_deployments_omitted', values: `${omitted}x120` },
            {
              series: 'davit_deployment_stalled_timestamp_seconds{namespace="team",name="shop",reason="PodsRefused"}',
              values: `${at}x120`,
            },
          ]
        : []),
    ];
    const expr = 'count by (namespace, name) (ALERTS{alertstate="firing", alertname="DavitDeploymentStalled"})';
    const labels = [...(named ? ['{namespace="team", name="shop"}'] : []), ...(omitted === '0' && named ? [] : ['{}'])];
    return outcomeAtEnd(series, [{ expr, labels }]);
  };
  expect(await stalled(false, '0')).toBe(AS_EXPECTED);
  expect(await stalled(true, '0')).toBe(AS_EXPECTED);
  expect(await stalled(true, '3')).toBe(AS_EXPECTED);
});

it('one tenant with lost data hides no other where the metrics name deployments', async () => {
  const at = Date.parse(START) / 1000;
  const named = (name: string, values: string): Series => ({
    series: `davit_deployment_trouble_timestamp_seconds{namespace="${name}",name="shop",condition="DatabaseReady",reason="PasswordMissing"}`,
    values,
  });
  const series = [
    { series: 'davit_databases_at_risk{reason="PasswordMissing"}', values: '1x60 2x60' },
    { series: 'davit_deployments_omitted', values: '0x120' },
    { series: 'davit_leader{lease="davit-controller"}', values: '1x120' },
    named('careless', `${at}x120`),
    named('team', `_x60 ${at}x60`),
  ];
  const expr = 'count by (namespace) (ALERTS{alertstate="firing", alertname="DavitDataAtRisk"})';
  expect(await outcomeAtEnd(series, [{ expr, labels: ['{namespace="careless"}', '{namespace="team"}'] }])).toBe(
    AS_EXPECTED,
  );
});

function tenants(notReady: number, ready: number): Series[] {
  return Object.entries({ False: notReady, True: ready }).map(([is, count]) => ({
    series: `davit_tenants{ready="${is}"}`,
    values: `${count}x120`,
  }));
}

it('the mistakes of one tenant are no outage, where others are well', async () => {
  const group = (ready: string, reason: string, count: number): Series => ({
    series: `davit_deployments{state="READY",ready="${ready}",stalled="False",reason="${reason}"}`,
    values: `${count}x120`,
  });
  const after = (...counts: readonly [number, number]): Promise<string> => {
    const series = [group('False', 'ImagePullFailed', 20), group('True', 'Serving', 3), ...tenants(...counts), ...UP];
    return outcomeAtEnd(series, [firing(counts[0] === 1 && counts[1] > 0 ? [] : ['DavitManyNotReady'])]);
  };
  expect(await after(1, 3)).toBe(AS_EXPECTED);
  expect(await after(2, 2)).toBe(AS_EXPECTED);
  expect(await after(1, 0)).toBe(AS_EXPECTED);
});

describe('a container that exits again and again', () => {
  const HOURS = 6;
  const at = Date.parse(START) / 1000;
  /** Down for `down` minutes of each ten, with another beginning each time, as lastTransitionTime has it. */
  const loop = (series: string, down: number): Series => ({
    series,
    values: Array.from({ length: HOURS * 60 }, (_one, minute) =>
      minute % 10 < down ? String(at + (minute - (minute % 10)) * 60) : 'stale',
    ).join(' '),
  });
  const of = (type: string): string =>
    `davit_deployment_trouble_timestamp_seconds{namespace="team",name="shop",deployment_type="${type}",condition="Available",reason="ContainerCrashed"}`;
  const ofAll =
    'davit_deployments_unavailable_oldest_timestamp_seconds{deployment_type="prod",reason="ContainerCrashed"}';
  const evaluated = (series: readonly Series[], labels: readonly string[]): Promise<string> => {
    const minutes = HOURS * 60 - 1;
    const up = UP.map((one) => ({ ...one, values: `1x${minutes}` }));
    const expr = 'max by (alertname, severity, name) (ALERTS{alertstate="firing"})';
    return evaluate(promtool, [{ start: START, minutes, series: [...series, ...up], expected: [{ expr, labels }] }]);
  };
  const omitted = { series: 'davit_deployments_omitted', values: `0x${HOURS * 60}` };

  it.each([
    ['prod', 'critical'],
    ['dev', 'warning'],
    ['none', 'warning'],
  ])('fires though it serves for a moment each time, of deployment_type %s as %s', async (type, severity) => {
    const labels = [`{alertname="DavitDeploymentFlapping", name="shop", severity="${severity}"}`];
    expect(await evaluated([loop(of(type), 4), omitted], labels)).toBe(AS_EXPECTED);
  });

  it('fires where no deployment is named', async () => {
    const labels = ['{alertname="DavitDeploymentFlapping", severity="critical"}'];
    expect(await evaluated([loop(ofAll, 4)], labels)).toBe(AS_EXPECTED);
  });

  it('is no alert while it is a restart now and then', async () => {
    expect(await evaluated([loop(ofAll, 1), loop(of('prod'), 1), omitted], [])).toBe(AS_EXPECTED);
  });
});

it.each(['davit_watch_failure_total{resource="pods",error="Unavailable"}', 'davit_http_requests_total{code="503"}'])(
  'an outage of a minute that is over fires nothing later: %s',
  async (series) => {
    const burst = [{ series, values: '0x30 40x90' }, ...UP];
    const expr = 'count_over_time(ALERTS{alertstate="firing"}[2h])';
    expect(await outcomeAtEnd(burst, [{ expr, labels: [] }])).toBe(AS_EXPECTED);
    const lasting = [{ series, values: '0+8x120' }, ...UP];
    const name = series.includes('watch') ? 'DavitWatchFailing' : 'DavitApiErrors';
    expect(await outcomeAtEnd(lasting, [firing([name])])).toBe(AS_EXPECTED);
  },
);

it('deployments that run nothing do not hide that most others are not ready', async () => {
  const group = (state: string, ready: string, reason: string, count: number): Series => ({
    series: `davit_deployments{state="${state}",ready="${ready}",stalled="False",reason="${reason}"}`,
    values: `${count}x120`,
  });
  const series = [
    group('UNUSED', 'True', 'ScaledToZero', 300),
    group('UNKNOWN', 'False', 'WaitingForImage', 300),
    group('READY', 'False', 'Unschedulable', 30),
    group('READY', 'True', 'Serving', 70),
    ...tenants(30, 70),
    { series: 'davit_leader{lease="davit-controller"}', values: '1x120' },
    { series: 'davit_build_info{command="api"}', values: '1x120' },
  ];
  expect(await outcomeAtEnd(series, [firing(['DavitManyNotReady'])])).toBe(AS_EXPECTED);
});

it('a cluster in which only the agent of a listener leads has no leader', async () => {
  const agent = { series: 'davit_leader{lease="davit-listener"}', values: '1x120' };
  const api = { series: 'davit_build_info{command="api"}', values: '1x120' };
  expect(await outcomeAtEnd([agent, api], [firing(['DavitNoLeader'])])).toBe(AS_EXPECTED);
});

it('a registry that answers nobody is told of, but while it collects garbage, for two hours', async () => {
  const state = (name: string, values: string): Series => ({
    series: `davit_registry_garbage_collection{state="${name}"}`,
    values,
  });
  const down = { series: 'davit_registry_up', values: '0x150' };
  const running = { series: 'davit_leader{lease="davit-controller"}', values: '1x150' };
  const api = { series: 'davit_build_info{command="api"}', values: '1x150' };
  const firingAfter = (minutes: number, series: readonly Series[], names: readonly string[]): Promise<string> =>
    evaluate(promtool, [{ start: START, minutes, series: [down, running, api, ...series], expected: [firing(names)] }]);
  // An external registry has no collection.
  expect(await firingAfter(9, [], [])).toBe(AS_EXPECTED);
  expect(await firingAfter(12, [], ['DavitRegistryDown'])).toBe(AS_EXPECTED);
  const collecting = [state('running', '1x150')];
  expect(await firingAfter(100, collecting, [])).toBe(AS_EXPECTED);
  expect(await firingAfter(130, collecting, ['DavitRegistryCollectionFailing'])).toBe(AS_EXPECTED);
  expect(
    await firingAfter(60, [state('timed_out', '1x150')], ['DavitRegistryCollectionFailing', 'DavitRegistryDown']),
  ).toBe(AS_EXPECTED);
  const failing = [state('running', '1x10 _x140'), state('failing', '_x10 1x140')];
  expect(await firingAfter(60, failing, ['DavitRegistryCollectionFailing', 'DavitRegistryDown'])).toBe(AS_EXPECTED);
});

it('a garbage collection that nobody begins is overdue after three days', async () => {
  const due = Date.parse(START) / 1000;
  const series = (daysAgo: number): Series[] => [
    { series: 'davit_registry_garbage_collection_due_timestamp_seconds', values: `${due - daysAgo * 86_400}x120` },
    { series: 'davit_leader{lease="davit-controller"}', values: '1x120' },
    { series: 'davit_build_info{command="api"}', values: '1x120' },
  ];
  expect(await outcomeAtEnd(series(2.5), [firing([])])).toBe(AS_EXPECTED);
  expect(await outcomeAtEnd(series(3.1), [firing(['DavitRegistryCollectionFailing'])])).toBe(AS_EXPECTED);
});

it('a datastore that has been behind for a week is told', async () => {
  const minutes = 7 * 24 * 60 + 30;
  const behind = (values: string): Promise<string> =>
    evaluate(promtool, [
      {
        start: START,
        minutes,
        series: [
          { series: 'davit_datastore_version_info{datastore="postgres",version="17.5",behind="true"}', values },
          ...UP.map(({ series }) => ({ series, values: `1x${minutes}` })),
        ],
        expected: [firing(values.startsWith('0') ? [] : OF_A_WEEK)],
      },
    ]);
  expect(await behind(`3x${minutes}`)).toBe(AS_EXPECTED);
  expect(await behind(`0x30 3x${minutes - 31}`)).toBe(AS_EXPECTED);
});

it('those fire when nothing is scraped', async () => {
  const nothing = [{ series: 'up{job="davit-metrics"}', values: `0x${MINUTES}` }];
  expect(await outcomeAtEnd(nothing, [firing(OF_ABSENCE)])).toBe(AS_EXPECTED);
});

it('every expression of the dashboard has a value', async () => {
  expect(expressions.length).toBeGreaterThan(20);
  const valued = expressions.map((expr) => ({ expr: `count(${expr}) > bool 0`, labels: ['{}'] }));
  expect(await outcomeAtEnd(await scrapes('out of order', MINUTES), valued)).toBe(AS_EXPECTED);
});

it('an expression without a value is told, such as that of a metric that there is not', async () => {
  const series = await scrapes('in order', 5);
  const unknown = { expr: 'count(davit_nothing) > bool 0', labels: ['{}'] };
  expect(await outcomeAtEnd(series, [unknown])).toContain(unknown.expr);
});
