// Keys as Node uses them, made once for each ring that was read: to make one takes longer than to use it.

import { createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyRing, SealingKey } from './key-ring.ts';

const made = new WeakMap<KeyRing | SealingKey, KeyObject>();

/** `base64`: the key of `owner`, which is a ring for the key of names, or one of its sealing keys. */
export function secretKeyOf(owner: KeyRing | SealingKey, base64: string): KeyObject {
  const known = made.get(owner);
  if (known !== undefined) return known;
  const key = createSecretKey(base64, 'base64');
  made.set(owner, key);
  return key;
}
