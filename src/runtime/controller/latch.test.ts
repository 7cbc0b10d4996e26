import { expect, it } from 'vitest';
import { makeLatch } from './latch.ts';

it('wakes everybody who waits, and lets everybody through after that', async () => {
  const latch = makeLatch();
  const waits = [latch.wait(), latch.wait(new AbortController().signal)];
  expect(latch.isOpen()).toBe(false);
  latch.open();
  latch.open();
  expect(await Promise.all([...waits, latch.wait()])).toEqual([true, true, true]);
  expect(latch.isOpen()).toBe(true);
});

it('waits no longer than its signal says', async () => {
  const latch = makeLatch();
  const gone = new AbortController();
  const wait = latch.wait(gone.signal);
  gone.abort();
  expect([await wait, await latch.wait(gone.signal)]).toEqual([false, false]);
  latch.open();
  expect(await latch.wait(gone.signal)).toBe(true);
});
