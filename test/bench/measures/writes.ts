// P4: how much is written for a record.

import { davit } from '../arms/davit.ts';
import type { Figure, Goal } from '../figures.ts';
import { fill } from '../fill.ts';
import type { Bench, Measure } from '../measure.ts';
import { type BareRecord, overHttp, recordsOf } from '../records.ts';
import { type Tally, total } from '../server-counts.ts';

const goal: Goal = { atMost: 1.1 };
/** A count, which is the same for any number. */
const AS_MANY_BY_KUBECTL = 100;

export const writes: Measure = { key: 'P4', goal, run };

async function run(bench: Bench): Promise<readonly Figure[]> {
  const records = recordsOf(bench.records);
  const byKubectl = records.slice(0, Math.min(records.length, AS_MANY_BY_KUBECTL));
  return [
    await writesOf(bench, 'P4', records.map(overHttp)),
    // No finalizer is there yet: one write more.
    await writesOf(bench, 'P4.kubectl', byKubectl),
  ];
}

async function writesOf(bench: Bench, key: string, records: readonly BareRecord[]): Promise<Figure> {
  const { requests, children } = await fill(bench, davit(bench), records.length, { records });
  const perRecord = total(requests.writes) / records.length;
  return {
    key,
    goal,
    samples: [perRecord / (children + 2)],
    absolutes: {
      records: records.length,
      children,
      writesPerRecord: perRecord,
      dryRunsPerRecord: total(requests.dryRuns) / records.length,
      readsPerRecord: total(requests.reads) / records.length,
      throttled: requests.throttled,
      writes: each(requests.writes, records.length),
    },
  };
}

function each(tally: Tally, records: number): string {
  return [...tally]
    .toSorted(([, a], [, b]) => b - a)
    .map(([what, count]) => `${what} ${Math.round((count / records) * 100) / 100}`)
    .join(', ');
}
