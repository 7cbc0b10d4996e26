import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digestOf, isAfter, LONGEST_POSITION, positionsIn, positionText, type Read } from './positions.ts';

const aTime = fc
  .tuple(fc.integer({ min: 0, max: 4_102_444_800 }), fc.integer({ min: 0, max: 999_999_999 }))
  .map(
    ([seconds, nanoseconds]) =>
      `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanoseconds).padStart(9, '0')}Z`,
  );
const aRead = fc.record({
  last: fc.option(fc.record({ time: aTime, nth: fc.nat(100_000) }), { nil: undefined }),
  ended: fc.option(fc.string({ minLength: 1 }).map(digestOf), { nil: undefined }),
});

it('the text says how far each container was read', () => {
  const writers = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), aRead), {
    maxLength: 20,
    selector: ([writer]) => writer,
  });
  fc.assert(
    fc.property(writers, (read) => {
      const positions = new Map<string, Read>(read.map(([writer, far]) => [digestOf(writer), far]));
      const text = positionText(positions);
      expect(text).toMatch(/^[\w~.-]+$/);
      expect(text.length).toBeLessThan(LONGEST_POSITION / 20);
      expect(positionsIn(text)).toEqual(positions);
    }),
  );
});

it.each([
  '',
  'v2',
  'Xk0f3mX1v0Zq9y8jv2s1dA',
  'v1~',
  'v1~a.1.0.',
  'v1~abcdefgh.zzzzzzzzzzzzzz.0.',
  'v1~abcdefgh.zzzzzzzzzzzzz.0.',
  'v1~abcdefgh.1.-2.',
  'v1~abcdefgh.1..',
  'v1~abcdefgh.1.0.short',
  'v1~abcdefgh.1.0.abcdefgh.1',
  `v1${'~abcdefgh.1.0.'.repeat(2000)}`,
])('%s is no such text', (text) => {
  expect(positionsIn(text)).toBeUndefined();
});

it('orders lines of one container', () => {
  const at = (time: string, nth: number): { time: string; nth: number } => ({ time, nth });
  expect([isAfter(at('b', 0), at('a', 9)), isAfter(at('a', 1), at('a', 0)), isAfter(at('a', 0), at('a', 0))]).toEqual([
    true,
    true,
    false,
  ]);
});
