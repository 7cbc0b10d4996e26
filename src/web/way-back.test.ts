// What the page makes of the address that it was opened with, and of what its tab has kept.

import { describe, expect, it } from 'vitest';
import { type Kept, keptIn, whatNow } from './way-back.ts';

const flow = { state: 'mine', nonce: 'n', verifier: 'v' };
const kept: Kept = { flow, tenant: 'team-a', fragment: '#/new', at: 1_000_000 };
const MINUTE = 60_000;
const next = (query: string, before: Kept | undefined, tab?: string, ms = 1_000_000) =>
  whatNow(new URLSearchParams(query), before, tab, ms);

describe('without an answer', () => {
  it.each([
    ['a new tab asks the person', '', undefined, undefined, 'ask'],
    ['a reload asks the issuer', '', undefined, 'team-a', 'go silently'],
    ['... also of who has named no tenant', '', undefined, '', 'go silently'],
    ['who has turned back on the way is asked', '', kept, undefined, 'ask'],
    ['other parameters mean nothing', 'code=1&utm_source=x', kept, undefined, 'ask'],
  ])('%s', (_what, query, before, tab, is) => {
    expect(next(query, before, tab).next).toBe(is);
  });
});

describe('an answer', () => {
  it.each(['code=1&state=mine', 'error=access_denied&state=mine', 'iss=x&state=mine&code=1'])(
    'that was asked for is taken: %s',
    (query) => {
      expect(next(query, kept, 'team-a')).toEqual({ next: 'finish', flow });
    },
  );

  it.each([
    ['a foreign state', 'code=1&state=foreign', kept],
    ['a guessed beginning', 'code=1&state=min', kept],
    ['no state', 'code=1&state=', kept],
    ['a state that was used already', 'code=1&state=mine', undefined],
  ])('with %s is none of this tab', (_what, query, before) => {
    const now = next(query, before, 'team-a');
    expect(now).toMatchObject({ next: 'relay', otherwise: expect.stringContaining('did not ask for this answer') });
  });

  it('counts for ten minutes, by a clock that may be set back', () => {
    const at = (minutes: number): string =>
      next('code=1&state=mine', kept, undefined, 1_000_000 + minutes * MINUTE).next;
    expect([at(9), at(11), at(-11)]).toEqual(['finish', 'relay', 'relay']);
  });
});

it.each([
  null,
  '',
  '{',
  '"text"',
  '{}',
  JSON.stringify({ ...kept, flow: { state: 'mine' } }),
  JSON.stringify({ ...kept, flow: null }),
  JSON.stringify({ ...kept, at: 'now' }),
  JSON.stringify({ ...kept, fragment: 7 }),
])('what the page has not kept counts for nothing: %s', (text) => {
  expect(keptIn(text)).toBeUndefined();
});

it('what it has kept is read again', () => {
  expect(keptIn(JSON.stringify(kept))).toEqual(kept);
});
