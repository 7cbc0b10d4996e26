import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HostClaim, holderOf } from './host-ownership.ts';

const HOST = 'shop.example.com';

function claim(
  uid: string,
  details: { holds?: string; since?: string; host?: string; createdAt?: string } = {},
): HostClaim {
  const { holds, since, host = HOST, createdAt = '2026-01-01T00:00:00Z' } = details;
  return {
    uid,
    namespace: 'team',
    name: uid,
    createdAt,
    holds: new Set(holds === undefined ? [] : [holds]),
    ...(since !== undefined && { reported: { host, since } }),
  };
}
const EARLY = '2026-01-01T00:00:01Z';
const LATE = '2026-01-01T00:00:02Z';

describe('holderOf', () => {
  it.each([
    { name: 'nobody else', asking: claim('a'), others: [], want: 'a' },
    {
      name: 'who has it keeps it',
      asking: claim('a', { since: EARLY }),
      others: [claim('b', { holds: HOST })],
      want: 'b',
    },
    { name: 'also who asks', asking: claim('a', { holds: HOST }), others: [claim('b', { since: EARLY })], want: 'a' },
    {
      name: 'who waits comes before who has not reported',
      asking: claim('a'),
      others: [claim('b', { since: LATE })],
      want: 'b',
    },
    {
      name: 'who reported first',
      asking: claim('b', { since: EARLY }),
      others: [claim('a', { since: LATE })],
      want: 'b',
    },
    {
      name: 'together: who was created first',
      asking: claim('a', { since: EARLY, createdAt: LATE }),
      others: [claim('b', { since: EARLY })],
      want: 'b',
    },
    {
      name: 'created together: by uid',
      asking: claim('b', { since: EARLY }),
      others: [claim('a', { since: EARLY })],
      want: 'a',
    },
    {
      name: 'who waits for another host does not count',
      asking: claim('a'),
      others: [claim('b', { since: EARLY, host: 'other.example.com' })],
      want: 'a',
    },
    {
      name: 'who has another host does not count',
      asking: claim('a'),
      others: [claim('b', { holds: 'other.example.com' })],
      want: 'a',
    },
    { name: 'who has not even reported does not count', asking: claim('b'), others: [claim('a')], want: 'b' },
    {
      name: 'two have it, as after a restore: the earlier claim',
      asking: claim('a', { holds: HOST, since: LATE }),
      others: [claim('b', { holds: HOST, since: EARLY })],
      want: 'b',
    },
  ])('$name', ({ asking, others, want }) => {
    expect(holderOf(HOST, asking, others).uid).toBe(want);
  });

  it('all who have reported say the same, whoever asks', () => {
    const one = fc.record({
      holds: fc.constantFrom(undefined, HOST),
      since: fc.constantFrom(EARLY, LATE),
      createdAt: fc.constantFrom(EARLY, LATE),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 6 }), (details) => {
        const claims = details.map(({ holds, ...rest }, index) =>
          claim(`u${index}`, { ...rest, ...(holds !== undefined && { holds }) }),
        );
        const said = claims.map(
          (asking) =>
            holderOf(
              HOST,
              asking,
              claims.filter((other) => other !== asking),
            ).uid,
        );
        expect(new Set(said).size).toBe(1);
      }),
    );
  });
});
