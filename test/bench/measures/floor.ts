// P1: how near to the replay floor; P12: whether a record costs more the more there are.

import { davit } from '../arms/davit.ts';
import { replay } from '../arms/replay.ts';
import { absolutesOf, compare, walls } from '../compare.ts';
import { type Figure, type Goal, median, ratios, rounded } from '../figures.ts';
import { fill } from '../fill.ts';
import type { Bench, Measure } from '../measure.ts';

const floorGoal: Goal = { atMost: 1.1 };
const growthGoal: Goal = { atMost: 1.2 };

export const floor: Measure = { key: 'P1', goal: floorGoal, run: measureFloor };
export const growth: Measure = { key: 'P12', goal: growthGoal, run: measureGrowth };

async function measureFloor(bench: Bench): Promise<readonly Figure[]> {
  const alone = await againstFloor(bench, 'P1', bench.repeats, false);
  if (bench.quick) return [alone];
  // With all that a whole cluster does beside it; once, since what is measured then is mostly the others.
  return [alone, await againstFloor(bench, 'P1.controllers', 1, true)];
}

async function againstFloor(bench: Bench, key: string, repeats: number, controllers: boolean): Promise<Figure> {
  const { records } = bench;
  const arms = [davit(bench), replay(bench)];
  const results = await compare(bench, { arms, records, repeats, controllers });
  return {
    key,
    goal: floorGoal,
    samples: ratios(walls(results, 'davit'), walls(results, 'replay')),
    absolutes: { records, ...absolutesOf(results, 'davit', records), ...absolutesOf(results, 'replay', records) },
  };
}

async function measureGrowth(bench: Bench): Promise<readonly Figure[]> {
  const sizes = [bench.records / 10, bench.records, ...(bench.quick ? [] : [bench.records * 10])].map(Math.ceil);
  const perRecord: number[] = [];
  const absolutes: Record<string, number> = {};
  for (const records of sizes) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time
    const { wallMs, rssMiB } = await fill(bench, davit(bench), records);
    perRecord.push(wallMs / records);
    absolutes[`msPerRecordAt${records}`] = rounded(wallMs / records);
    absolutes[`rssMiBAt${records}`] = rounded(rssMiB);
    bench.say(`  ${records} records: ${rounded(wallMs / records)} ms each, ${Math.round(rssMiB)} MiB`);
  }
  const [first = 0] = perRecord;
  return [
    { key: 'P12', goal: growthGoal, samples: [Math.max(...perRecord) / Math.min(first, median(perRecord))], absolutes },
  ];
}
