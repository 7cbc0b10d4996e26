// P2: against an operator on controller-runtime.

import { absolutesOf, walls } from '../compare.ts';
import { type Figure, type Goal, median, ratios, spreadOf } from '../figures.ts';
import { type Fills, fillsOf } from '../fills.ts';
import type { Bench, Measure } from '../measure.ts';
import { eachOf } from '../server-counts.ts';

const asFast: Goal = { atMost: 1 };

export const controllerRuntimePeer: Measure = { key: 'P2', goal: asFast, run: measureControllerRuntime };

async function measureControllerRuntime(bench: Bench): Promise<readonly Figure[]> {
  const { records } = bench;
  const fills = await fillsOf(bench);
  return [
    {
      key: 'P2',
      goal: asFast,
      samples: ratios(walls(fills, 'davit'), walls(fills, 'controller-runtime')),
      absolutes: told(bench, fills, records),
    },
  ];
}

/** Every arm's absolutes, and who was the fastest, also when that is not Davit. */
function told(bench: Bench, results: Fills, records: number): Record<string, number | string> {
  const arms = [...results.keys()].toSorted((a, b) => median(walls(results, a)) - median(walls(results, b)));
  const seconds = arms.map((arm) => {
    const { median: middle, min, max } = spreadOf(walls(results, arm));
    return `${arm} ${[middle, min, max].map((wall) => (wall / 1000).toFixed(1)).join('/')} s`;
  });
  bench.say(`  fastest first (median/least/most): ${seconds.join(', ')}`);
  const absolutes = arms.map((arm) => ({
    ...absolutesOf(results, arm, records),
    [`${arm}Writes`]: eachOf(results.get(arm)?.[0]?.requests.writes ?? new Map(), records),
  }));
  return Object.assign({ records, fastest: arms[0] ?? '' }, ...absolutes);
}
