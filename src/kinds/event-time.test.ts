import { expect, it } from 'vitest';
import { lastTime, lastTimeMs } from './event-time.ts';

const NOW = Date.parse('2026-02-02T12:00:00Z');
const metadata = { creationTimestamp: '2026-02-02T11:00:00Z' };
const [EARLIER, AHEAD, FUTURE] = ['2026-02-02T11:30:00Z', '2026-02-02T12:01:00Z', '2026-02-02T12:01:01Z'];

it.each([
  ['of a series', { series: { lastObservedTime: EARLIER }, eventTime: '2026-02-02T11:10:00Z' }, EARLIER],
  ['of v1', { lastTimestamp: EARLIER, eventTime: null }, EARLIER],
  ['of older clients', { deprecatedLastTimestamp: EARLIER }, EARLIER],
  ['of one event', { eventTime: EARLIER }, EARLIER],
  ['of nobody', { eventTime: null, lastTimestamp: null }, metadata.creationTimestamp],
  ['of a node whose clock is a minute ahead', { eventTime: AHEAD }, AHEAD],
  ['of the future', { eventTime: FUTURE }, metadata.creationTimestamp],
  [
    'of the future, beside another one',
    { series: { lastObservedTime: FUTURE }, eventTime: EARLIER },
    '2026-02-02T11:00:00Z',
  ],
  ['that is none', { eventTime: 'soon' }, metadata.creationTimestamp],
])('takes the time %s', (_what, event, time) => {
  expect(lastTime({ metadata, ...event }, NOW)).toBe(time);
});

it('is 0 where nothing is known', () => {
  expect(lastTimeMs({ metadata: {} }, NOW)).toBe(0);
});
