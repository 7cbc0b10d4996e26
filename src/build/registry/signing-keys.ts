// The keys that sign registry tokens. A registry reads its list of public keys only when it starts, so a new key is
// published before it signs, and an old key stays published until every token that it signed has expired.

import { createHash, generateKeyPairSync } from 'node:crypto';
import { z } from 'zod';
import { parsedText } from '../../runtime/json-value.ts';

const Coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

const SigningKey = z.strictObject({
  kid: z.string().regex(/^[A-Za-z0-9_-]{8,64}$/),
  /** RFC 3339. */
  createdAt: z.iso.datetime(),
  /** Private key of curve P-256 (RFC 7517). */
  jwk: z.strictObject({ kty: z.literal('EC'), crv: z.literal('P-256'), x: Coordinate, y: Coordinate, d: Coordinate }),
});
export type SigningKey = z.output<typeof SigningKey>;

const KeyRing = z.strictObject({ keys: z.array(SigningKey).min(1).max(10) });
/** Signing keys, oldest first. Never empty. */
export type KeyRing = z.output<typeof KeyRing>;

/**
 * Fields of the Secret: the ring with its private keys, for Davit only, and the public keys (RFC 7517, JWK Set), for
 * the registry.
 */
export const KEY_RING_KEY = 'keys.json';
export const PUBLIC_KEYS_KEY = 'jwks.json';

const HOUR_MS = 3_600_000;
/** Maximum validity of a token. */
export const LONGEST_TOKEN_MS = HOUR_MS;
/**
 * A key signs once it has this age. The registry must restart within this time, which its upkeep ensures.
 */
export const PUBLISHED_AHEAD_MS = 8 * 24 * HOUR_MS;
/** A key gets a successor once it has this age. */
export const ROTATED_AFTER_MS = 180 * 24 * HOUR_MS;

/** Parses the JSON that `keyRingData` wrote. Throws an Error whose message contains no part of a key. */
export function parseKeyRing(text: string): KeyRing {
  return parsedText(KeyRing, text, `read the registry's signing keys: key ${KEY_RING_KEY} is malformed`);
}

/** The fields of the Secret as JSON text. */
export function keyRingData(ring: KeyRing): Readonly<Record<typeof KEY_RING_KEY | typeof PUBLIC_KEYS_KEY, string>> {
  const keys = ring.keys.map(({ kid, jwk: { kty, crv, x, y } }) => ({ kty, crv, x, y, kid, use: 'sig', alg: 'ES256' }));
  return { [KEY_RING_KEY]: JSON.stringify(ring), [PUBLIC_KEYS_KEY]: JSON.stringify({ keys }) };
}

/** Generates a random key. */
export function makeSigningKey(now: Date): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = SigningKey.shape.jwk.parse(privateKey.export({ format: 'jwk' }));
  // The key's id is its JWK thumbprint (RFC 7638).
  const thumbprint = JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y });
  return { kid: createHash('sha256').update(thumbprint).digest('base64url'), createdAt: now.toISOString(), jwk };
}

/** The newest key that every registry has read, or the oldest key if there is none yet. */
export function signingKey({ keys }: KeyRing, now: Date): SigningKey {
  const published = keys.findLast((key) => ageOf(key, now) >= PUBLISHED_AHEAD_MS);
  return published ?? (keys[0] as SigningKey);
}

/**
 * Returns the ring with expired keys removed and a new key added if one is due, or `ring` itself if nothing changes.
 * Calls `make` at most once.
 */
export function rotatedKeyRing(ring: KeyRing | undefined, now: Date, make: () => SigningKey): KeyRing {
  if (ring === undefined) return { keys: [make()] };
  const kept = ring.keys.filter((_key, index) => {
    const successor = ring.keys[index + 1];
    // The key signed its last token when its successor began to sign.
    return successor === undefined || ageOf(successor, now) < PUBLISHED_AHEAD_MS + LONGEST_TOKEN_MS;
  });
  const newest = kept.at(-1);
  const isDue = newest === undefined || ageOf(newest, now) >= ROTATED_AFTER_MS;
  if (!isDue && kept.length === ring.keys.length) return ring;
  return { keys: isDue ? [...kept, make()] : kept };
}

function ageOf({ createdAt }: SigningKey, now: Date): number {
  return now.getTime() - Date.parse(createdAt);
}
