// P4: how much is written for a record.

import { davit } from '../arms/davit.ts';
import type { Figure, Goal } from '../figures.ts';
import { fill } from '../fill.ts';
import type { Bench, Measure } from '../measure.ts';
import { type Tally, total } from '../server-counts.ts';

const goal: Goal = { atMost: 1.1 };

export const writes: Measure = { key: 'P4', goal, run };

async function run(bench: Bench): Promise<readonly Figure[]> {
  const { records } = bench;
  const { requests, children } = await fill(bench, davit(bench), records);
  const perRecord = total(requests.writes) / records;
  return [
    {
      key: 'P4',
      goal,
      samples: [perRecord / (children + 2)],
      absolutes: {
        records,
        children,
        writesPerRecord: perRecord,
        dryRunsPerRecord: total(requests.dryRuns) / records,
        readsPerRecord: total(requests.reads) / records,
        throttled: requests.throttled,
        writes: each(requests.writes, records),
      },
    },
  ];
}

function each(tally: Tally, records: number): string {
  return [...tally]
    .toSorted(([, a], [, b]) => b - a)
    .map(([what, count]) => `${what} ${Math.round((count / records) * 100) / 100}`)
    .join(', ');
}
