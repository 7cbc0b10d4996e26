// P1: how near to the replay floor; P12: whether a record costs more the more there are.

import { absolutesOf, compare, walls } from '../compare.ts';
import { davit } from '../contenders/davit.ts';
import { replay } from '../contenders/replay.ts';
import { type Figure, type Goal, growth as growthOf, ratios, rounded } from '../figures.ts';
import { type Filled, fill } from '../fill.ts';
import { type Fills, fillsOf } from '../fills.ts';
import type { Bench, Measure } from '../measure.ts';
import { inOneNamespace } from '../records.ts';
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
  return [
    await growthFigure('P12', bench, (size) => grown(bench, size)),
    // What looks at a whole namespace for one record shows where all of them are in one.
    await growthFigure('P12.one_namespace', bench, (size) =>
      fill(bench, davit(bench), size, { manyServices: true, records: inOneNamespace(size) }),
    ),
  ];
}

type Grown = Pick<Filled, 'wallMs' | 'rssMiB'>;

async function growthFigure(key: string, bench: Bench, fillWith: (size: number) => Promise<Grown>): Promise<Figure> {
  const { records } = bench;
  const sizes = new Set([Math.ceil(records / 10), records, manyOf(bench)]);
  const perRecord: number[] = [];
  const absolutes: Record<string, number> = {};
  for (const size of sizes) {
    const { wallMs, rssMiB } = await fillWith(size);
    perRecord.push(wallMs / size);
    absolutes[`msPerRecordAt${size}`] = rounded(wallMs / size);
    absolutes[`rssMiBAt${size}`] = rounded(rssMiB);
    bench.say(`  ${key}: ${size} records: ${rounded(wallMs / size)} ms each, ${Math.round(rssMiB)} MiB`);
  }
  return { key, goal: growthGoal, samples: [growthOf(perRecord)], absolutes };
}

/** The most of them from what another measure has filled, where that is taken: all on servers of one kind. */
async function grown(bench: Bench, records: number): Promise<Grown> {
  const { taken } = bench;
  if (records === manyOf(bench) && (taken.has('P6') || taken.has('P7'))) return (await bothOf(bench)).ours.filled;
  return fill(bench, davit(bench), records, { manyServices: true });
}
