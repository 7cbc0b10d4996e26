import { expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { Unavailable } from '../errors.ts';
import { makeConnectionBackoff } from './connection-backoff.ts';

const broken = new Error('connection reset');

it('waits longer from one failure to the next, up to half a minute, and resets after a word', () => {
  const contact = makeConnectionBackoff(makeFakeClock(), () => 1);
  const pauses = Array.from({ length: 9 }, () => contact.failed(broken).waitMs);
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  contact.heard();
  expect(contact.failed(broken)).toEqual({ waitMs: 500, failures: 1 });
});

it('waits as long as the server asks, and never less than half a pause', () => {
  const contact = makeConnectionBackoff(makeFakeClock(), () => 0);
  expect(contact.failed(broken).waitMs).toBe(250);
  expect(contact.failed(new Unavailable('busy', { retryAfterMs: 7000 })).waitMs).toBe(7000);
});

it('says since when nothing but failures came, and the last of them', async () => {
  const clock = makeFakeClock();
  const contact = makeConnectionBackoff(clock, () => 0);
  expect(contact.status()).toEqual({});
  contact.heard();
  await clock.advance(100);
  contact.failed(broken);
  await clock.advance(50);
  contact.failed('a surprise');
  expect(contact.status()).toEqual({ failingForMs: 50, lastError: 'a surprise' });
  contact.heard();
  expect(contact.status()).toEqual({});
});

it('forgives the first failure in a row, and no second', () => {
  const contact = makeConnectionBackoff(makeFakeClock(), () => 1);
  expect([contact.forgive(), contact.forgive()]).toEqual([true, false]);
  expect(contact.failed(broken)).toEqual({ waitMs: 1000, failures: 2 });
  contact.heard();
  expect(contact.forgive()).toBe(true);
});
