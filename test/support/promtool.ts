// Evaluates expressions and the chart's alerts with Prometheus' own engine.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { ensureTools, toolPath } from '../cluster/tools.ts';

const run = promisify(execFile);

export const RULES = join(import.meta.dirname, '../../charts/davit/files/alerts.yaml');
export const AS_EXPECTED = 'as expected';

/** A series as `promtool test rules` reads it: a sample a minute, `_` where it is missing. */
export interface Series {
  readonly series: string;
  readonly values: string;
}

export interface Evaluation {
  readonly name?: string;
  /** RFC 3339: when the series begin. */
  readonly start: string;
  readonly minutes: number;
  readonly series: readonly Series[];
  /** At the end of the series each expression has one sample 1 for each of its label sets, and no other. */
  readonly expected: readonly { readonly expr: string; readonly labels: readonly string[] }[];
}

export async function promtoolPath(): Promise<string> {
  const tools = await ensureTools(['prometheus'], (line) => process.stderr.write(`${line}\n`));
  return toolPath(tools, 'prometheus', 'promtool');
}

/** AS_EXPECTED, or what differs. */
export async function evaluate(promtool: string, evaluations: readonly Evaluation[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'davit-alerts-'));
  const file = join(folder, 'test.yaml');
  const tests = evaluations.map(({ name, start, minutes, series, expected }) => ({
    ...(name !== undefined && { name }),
    interval: '1m',
    start_timestamp: start,
    input_series: series,
    promql_expr_test: expected.map(({ expr, labels }) => ({
      expr,
      eval_time: `${minutes - 1}m`,
      exp_samples: labels.map((one) => ({ labels: one, value: 1 })),
    })),
  }));
  try {
    await writeFile(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }, { lineWidth: 0 }));
    return await run(promtool, ['test', 'rules', file], { maxBuffer: 64 << 20 }).then(
      () => AS_EXPECTED,
      (error: { readonly stdout?: string; readonly stderr?: string }) => `${error.stdout}${error.stderr}`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** An expression whose samples are the alerts that fire, of those with these labels. */
export function firing(alerts: readonly string[], labels = ''): Evaluation['expected'][number] {
  return {
    expr: `max by (alertname) (ALERTS{alertstate="firing"${labels}})`,
    labels: alerts.map((name) => `{alertname="${name}"}`),
  };
}
