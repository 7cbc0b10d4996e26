import { describe, expect, it } from 'vitest';
import type { Usage } from '../deploy/http/usage/payloads.ts';
import { areaOf, labelled, lineOf, marksOf, type Point, rowsOf, runsOf, scale, topOf } from './chart.ts';

const START = Date.parse('2026-01-01T00:00:00Z') / 1000;
const at = (seconds: number): string => new Date((START + seconds) * 1000).toISOString();
const part = (more: Partial<Usage['parts'][number]> = {}): Usage['parts'][number] => ({
  part: 'server',
  wanted: 1,
  now: null,
  request: { cpu: null, memory_mb: null },
  limit: { cpu: null, memory_mb: null },
  cpu: [],
  memory_mb: [],
  ready: [],
  restarts: [],
  ...more,
});
const usage = (more: Partial<Usage> = {}): Usage => ({
  source: 'prometheus',
  since: at(0),
  missing: null,
  start: at(0),
  end: at(3585),
  step_seconds: 15,
  parts: [],
  revisions: [],
  crashes: [],
  operations: [],
  ...more,
});

it.each<[string, Point[], number | null, number]>([
  ['nothing', [], null, 0.001],
  ['a limit that is near', [[START, 0.4]], 1, 1.2],
  ['a limit that is far away', [[START, 0.01]], 1, 0.015],
  ['more than the limit', [[START, 600]], 512, 800],
  ['no limit', [[START, 410]], null, 500],
])('the axis for %s ends at a round number', (_what, points, limit, top) => {
  expect(topOf(points, limit)).toBeCloseTo(top, 6);
});

describe('a line', () => {
  const [x, y] = [scale([START, START + 100], [0, 100]), scale([0, 10], [50, 0])];

  it('goes from point to point, and its area down to the axis', () => {
    const run: Point[] = [
      [START, 0],
      [START + 50, 5],
    ];
    expect([lineOf(run, x, y), areaOf(run, x, y)]).toEqual(['M0 50L50 25', 'M0 50L50 25V50H0Z']);
  });

  it('of one point is a dot', () => {
    expect(lineOf([[START, 10]], x, y)).toBe('M0 0h0');
  });

  it('ends where nothing was measured for long', () => {
    const points: Point[] = [0, 15, 100, 191, 400].map((seconds) => [START + seconds, 1]);
    expect(runsOf(points, 15).map((run) => run.length)).toEqual([3, 1, 1]);
    expect(runsOf(points, 90)).toHaveLength(1);
  });
});

describe('marks', () => {
  const crash = { pod: 'shop-0', container: 'server', exit_code: 137, reason: 'OOMKilled' };
  const all = usage({
    revisions: [{ id: '4c1d0000-0000-4000-8000-000000000000', at: at(60) }],
    crashes: [
      { ...crash, at: at(300), part: 'server' },
      { ...crash, at: at(200), part: 'server', reason: 'Error', exit_code: 3 },
      { ...crash, at: at(100), part: 'jobs' },
    ],
    operations: [{ name: 'nightly', action: 'Backup', at: at(30), ended_at: null }],
  });

  it('are those of the part and of the whole deployment, oldest first', () => {
    expect(marksOf(all, 'server').map(({ kind, label, until }) => [kind, label, until])).toEqual([
      ['operation', 'Backup nightly', START + 3585],
      ['revision', 'revision 4c1d0000', undefined],
      ['crash', 'server exited with exit code 3', undefined],
      ['crash', 'server ran out of memory', undefined],
    ]);
  });

  it('have labels that do not cover one another', () => {
    const marks = [0, 10, 80, 90].map((seconds) => ({ kind: 'revision', at: START + seconds, label: '' }) as const);
    const shown = labelled(marks, scale([START, START + 100], [0, 100]), 72);
    expect(marks.map((mark) => shown.has(mark))).toEqual([true, false, true, false]);
  });

  it('stand in the table, newest first, beside what was measured', () => {
    const rows = rowsOf(
      all,
      part({
        cpu: [
          [START, 0.1],
          [START + 15, 0.2],
        ],
        memory_mb: [
          [START, 9],
          [START + 15, 7],
        ],
      }),
    );
    expect(rows).toEqual([
      {
        at: START + 300,
        cpu: undefined,
        memoryMb: undefined,
        ready: undefined,
        restarts: undefined,
        what: ['server ran out of memory'],
      },
      {
        at: START + 150,
        cpu: undefined,
        memoryMb: undefined,
        ready: undefined,
        restarts: undefined,
        what: ['server exited with exit code 3'],
      },
      {
        at: START,
        cpu: 0.2,
        memoryMb: 9,
        ready: undefined,
        restarts: undefined,
        what: ['Backup nightly', 'revision 4c1d0000'],
      },
    ]);
  });
});
