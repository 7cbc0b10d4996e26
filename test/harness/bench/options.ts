// What was asked for on the command line. Pure; every mistake says what would have been right.

import type { Bench, Measure } from './measure.ts';

/** As parseArgs gives them. */
export interface Asked {
  readonly quick: boolean;
  readonly records?: string | undefined;
  readonly repeats?: string | undefined;
  readonly workers?: string | undefined;
}

/** What the goals are for. */
export const FULL = { records: 1000, repeats: 5 };
const QUICK = { records: 60, repeats: 1 };
/** As src/main/config.ts has it where nothing is set. */
const WORKERS = 8;

export function sizeOf(asked: Asked): Pick<Bench, 'records' | 'repeats' | 'quick' | 'workers'> {
  const size = asked.quick ? QUICK : FULL;
  return {
    quick: asked.quick,
    records: numberOf('records', asked.records, size.records),
    repeats: numberOf('repeats', asked.repeats, size.repeats),
    workers: numberOf('workers', asked.workers, WORKERS),
  };
}

function numberOf(option: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${option} ${text}: give a whole number from 1 on`);
  return Number(text);
}

/** The measures named in `only` (`P1,P4`), in their own order; all without it. */
export function chosen(measures: readonly Measure[], only: string | undefined): readonly Measure[] {
  if (only === undefined) return measures;
  const keys = new Set(only.split(',').map((key) => key.trim().toUpperCase()));
  const known = measures.map(({ key }) => key);
  const unknown = [...keys].filter((key) => !known.includes(key));
  if (unknown.length > 0) throw new Error(`--only ${unknown.join(',')}: there are ${known.join(', ')}`);
  return measures.filter(({ key }) => keys.has(key));
}
