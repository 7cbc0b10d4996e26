// The log and the metrics of the processes that a test's set-up has started.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Provided } from './running-davit.ts';

type Part = 'controller' | 'api';

/** One line of a log. */
export interface Line {
  readonly level: string;
  /** RFC 3339 */
  readonly time: string;
  readonly part?: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** What a process has logged, of all its runs. */
export async function linesOf({ logs }: Pick<Provided, 'logs'>, part: Part): Promise<Line[]> {
  const text = await readFile(join(logs, `davit-${part}.log`), 'utf8');
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
}

/** Samples by series, `name{label="value"}`. */
export type Scrape = ReadonlyMap<string, number>;

/** The samples of a process, as Prometheus gets them. */
export async function scrape(davit: Pick<Provided, 'logs'>, part: Part): Promise<Scrape> {
  const port = (await linesOf(davit, part)).findLast(({ msg }) => msg === 'Started')?.['health'];
  const answer = await fetch(`http://127.0.0.1:${String(port)}/metrics`);
  if (answer.status !== 200) throw new Error(`/metrics of the ${part} answers ${answer.status}`);
  const samples = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

/** The series of a metric that have these labels. */
export function seriesOf(
  samples: Scrape,
  metric: string,
  labels: Readonly<Record<string, string>> = {},
): (readonly [string, number])[] {
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return [...samples]
    .filter(([series]) => series === metric || series.startsWith(`${metric}{`))
    .filter(([series]) => wanted.every((label) => series.includes(label)));
}

export function sumOf(samples: Scrape, metric: string, labels: Readonly<Record<string, string>> = {}): number {
  return seriesOf(samples, metric, labels).reduce((sum, [, value]) => sum + value, 0);
}
