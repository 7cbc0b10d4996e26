import { expect, it } from 'vitest';
import { type TokenEvent, withEvent } from './trail.ts';

const event = (more: Partial<TokenEvent> = {}): TokenEvent => ({
  event: 'link',
  at: '2026-01-01T00:00:00Z',
  provider_id: 'tracker',
  user_id: 'ada',
  agent_id: null,
  account: 'agent',
  deployment_id: null,
  deployment: null,
  token_id: null,
  ...more,
});
const added = (...events: readonly TokenEvent[]): string[] =>
  events.reduce<TokenEvent[]>(withEvent, []).map((one) => `${one.event} ${one.token_id ?? ''} ${one.account}`);

it('keeps each event, but of a token that is given or refreshed the last of each caller', () => {
  const given = event({ event: 'given', token_id: 'a' });
  const refreshed = event({ event: 'refreshed', token_id: 'a' });
  expect(
    added(
      event(),
      event(),
      given,
      refreshed,
      { ...given, account: 'other' },
      { ...given, token_id: 'b' },
      refreshed,
      given,
    ),
  ).toEqual(['link  agent', 'link  agent', 'given a other', 'given b agent', 'refreshed a agent', 'given a agent']);
});

it('keeps the last 200, and fewer of long ones', () => {
  const all = Array.from({ length: 300 }, (_, n) => event({ user_id: `u${n}` }));
  const kept = all.reduce<TokenEvent[]>(withEvent, []);
  expect([kept.length, kept[0]?.user_id, kept.at(-1)?.user_id]).toEqual([200, 'u100', 'u299']);
  const long = all.map((one) => ({ ...one, agent_id: '\u00e9'.repeat(256), user_id: '\u00e9'.repeat(256) }));
  const bytes = Buffer.byteLength(JSON.stringify(long.reduce<TokenEvent[]>(withEvent, [])));
  expect([bytes < 128 * 1024, bytes > 120 * 1024]).toEqual([true, true]);
});
