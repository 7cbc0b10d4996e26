import { expect, it } from 'vitest';
import { type TrailEvent, withEvent } from './trail.ts';

const event = (more: Partial<TrailEvent> = {}): TrailEvent => ({
  event: 'link',
  at: '2026-01-01T00:00:00Z',
  provider: 'tracker',
  user: 'ada',
  account: 'agent',
  ...more,
});
const added = (...events: readonly TrailEvent[]): string[] =>
  events.reduce<TrailEvent[]>(withEvent, []).map((one) => `${one.event} ${one.tokenId ?? ''} ${one.account}`);

it('keeps each event, but of a token that is given or refreshed the last of each caller', () => {
  const given = event({ event: 'given', tokenId: 'a' });
  const refreshed = event({ event: 'refreshed', tokenId: 'a' });
  expect(
    added(
      event(),
      event(),
      given,
      refreshed,
      { ...given, account: 'other' },
      { ...given, tokenId: 'b' },
      refreshed,
      given,
    ),
  ).toEqual(['link  agent', 'link  agent', 'given a other', 'given b agent', 'refreshed a agent', 'given a agent']);
});

it('keeps the last 200, and fewer of long ones', () => {
  const all = Array.from({ length: 300 }, (_, n) => event({ user: `u${n}` }));
  const kept = all.reduce<TrailEvent[]>(withEvent, []);
  expect([kept.length, kept[0]?.user, kept.at(-1)?.user]).toEqual([200, 'u100', 'u299']);
  const long = all.map((one) => ({ ...one, agentId: '\u00e9'.repeat(256), user: '\u00e9'.repeat(256) }));
  const bytes = Buffer.byteLength(JSON.stringify(long.reduce<TrailEvent[]>(withEvent, [])));
  expect([bytes < 128 * 1024, bytes > 120 * 1024]).toEqual([true, true]);
});
