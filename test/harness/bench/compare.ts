// Arms against each other: a fresh server for each, in each repeat one after the other, every other time the other way
// round, so that what slows the machine down meanwhile slows no arm alone.

import { median } from './figures.ts';
import { type Filled, fill } from './fill.ts';
import type { Arm, Bench } from './measure.ts';

export interface CompareOptions {
  readonly arms: readonly Arm[];
  readonly records: number;
  readonly repeats: number;
  readonly controllers?: boolean;
}

/** By arm, one entry a repeat. An arm that fails breaks the whole comparison off: half of one would be none. */
export async function compare(
  bench: Bench,
  { arms, records, repeats, controllers = false }: CompareOptions,
): Promise<ReadonlyMap<string, readonly Filled[]>> {
  const results = new Map<string, Filled[]>(arms.map(({ name }) => [name, []]));
  for (const arm of arms) {
    await arm.prepare?.(bench.say);
  }
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const arm of repeat % 2 === 0 ? arms : arms.toReversed()) {
      const filled = await fill(bench, arm, records, { controllers });
      results.get(arm.name)?.push(filled);
      bench.say(`  ${repeat + 1}/${repeats} ${arm.name}: ${described(filled, records)}`);
    }
  }
  return results;
}

/** Of an arm's repeats. Throws for an arm that did not run. */
export function walls(results: ReadonlyMap<string, readonly Filled[]>, arm: string): number[] {
  const filled = results.get(arm);
  if (filled === undefined) throw new Error(`there was no arm ${arm}`);
  return filled.map(({ wallMs }) => wallMs);
}

/** The medians of an arm, each under a name with its unit. */
export function absolutesOf(
  results: ReadonlyMap<string, readonly Filled[]>,
  arm: string,
  records: number,
): Record<string, number> {
  const filled = results.get(arm) ?? [];
  const of = (value: (one: Filled) => number): number => Math.round(median(filled.map(value)) * 100) / 100;
  return {
    [`${arm}WallS`]: of(({ wallMs }) => wallMs / 1000),
    [`${arm}CpuMsPerRecord`]: of(({ cpuMs }) => cpuMs / records),
    [`${arm}RssMiB`]: of(({ rssMiB }) => rssMiB),
    [`${arm}WritesPerS`]: of(({ wallMs, requests }) => (requests.written / wallMs) * 1000),
  };
}

function described({ wallMs, cpuMs, rssMiB, readyMs, requests }: Filled, records: number): string {
  return [
    `${(wallMs / 1000).toFixed(2)} s`,
    `${(requests.written / records).toFixed(2)} writes and ${(cpuMs / records).toFixed(1)} CPU-ms a record`,
    `${Math.round((requests.written / wallMs) * 1000)} writes/s`,
    `${Math.round(rssMiB)} MiB`,
    `ready after ${(readyMs / 1000).toFixed(2)} s`,
  ].join(', ');
}
