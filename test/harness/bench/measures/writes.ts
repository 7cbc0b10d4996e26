// P4: how much is written for a record.

import { davit } from '../contenders/davit.ts';
import type { Figure, Goal } from '../figures.ts';
import { type Filled, fill } from '../fill.ts';
import type { Bench, Measure } from '../measure.ts';
import { overHttp, recordsOf } from '../records.ts';
import { eachOf, total } from '../server-counts.ts';

const goal: Goal = { atMost: 1.1 };
/** A count, which is the same for any number. */
const AS_MANY_BY_KUBECTL = 100;
const REST_MS = 600_000;
const QUICK_REST_MS = 5_000;
/** No pod ever runs here: within these limits, which are the longest, no record is reported as Stalled while it is at rest. */
const PATIENT = { 'settings.pods.unavailableSeconds': 86_400, 'settings.pods.progressDeadlineSeconds': 86_400 };

export const writes: Measure = { key: 'P4', goal, run };

async function run(bench: Bench): Promise<readonly Figure[]> {
  const records = recordsOf(bench.records);
  const byKubectl = records.slice(0, Math.min(records.length, AS_MANY_BY_KUBECTL));
  const restMs = bench.quick ? QUICK_REST_MS : REST_MS;
  const filled = await fill(bench, davit(bench), records.length, {
    records: records.map(overHttp),
    restMs,
    values: PATIENT,
  });
  return [
    figureOf('P4', filled, records.length),
    // No finalizer is there yet: one write more.
    figureOf('P4.kubectl', await fill(bench, davit(bench), byKubectl.length, { records: byKubectl }), byKubectl.length),
    {
      key: 'P4.rest',
      goal: { atMost: 0 },
      samples: [filled.atRest.written],
      absolutes: {
        records: records.length,
        seconds: restMs / 1000,
        writes: eachOf(filled.atRest.writes, records.length),
      },
    },
  ];
}

function figureOf(key: string, { requests, children }: Filled, records: number): Figure {
  const perRecord = total(requests.writes) / records;
  return {
    key,
    goal,
    samples: [perRecord / (children + 2)],
    absolutes: {
      records,
      children,
      writesPerRecord: perRecord,
      dryRunsPerRecord: total(requests.dryRuns) / records,
      readsPerRecord: total(requests.reads) / records,
      throttled: requests.throttled,
      writes: eachOf(requests.writes, records),
    },
  };
}
