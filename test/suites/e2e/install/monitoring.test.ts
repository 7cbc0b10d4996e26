// The chart's alerts and the expressions of its dashboard, evaluated by Prometheus' own engine over series that Davit's metrics
// rendered: two hours of a platform in order, of one out of order, and of one that is gone.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ensureTools, toolPath } from '../../../cluster/tools.ts';
import { type Series, START, scrapes } from './series.ts';

const run = promisify(execFile);
const files = join(import.meta.dirname, '../../../../charts/davit/files');
const rules = join(files, 'alerts.yaml');
const MINUTES = 120;

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}
interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

const alerts = (parse(await readFile(rules, 'utf8')) as Rules).groups.flatMap((group) => group.rules);
const names = alerts.map(({ alert }) => alert);
const dashboard = JSON.parse(await readFile(join(files, 'dashboard.json'), 'utf8')) as Dashboard;
const expressions = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')),
);
/** Those that fire when nothing is scraped any more. */
const OF_ABSENCE = ['DavitNoLeader', 'DavitApiDown'];
const AS_EXPECTED = 'as expected';

let promtool: string;
let folder: string;
beforeAll(async () => {
  const tools = await ensureTools(['prometheus'], (line) => process.stderr.write(`${line}\n`));
  promtool = toolPath(tools, 'prometheus', 'promtool');
  folder = await mkdtemp(join(tmpdir(), 'davit-alerts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Whether each expression has, at the end of the series, one sample 1 for each of its label sets: AS_EXPECTED, or what differs. */
async function outcomeAtEnd(
  series: readonly Series[],
  expected: readonly { readonly expr: string; readonly labels: readonly string[] }[],
): Promise<string> {
  const file = join(folder, 'test.yaml');
  const test = {
    interval: '1m',
    start_timestamp: START,
    input_series: series,
    promql_expr_test: expected.map(({ expr, labels }) => ({
      expr,
      eval_time: `${MINUTES - 1}m`,
      exp_samples: labels.map((one) => ({ labels: one, value: 1 })),
    })),
  };
  await writeFile(file, stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] }, { lineWidth: 0 }));
  return run(promtool, ['test', 'rules', file], { maxBuffer: 64 << 20 }).then(
    () => AS_EXPECTED,
    (error: { readonly stdout?: string; readonly stderr?: string }) => `${error.stdout}${error.stderr}`,
  );
}

function firing(alertNames: readonly string[]): { expr: string; labels: string[] } {
  const labels = alertNames.map((name) => `{alertname="${name}"}`);
  return { expr: 'max by (alertname) (ALERTS{alertstate="firing"})', labels };
}

it('the rules are what Prometheus takes, with their templates', async () => {
  const { stdout } = await run(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', rules]);
  expect(stdout).toContain(`${alerts.length} rules found`);
});

it('the metrics are as Prometheus wants them named and described', async () => {
  const { makeMetrics } = await import('../../../../src/runtime/metrics.ts');
  const checking = run(promtool, ['check', 'metrics']);
  checking.child.stdin?.end(await makeMetrics().registry.metrics());
  await expect(checking).resolves.toMatchObject({ stdout: '' });
});

it('no alert fires on a platform in order', async () => {
  expect(await outcomeAtEnd(await scrapes('in order', MINUTES), [firing([])])).toBe(AS_EXPECTED);
});

it('every alert fires on a platform out of order, but those of a platform that is gone', async () => {
  const fires = names.filter((name) => !OF_ABSENCE.includes(name));
  expect(fires.length).toBeGreaterThan(10);
  expect(await outcomeAtEnd(await scrapes('out of order', MINUTES), [firing(fires)])).toBe(AS_EXPECTED);
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
