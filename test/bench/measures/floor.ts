// P1: how near to the replay floor; P12: whether a record costs more the more there are.

import { davit } from '../arms/davit.ts';
import { replay } from '../arms/replay.ts';
import { absolutesOf, compare, walls } from '../compare.ts';
import { type Figure, type Goal, growth as growthOf, ratios, rounded } from '../figures.ts';
import { type Filled, fill } from '../fill.ts';
import { type Fills, fillsOf } from '../fills.ts';
import type { Bench, Measure } from '../measure.ts';
import { bothOf, manyOf } from './restart.ts';

const floorGoal: Goal = { atMost: 1.1 };
const growthGoal: Goal = { atMost: 1.2 };

export const floor: Measure = { key: 'P1', goal: floorGoal, run: measureFloor };
export const growth: Measure = { key: 'P12', goal: growthGoal, run: measureGrowth };

async function measureFloor(bench: Bench): Promise<readonly Figure[]> {
  const alone = figureOf('P1', await fillsOf(bench), bench.records);
  if (bench.quick) return [alone];
  // With all that a whole cluster does beside it; once, since what is measured then is mostly the others.
  const { records } = bench;
  const arms = [davit(bench), replay(bench)];
  const beside = await compare(bench, { arms, records, repeats: 1, controllers: true });
  return [alone, figureOf('P1.controllers', beside, records)];
}

function figureOf(key: string, fills: Fills, records: number): Figure {
  return {
    key,
    goal: floorGoal,
    samples: ratios(walls(fills, 'davit'), walls(fills, 'replay')),
    absolutes: { records, ...absolutesOf(fills, 'davit', records), ...absolutesOf(fills, 'replay', records) },
  };
}

async function measureGrowth(bench: Bench): Promise<readonly Figure[]> {
  const { records } = bench;
  const sizes = new Set([Math.ceil(records / 10), records, manyOf(bench)]);
  const perRecord: number[] = [];
  const absolutes: Record<string, number> = {};
  for (const size of sizes) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time
    const { wallMs, rssMiB } = await grown(bench, size);
    perRecord.push(wallMs / size);
    absolutes[`msPerRecordAt${size}`] = rounded(wallMs / size);
    absolutes[`rssMiBAt${size}`] = rounded(rssMiB);
    bench.say(`  ${size} records: ${rounded(wallMs / size)} ms each, ${Math.round(rssMiB)} MiB`);
  }
  return [{ key: 'P12', goal: growthGoal, samples: [growthOf(perRecord)], absolutes }];
}

/** The most of them from what another measure has filled, where that is taken: all on servers of one kind. */
async function grown(bench: Bench, records: number): Promise<Pick<Filled, 'wallMs' | 'rssMiB'>> {
  const { taken } = bench;
  if (records === manyOf(bench) && (taken.has('P6') || taken.has('P7'))) return (await bothOf(bench)).ours.filled;
  return fill(bench, davit(bench), records, { manyServices: true });
}
