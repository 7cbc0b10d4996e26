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

describe('signing key ring', () => {
  it('starts with one key, which signs immediately', () => {
    const ring = rotatedKeyRing(undefined, at(0), () => first);
    expect(ring).toEqual({ keys: [first] });
    expect(signingKey(ring, at(0))).toBe(first);
  });

  it.each<[reason: string, ring: SigningKey[], ms: number, expected: SigningKey[]]>([
    ['keeps a key that is not old enough', [first], ROTATED_AFTER_MS - 1, [first]],
    ['adds a successor to a key that is old enough', [first], ROTATED_AFTER_MS, [first, third]],
    [
      'keeps the first key while its successor does not sign yet',
      [first, second],
      ROTATED_AFTER_MS + 1,
      [first, second],
    ],
    [
      'keeps the first key while tokens that it signed may be valid',
      [first, second],
      ROTATED_AFTER_MS + OVERLAP_MS - 1,
      [first, second],
    ],
    [
      'removes the first key when every token that it signed has expired',
      [first, second],
      ROTATED_AFTER_MS + OVERLAP_MS,
      [second],
    ],
    [
      'removes the first key and adds a successor after a long downtime',
      [first, second],
      2 * ROTATED_AFTER_MS,
      [second, third],
    ],
  ])('%s', (_reason, keys, ms, expected) => {
    const ring: KeyRing = { keys };
    const rotated = rotatedKeyRing(ring, at(ms), expected.includes(third) ? () => third : never);
    expect(rotated.keys).toEqual(expected);
    if (expected.length === keys.length && !expected.includes(third)) expect(rotated).toBe(ring);
  });

  it.each<[reason: string, keys: SigningKey[], ms: number, expected: SigningKey]>([
    [
      'signs with the old key while a registry may not have read the new one',
      [first, second],
      ROTATED_AFTER_MS + PUBLISHED_AHEAD_MS - 1,
      first,
    ],
    [
      'signs with the new key when every registry has read it',
      [first, second],
      ROTATED_AFTER_MS + PUBLISHED_AHEAD_MS,
      second,
    ],
    ['signs with the first key if the clock is behind', [first], -1000, first],
  ])('%s', (_reason, keys, ms, expected) => {
    expect(signingKey({ keys }, at(ms))).toBe(expected);
  });

  it('publishes no private key', () => {
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

  it('parses what it serialized', () => {
    const ring = { keys: [first, second] };
    expect(parseKeyRing(keyRingData(ring)['keys.json'])).toEqual(ring);
  });

  it.each([
    ['', /malformed at its root/],
    ['{}', /malformed at keys/],
    ['{"keys":[]}', /malformed at keys/],
    [JSON.stringify({ keys: [{ ...first, jwk: { ...first.jwk, d: 'short' } }] }), /malformed at keys\.0\.jwk\.d/],
  ])('rejects %j with an error that contains no part of a key', (text, message) => {
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
