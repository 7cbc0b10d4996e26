import { pino } from 'pino';
import { expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { publishKeys } from './publish-keys.ts';

const log = pino({ level: 'silent' });

it('asks until the keys are there, and then no more', async () => {
  const clock = makeFakeClock();
  let asked = 0;
  const done = publishKeys(
    async () => {
      asked += 1;
      if (asked < 3) throw new Error('the API server is not there yet');
    },
    { clock, log, signal: new AbortController().signal },
  );
  await clock.advance(60_000);
  await done;
  expect(asked).toBe(3);
  expect(clock.pending).toBe(0);
});

it('ends with its process', async () => {
  const clock = makeFakeClock();
  const process = new AbortController();
  const done = publishKeys(() => Promise.reject(new Error('never')), { clock, log, signal: process.signal });
  await clock.advance(0);
  process.abort();
  await done;
  expect(clock.pending).toBe(0);
});
