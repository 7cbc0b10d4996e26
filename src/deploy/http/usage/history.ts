// What metrics-server said in the last hour about the deployments that somebody looks at. Pure.

import { MEASURES, type Measure, type Measured, ofEach, type Point, type Steps } from './queries.ts';

/** What a part used and how its pods were at one time; null where that is not known. */
export type Sample = Readonly<Record<Measure, number | null>>;

export interface History {
  /** `at` in seconds since 1970. Without effect before the next sample is due. */
  add(uid: string, at: number, samples: ReadonlyMap<string, Sample>): void;
  /** A point has what was sampled from its time to the next: the mean of CPU, the most memory, the last of what is counted. */
  measured(uid: string, steps: Steps): Measured;
  /** Bytes that are kept. */
  bytes(): number;
}

const KEPT_SECONDS = 3600;
/** Metrics-server looks no more often. */
const LEAST_SECONDS_BETWEEN = 15;
export const MOST_BYTES_EACH = 64 * 1024;
export const MOST_BYTES = 32 * 1024 * 1024;
/** What the process needs for a row besides its numbers. */
const ROW_BYTES = 160;

interface Kept {
  readonly parts: readonly string[];
  /** Oldest first. The numbers of a row are in the order of the parts. NaN: not known. */
  readonly rows: readonly { readonly at: number; readonly numbers: Float64Array }[];
}

export function makeHistory(mostBytes = MOST_BYTES): History {
  /** What was written last stands last. */
  const kept = new Map<string, Kept>();
  let bytes = 0;
  function put(uid: string, next?: Kept): void {
    bytes += bytesOf(next) - bytesOf(kept.get(uid));
    kept.delete(uid);
    if (next !== undefined) kept.set(uid, next);
  }
  return {
    bytes: () => bytes,
    add(uid, at, samples) {
      const parts = [...samples.keys()];
      const before = kept.get(uid);
      // Rows of other parts have other numbers.
      const rows = before?.parts.join() === parts.join() ? before.rows : [];
      const size = rowBytes(parts);
      const between = Math.max(LEAST_SECONDS_BETWEEN, Math.ceil((KEPT_SECONDS * size) / (MOST_BYTES_EACH - size)));
      if (at - (rows.at(-1)?.at ?? 0) < between) return;
      const numbers = parts.flatMap((part) => MEASURES.map((measure) => samples.get(part)?.[measure] ?? Number.NaN));
      const row = { at, numbers: Float64Array.from(numbers) };
      put(uid, { parts, rows: [...rows.filter((old) => old.at > at - KEPT_SECONDS), row] });
      for (const [oldest] of kept) if (bytes > mostBytes) put(oldest);
    },
    measured(uid, steps) {
      const { parts, rows } = kept.get(uid) ?? { parts: [], rows: [] };
      const pointsAt = (column: number, measure: Measure): Point[] => {
        const found = new Map<number, number[]>();
        for (const { at, numbers } of rows) {
          const time = at - (at % steps.step);
          const value = numbers[column] ?? Number.NaN;
          if (time < steps.start || Number.isNaN(value)) continue;
          found.set(time, [...(found.get(time) ?? []), value]);
        }
        return [...found].map(([time, values]) => [time, joined(measure, values)]);
      };
      const width = MEASURES.length;
      return new Map(parts.map((part, n) => [part, ofEach((measure, m) => pointsAt(n * width + m, measure))]));
    },
  };
}

function rowBytes(parts: readonly string[]): number {
  return ROW_BYTES + parts.length * MEASURES.length * Float64Array.BYTES_PER_ELEMENT;
}

function bytesOf(one: Kept | undefined): number {
  return one === undefined ? 0 : one.rows.length * rowBytes(one.parts);
}

function joined(measure: Measure, values: readonly number[]): number {
  if (measure === 'memory_mb') return Math.max(...values);
  if (measure !== 'cpu') return values.at(-1) ?? 0;
  return Math.round((values.reduce((sum, value) => sum + value, 0) / values.length) * 1000) / 1000;
}
