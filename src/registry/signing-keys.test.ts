import { describe, expect, it } from 'vitest';
import {
  type KeyRing,
  keyRingData,
  LONGEST_TOKEN_MS,
  makeSigningKey,
  PUBLISHED_AHEAD_MS,
  parseKeyRing,
  ROTATED_AFTER_MS,
  rotatedKeyRing,
  type SigningKey,
  signingKey,
} from './signing-keys.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (ms: number): Date => new Date(START + ms);
const keyAt = (ms: number): SigningKey => makeSigningKey(at(ms));
const first = keyAt(0);
const second = keyAt(ROTATED_AFTER_MS);
const third = keyAt(2 * ROTATED_AFTER_MS);
const never = (): never => {
  throw new Error('no key was due');
};
const OVERLAP_MS = PUBLISHED_AHEAD_MS + LONGEST_TOKEN_MS;

describe('a ring of signing keys', () => {
  it('begins with one key, which signs at once', () => {
    const ring = rotatedKeyRing(undefined, at(0), () => first);
    expect(ring).toEqual({ keys: [first] });
    expect(signingKey(ring, at(0))).toBe(first);
  });

  it.each<[reason: string, ring: SigningKey[], ms: number, expected: SigningKey[]]>([
    ['a young key stays alone', [first], ROTATED_AFTER_MS - 1, [first]],
    ['a key that is old enough gets a successor', [first], ROTATED_AFTER_MS, [first, third]],
    ['a successor that does not sign yet keeps the first', [first, second], ROTATED_AFTER_MS + 1, [first, second]],
    [
      'what the first key signed last may still be valid',
      [first, second],
      ROTATED_AFTER_MS + OVERLAP_MS - 1,
      [first, second],
    ],
    ['nothing that the first key signed is valid', [first, second], ROTATED_AFTER_MS + OVERLAP_MS, [second]],
    ['both at once, after a long rest', [first, second], 2 * ROTATED_AFTER_MS, [second, third]],
  ])('%s', (_reason, keys, ms, expected) => {
    const ring: KeyRing = { keys };
    const rotated = rotatedKeyRing(ring, at(ms), expected.includes(third) ? () => third : never);
    expect(rotated.keys).toEqual(expected);
    if (expected.length === keys.length && !expected.includes(third)) expect(rotated).toBe(ring);
  });

  it.each<[reason: string, keys: SigningKey[], ms: number, expected: SigningKey]>([
    ['a registry may not have read the new key', [first, second], ROTATED_AFTER_MS + PUBLISHED_AHEAD_MS - 1, first],
    ['every registry has read the new key', [first, second], ROTATED_AFTER_MS + PUBLISHED_AHEAD_MS, second],
    ['a clock that is behind', [first], -1000, first],
  ])('%s', (_reason, keys, ms, expected) => {
    expect(signingKey({ keys }, at(ms))).toBe(expected);
  });

  it('shows the registry no private part', () => {
    const data = keyRingData({ keys: [first, second] });
    expect(JSON.parse(data['jwks.json'])).toEqual({
      keys: [first, second].map(({ kid, jwk: { kty, crv, x, y } }) => ({
        kty,
        crv,
        x,
        y,
        kid,
        use: 'sig',
        alg: 'ES256',
      })),
    });
    expect(data['jwks.json']).not.toContain(first.jwk.d);
  });

  it('is read as it was written', () => {
    const ring = { keys: [first, second] };
    expect(parseKeyRing(keyRingData(ring)['keys.json'])).toEqual(ring);
  });

  it.each([
    ['', /is not JSON/],
    ['{}', /malformed at keys/],
    ['{"keys":[]}', /malformed at keys/],
    [JSON.stringify({ keys: [{ ...first, jwk: { ...first.jwk, d: 'short' } }] }), /malformed at keys\.0\.jwk\.d/],
  ])('is refused when it is %s, without a part of a key', (text, message) => {
    let thrown: unknown;
    try {
      parseKeyRing(text);
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).toMatch(message);
    expect(String(thrown)).not.toContain(first.jwk.x);
  });
});
