// A long step that prints nothing is said again, with its time.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sayingSteps } from './steps-said.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('repeats the last line while nothing new is said, and nothing when all is done', () => {
  const lines: string[] = [];
  const { say, done } = sayingSteps((line) => lines.push(line));
  vi.advanceTimersByTime(60_000);
  expect(lines).toEqual([]);
  say('Image: building it');
  vi.advanceTimersByTime(14_000);
  say('Image: packing it');
  vi.advanceTimersByTime(14_000);
  expect(lines).toEqual(['Image: building it', 'Image: packing it']);
  vi.advanceTimersByTime(26_000);
  expect(lines.slice(2)).toEqual(['  still, after 20 s: Image: packing it', '  still, after 40 s: Image: packing it']);
  done();
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(4);
});
