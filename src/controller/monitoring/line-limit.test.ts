import { expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { makeLineLimit } from './line-limit.ts';

it('what flaps for an hour gets a burst and then a line a minute, which says how many are missing', () => {
  const clock = makeFakeClock();
  const limit = makeLineLimit(clock.elapsed);
  const lines: number[] = [];
  for (let second = 0; second < 3600; second += 1) {
    const allowed = limit.take('flapping');
    if (allowed) lines.push(allowed.suppressed);
    clock.advanceSync(1000);
  }
  expect(lines.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 0));
  expect(lines.length).toBeGreaterThanOrEqual(88);
  expect(lines.length).toBeLessThanOrEqual(90);
  expect(lines.at(-1)).toBe(59);
});

it('does not limit another subject, nor one of the same name after the first is gone', () => {
  const limit = makeLineLimit(() => 0);
  for (let line = 0; line < 100; line += 1) limit.take('flapping');
  expect(limit.take('flapping')).toBeUndefined();
  expect(limit.take('quiet')).toEqual({ suppressed: 0 });
  limit.forget('flapping');
  expect(limit.take('flapping')).toEqual({ suppressed: 0 });
});

it('remembers ten thousand subjects: those that were silent longest are forgotten', () => {
  const limit = makeLineLimit(() => 0);
  for (let line = 0; line < 100; line += 1) limit.take('early');
  for (let line = 0; line < 100; line += 1) limit.take('late');
  for (let other = 0; other < 9999; other += 1) limit.take(`other ${other}`);
  expect(limit.take('early')).toEqual({ suppressed: 0 });
  expect(limit.take('late')).toEqual({ suppressed: 0 });
  expect(limit.take('other 9998')).toEqual({ suppressed: 0 });
});
