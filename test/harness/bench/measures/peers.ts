// P2: against an operator on controller-runtime; P3: against one on kopf, and one in TypeScript without a runtime.

import { absolutesOf, compare, walls } from '../compare.ts';
import { davit } from '../contenders/davit.ts';
import { type Figure, type Goal, median, ratios, spreadOf } from '../figures.ts';
import { type Fills, fillsOf } from '../fills.ts';
import type { Bench, Measure } from '../measure.ts';
import { checkPeer } from '../peers/check.ts';
import { kopf } from '../peers/kopf.ts';
import { naive } from '../peers/naive.ts';
import { eachOf } from '../server-counts.ts';

const asFast: Goal = { atMost: 1 };
const aFifth: Goal = { atMost: 0.2 };
const half: Goal = { atMost: 0.5 };

/** More would take these arms the whole afternoon. */
const SLOW_RECORDS = 200;
const MOST_REPEATS = 3;

export const controllerRuntimePeer: Measure = { key: 'P2', goal: asFast, run: measureControllerRuntime };
export const slowPeers: Measure = { key: 'P3', goal: aFifth, run: measureSlow };

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

async function measureSlow(bench: Bench): Promise<readonly Figure[]> {
  const records = Math.min(SLOW_RECORDS, bench.records);
  const { workers } = bench;
  const [inPython, inTypeScript] = [kopf({ workers }), naive({ workers })];
  // oxlint-disable-next-line no-await-in-loop -- one server at a time
  for (const peer of [inPython, inTypeScript]) await checkPeer(bench, peer);
  const repeats = Math.min(MOST_REPEATS, bench.repeats);
  const results = await compare(bench, { arms: [davit(bench), inPython, inTypeScript], records, repeats });
  const wall = ratios(walls(results, 'davit'), walls(results, inPython.name));
  const rss = ratios(memories(results, 'davit'), memories(results, inPython.name));
  const toNaive = {
    wallToNaive: median(ratios(walls(results, 'davit'), walls(results, inTypeScript.name))),
    rssToNaive: median(ratios(memories(results, 'davit'), memories(results, inTypeScript.name))),
  };
  return [
    { key: 'P3.wall', goal: aFifth, samples: wall, absolutes: { ...told(bench, results, records), ...toNaive } },
    { key: 'P3.rss', goal: half, samples: rss, absolutes: { records } },
  ];
}

function memories(results: Fills, arm: string): number[] {
  return (results.get(arm) ?? []).map(({ rssMiB }) => rssMiB);
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
