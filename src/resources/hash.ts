// The digest that rolls pods when a referenced Secret changes. Keyed: a plain hash of a value, visible to whoever may
// read pods, would let them guess the value.

import { createHmac } from 'node:crypto';

/** One value that a pod reads: `value` as it stands in the Secret's `data`, undefined while it isn't there. */
export interface SecretVersion {
  readonly name: string;
  readonly key: string;
  readonly value: string | undefined;
}

/** HMAC-SHA-256 in hex over all values, whatever their order. The same values and key give the same digest for ever. */
export function secretsDigest(key: Uint8Array | string, versions: readonly SecretVersion[]): string {
  const lines = versions.map(({ name, key: field, value }) => JSON.stringify([name, field, value ?? null])).toSorted();
  return createHmac('sha256', key).update(lines.join('\n')).digest('hex');
}
