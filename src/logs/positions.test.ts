import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isAfter, positionsOf, startAt } from './positions.ts';

const aTime = fc
  .tuple(fc.integer({ min: 0, max: 4_102_444_800 }), fc.integer({ min: 0, max: 999_999_999 }))
  .map(
    ([seconds, nanoseconds]) =>
      `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanoseconds).padStart(9, '0')}Z`,
  );
const aPosition = fc.record({ time: aTime, nth: fc.integer({ min: -1, max: 100_000 }) });

it('a token says how far each writer was sent', () => {
  fc.assert(
    fc.property(
      fc.option(aTime, { nil: undefined }),
      fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), aPosition), {
        maxLength: 20,
        selector: ([writer]) => writer,
      }),
      (floor, writers) => {
        const positions = startAt(floor);
        for (const [writer, position] of writers) positions.advance(writer, position);
        const token = positions.token();
        // As the id of an event, and in a header.
        expect(token).toMatch(/^[\w~.-]+$/);
        expect(token.length).toBeLessThan(700);
        const again = positionsOf(token);
        expect(again?.floor).toBe(floor);
        for (const [writer, position] of writers) expect(again?.of(writer)).toEqual(position);
        expect(again?.token()).toBe(token);
      },
    ),
  );
});

it('leaves out who is no more', () => {
  const positions = startAt(undefined);
  const position = { time: '2026-01-01T00:00:00.000000001Z', nth: 0 };
  for (const writer of ['a', 'b']) positions.advance(writer, position);
  positions.keepOnly(new Set(['b', 'c']));
  expect([positions.of('a'), positions.of('b')]).toEqual([undefined, position]);
});

it.each([
  undefined,
  '',
  'v1',
  'v2~',
  'Xk0f3mX1v0Zq9y8jv2s1dA',
  'v1~~a.b.c',
  'v1~~abcdefgh.zzzzzzzzzzzzzz.0',
  'v1~~abcdefgh.zzzzzzzzzzzzz.0',
  'v1~~abcdefgh.1.-1',
  'v1~~abcdefgh.1.',
  'v1~!~',
  `v1~${'~abcdefgh.1.0'.repeat(1000)}`,
])('%s is none, or means nothing', (token) => {
  expect(positionsOf(token)?.floor).toBeUndefined();
  if (token !== 'v1') expect(positionsOf(token)).toBeUndefined();
});

it('orders lines of one writer', () => {
  const at = (time: string, nth: number): { time: string; nth: number } => ({ time, nth });
  expect([isAfter(at('b', 0), at('a', 9)), isAfter(at('a', 1), at('a', 0)), isAfter(at('a', 0), at('a', 0))]).toEqual([
    true,
    true,
    false,
  ]);
});
