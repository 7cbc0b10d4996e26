import { expect, it } from 'vitest';
import { MOST_BYTES, MOST_BYTES_EACH, makeHistory, type Sample } from './history.ts';
import { stepsOf } from './queries.ts';

const START = 1_800_000_000;
const sample = (more: Partial<Sample> = {}): Sample => ({ cpu: 0.5, memory_mb: 100, ready: 1, restarts: 0, ...more });
const of = (one: Sample, parts = ['server']): ReadonlyMap<string, Sample> => new Map(parts.map((part) => [part, one]));

it('keeps a sample every 15 s, and gives them on the steps of a window', () => {
  const history = makeHistory();
  for (let at = 0; at <= 60; at += 5) history.add('shop', START + at, of(sample({ cpu: at, memory_mb: null })));
  const { cpu, memory_mb: memory } = history.measured('shop', stepsOf('1h', START + 60)).get('server') ?? {};
  expect(cpu).toEqual([0, 15, 30, 45, 60].map((at) => [START + at, at]));
  expect(memory).toEqual([]);
});

it('joins what lies between two steps: the mean, the fullest, the last', () => {
  const history = makeHistory();
  const rows = [sample(), sample({ cpu: 1, memory_mb: 300, ready: 2, restarts: 1 }), sample({ cpu: 0.6, restarts: 1 })];
  rows.forEach((row, n) => history.add('shop', START + 30 * n, of(row)));
  expect(history.measured('shop', stepsOf('6h', START + 60)).get('server')).toEqual({
    cpu: [[START, 0.7]],
    memory_mb: [[START, 300]],
    ready: [[START, 1]],
    restarts: [[START, 1]],
  });
});

it('forgets what is older than an hour, and all of it when the parts change', () => {
  const history = makeHistory();
  for (let at = 0; at <= 7200; at += 60) history.add('shop', START + at, of(sample()));
  const { cpu } = history.measured('shop', stepsOf('6h', START + 7200)).get('server') ?? {};
  expect([cpu?.[0]?.[0], cpu?.length]).toEqual([START + 3600, 41]);
  history.add('shop', START + 7260, of(sample(), ['server', 'redis']));
  expect(history.measured('shop', stepsOf('1h', START + 7260)).get('server')?.cpu).toHaveLength(1);
});

it('keeps at most 64 KiB of a deployment, and its whole hour, however many parts it has', () => {
  const parts = Array.from({ length: 70 }, (_, n) => `part-${n}`);
  const history = makeHistory();
  for (let at = 0; at <= 3600; at += 1) history.add('shop', START + at, of(sample(), parts));
  expect(history.bytes()).toBeGreaterThan(MOST_BYTES_EACH / 2);
  expect(history.bytes()).toBeLessThanOrEqual(MOST_BYTES_EACH);
  const { cpu = [] } = history.measured('shop', stepsOf('1h', START + 3600)).get('part-69') ?? {};
  expect((cpu.at(-1)?.[0] ?? 0) - (cpu[0]?.[0] ?? 0)).toBeGreaterThan(3300);
});

it('keeps at most 32 MiB in all: what was looked at longest ago is forgotten', () => {
  expect(MOST_BYTES).toBe(32 * 1024 * 1024);
  const history = makeHistory(1000);
  for (const uid of ['a', 'b', 'c', 'd', 'e']) history.add(uid, START, of(sample()));
  history.add('a', START + 15, of(sample()));
  history.add('f', START + 15, of(sample()));
  expect(history.bytes()).toBeLessThanOrEqual(1000);
  const steps = stepsOf('1h', START + 15);
  expect(['a', 'b', 'c', 'd', 'f'].map((uid) => history.measured(uid, steps).size)).toEqual([1, 0, 0, 1, 1]);
});
