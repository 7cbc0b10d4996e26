// The keys with which tokens are sealed. A new key seals from the moment it exists; an old one stays, because a token that never
// expires is opened with it years later. The key of names never changes: the name of a Secret follows from it.

import { z } from 'zod';
import { parsedText } from '../../runtime/json-value.ts';

const Key = z.base64().length(44);

const SealingKey = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  /** RFC 3339. */
  createdAt: z.iso.datetime(),
  /** 32 bytes, base64. */
  key: Key,
});
export type SealingKey = z.output<typeof SealingKey>;

const KeyRing = z.strictObject({ names: Key, keys: z.array(SealingKey).min(1).max(200) });
/** `names`: the key of names, 32 bytes in base64. `keys`: oldest first, never empty. */
export type KeyRing = z.output<typeof KeyRing>;

/** A key seals for this time: 90 days. */
export const ROTATED_AFTER_MS = 90 * 24 * 3_600_000;

/** Parses the JSON of the Secret. Throws an Error whose message contains no part of a key. */
export function parseKeyRing(text: string): KeyRing {
  return parsedText(KeyRing, text, 'read the keys of OAuth tokens: malformed');
}

/** The key that seals. */
export function newestKey({ keys }: KeyRing): SealingKey {
  return keys.at(-1) as SealingKey;
}

/** Returns the ring with a new key if one is due, otherwise `ring` itself. `random` returns that many bytes. */
export function rotatedKeyRing(ring: KeyRing | undefined, now: Date, random: (bytes: number) => Buffer): KeyRing {
  const make = (): SealingKey => ({
    id: random(8).toString('hex'),
    createdAt: now.toISOString(),
    key: random(32).toString('base64'),
  });
  if (ring === undefined) return { names: random(32).toString('base64'), keys: [make()] };
  const isDue = now.getTime() - Date.parse(newestKey(ring).createdAt) >= ROTATED_AFTER_MS;
  return isDue ? { ...ring, keys: [...ring.keys, make()] } : ring;
}
