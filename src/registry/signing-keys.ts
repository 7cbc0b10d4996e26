// The keys that registry tokens are signed with. A registry reads its list of public keys when it starts, so a new key is
// published before it signs, and an old one stays published until nothing that it signed is valid.

import { createHash, generateKeyPairSync } from 'node:crypto';
import { z } from 'zod';

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
/** Oldest first. Never empty. */
export type KeyRing = z.output<typeof KeyRing>;

/** Keys of the Secret: the whole ring, for Davit alone, and the public keys, for the registry. */
export const KEY_RING_KEY = 'keys.json';
export const PUBLIC_KEYS_KEY = 'jwks.json';

const HOUR_MS = 3_600_000;
/** No token is valid for longer. */
export const LONGEST_TOKEN_MS = HOUR_MS;
/** A key signs from this age on. The registry must restart within this time, as its garbage collection makes it. */
export const PUBLISHED_AHEAD_MS = 8 * 24 * HOUR_MS;
/** A key is followed by a new one at this age. */
export const ROTATED_AFTER_MS = 180 * 24 * HOUR_MS;

/** Reads what `keyRingData` wrote. Throws an Error that names no part of a key. */
export function parseKeyRing(text: string): KeyRing {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`read the registry's signing keys: key ${KEY_RING_KEY} is not JSON`);
  }
  const parsed = KeyRing.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.map(String).join('.') ?? '';
  throw new Error(`read the registry's signing keys: key ${KEY_RING_KEY} is malformed at ${where || 'its root'}`);
}

/** The Secret's data as text, by key. */
export function keyRingData(ring: KeyRing): Readonly<Record<typeof KEY_RING_KEY | typeof PUBLIC_KEYS_KEY, string>> {
  const keys = ring.keys.map(({ kid, jwk: { kty, crv, x, y } }) => ({ kty, crv, x, y, kid, use: 'sig', alg: 'ES256' }));
  return { [KEY_RING_KEY]: JSON.stringify(ring), [PUBLIC_KEYS_KEY]: JSON.stringify({ keys }) };
}

/** Not pure: a key is random. */
export function makeSigningKey(now: Date): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = SigningKey.shape.jwk.parse(privateKey.export({ format: 'jwk' }));
  // RFC 7638: the thumbprint says which key it is and nothing else.
  const thumbprint = JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y });
  return { kid: createHash('sha256').update(thumbprint).digest('base64url'), createdAt: now.toISOString(), jwk };
}

/** The newest key that every registry has read; the oldest one while there is none. */
export function signingKey({ keys }: KeyRing, now: Date): SigningKey {
  const published = keys.findLast((key) => ageOf(key, now) >= PUBLISHED_AHEAD_MS);
  return published ?? (keys[0] as SigningKey);
}

/** The ring as it should be now: the very same where nothing is due. `make` is asked for at most one new key. */
export function rotatedKeyRing(ring: KeyRing | undefined, now: Date, make: () => SigningKey): KeyRing {
  if (ring === undefined) return { keys: [make()] };
  const kept = ring.keys.filter((_key, index) => {
    const successor = ring.keys[index + 1];
    // What the key signed last was signed when its successor took over.
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
