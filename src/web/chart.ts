// The time axis as numbers: which line a series is, where a mark stands, what its table says. Pure.

import type { Usage } from '../deploy/http/usage/payloads.ts';
import { short } from './text.ts';

export type Point = Usage['parts'][number]['cpu'][number];

export const WINDOWS = {
  '1h': { short: '1 h', title: 'Last hour' },
  '6h': { short: '6 h', title: 'Last 6 hours' },
  '24h': { short: '24 h', title: 'Last 24 hours' },
  '7d': { short: '7 d', title: 'Last 7 days' },
} as const;
export type Window = keyof typeof WINDOWS;

/** From a time in seconds, or a value, to pixels. */
export type Scale = (of: number) => number;

export function scale([from, to]: readonly [number, number], [left, right]: readonly [number, number]): Scale {
  return (of) => Math.round((left + ((of - from) / (to - from || 1)) * (right - left)) * 10) / 10;
}

/** The upper end of an axis: a round number above what was used, and above the limit unless that is far away. */
export function topOf(points: readonly Point[], limit: number | null): number {
  const most = Math.max(0, ...points.map(([, value]) => value));
  const isFar = limit !== null && limit > most * 5;
  const wanted = Math.max(isFar ? most * 1.25 : Math.max(most, limit ?? 0) * 1.1, 1e-3);
  const size = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((step) => step * size >= wanted * 0.9999) ?? 10) * size;
}

/** Parts of a line: where nothing was measured for longer than a poll is late, there is none. */
export function runsOf(points: readonly Point[], stepSeconds: number): Point[][] {
  const longest = Math.max(3 * stepSeconds, 90);
  const runs: Point[][] = [];
  for (const point of points) {
    const last = runs.at(-1)?.at(-1);
    if (last === undefined || point[0] - last[0] > longest) runs.push([point]);
    else runs.at(-1)?.push(point);
  }
  return runs;
}

/** As an SVG path. One point alone is a dot: its end is round. */
export function lineOf(run: readonly Point[], x: Scale, y: Scale): string {
  const places = run.map(([time, value]) => `${x(time)} ${y(value)}`);
  return places.length === 1 ? `M${places[0] ?? ''}h0` : `M${places.join('L')}`;
}

/** The same down to the axis. */
export function areaOf(run: readonly Point[], x: Scale, y: Scale): string {
  return `${lineOf(run, x, y)}V${y(0)}H${x(run[0]?.[0] ?? 0)}Z`;
}

export interface Mark {
  readonly kind: 'revision' | 'crash' | 'operation';
  /** Seconds since 1970. */
  readonly at: number;
  /** Of an operation; that of the window while it has not ended. */
  readonly until?: number;
  readonly label: string;
}

/** Oldest first. Crashes are those of the part. */
export function marksOf({ revisions, crashes, operations, end }: Usage, part: string): Mark[] {
  const seconds = (time: string): number => Date.parse(time) / 1000;
  const ofPart = crashes.filter((crash) => crash.part === part);
  const marks: Mark[] = [
    ...revisions.map(({ id, at }) => ({ kind: 'revision', at: seconds(at), label: `revision ${short(id)}` }) as const),
    ...ofPart.map(
      ({ at, container, reason, exit_code: code }) =>
        ({
          kind: 'crash',
          at: seconds(at),
          label:
            reason === 'OOMKilled' ? `${container} ran out of memory` : `${container} exited with exit code ${code}`,
        }) as const,
    ),
    ...operations.map(
      ({ at, ended_at: ended, action, name }) =>
        ({ kind: 'operation', at: seconds(at), until: seconds(ended ?? end), label: `${action} ${name}` }) as const,
    ),
  ];
  return marks.toSorted((a, b) => a.at - b.at);
}

/** Those labels of revisions, by place, that do not cover one another. */
export function labelled(marks: readonly Mark[], x: Scale, width: number): ReadonlySet<Mark> {
  const shown = new Set<Mark>();
  let free = Number.NEGATIVE_INFINITY;
  for (const mark of marks) {
    if (mark.kind !== 'revision' || x(mark.at) < free) continue;
    shown.add(mark);
    free = x(mark.at) + width;
  }
  return shown;
}

export interface Row {
  /** Seconds since 1970. */
  readonly at: number;
  readonly cpu: number | undefined;
  readonly memoryMb: number | undefined;
  readonly ready: number | undefined;
  readonly restarts: number | undefined;
  readonly what: readonly string[];
}

/** Most rows of the table. */
const MOST_ROWS = 24;

/** Newest first: the last measurements in each of 24 spans of the window, the most memory, and what happened meanwhile. */
export function rowsOf(usage: Usage, part: Usage['parts'][number]): Row[] {
  const [start, end] = [Date.parse(usage.start) / 1000, Date.parse(usage.end) / 1000];
  const span = (end + usage.step_seconds - start) / MOST_ROWS;
  const marks = marksOf(usage, part.part);
  const rows = Array.from({ length: MOST_ROWS }, (_, n): Row => {
    const [from, to] = [start + n * span, start + (n + 1) * span];
    const isIn = (time: number): boolean => time >= from && time < to;
    const of = (points: readonly Point[]): number[] => points.filter(([time]) => isIn(time)).map(([, value]) => value);
    const memory = of(part.memory_mb);
    return {
      at: from,
      cpu: of(part.cpu).at(-1),
      memoryMb: memory.length === 0 ? undefined : Math.max(...memory),
      ready: of(part.ready).at(-1),
      restarts: of(part.restarts).at(-1),
      what: marks.filter(({ at }) => isIn(at)).map(({ label }) => label),
    };
  });
  return rows
    .filter(({ cpu, memoryMb, what }) => cpu !== undefined || memoryMb !== undefined || what.length > 0)
    .toReversed();
}
