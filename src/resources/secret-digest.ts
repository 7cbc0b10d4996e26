// The digest that rolls pods when a Secret that they read changes. Keyed: a plain hash of a value, visible to whoever may
// read pods, would let them guess the value.

import { createHash, createHmac } from 'node:crypto';

/** Davit's own key, and a name for it that tells nothing of it. */
export interface DigestKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** One value that a pod reads; `fingerprint` undefined while it isn't there. */
export interface SecretVersion {
  readonly secretName: string;
  readonly secretKey: string;
  readonly fingerprint: string | undefined;
}

export function digestKey(bytes: Uint8Array): DigestKey {
  return { id: hmac(bytes, ['id']).slice(0, 8), bytes };
}

/**
 * HMAC-SHA-256 in hex of one value as it stands in a Secret's `data`. Where it stands is part of it: who may read the
 * fingerprint and write Secrets of his own could otherwise try values until one has the same.
 */
export function fingerprint(
  { bytes }: DigestKey,
  where: { readonly namespace: string; readonly secretName: string; readonly secretKey: string },
  value: string,
): string {
  return hmac(bytes, [where.namespace, where.secretName, where.secretKey, value]);
}

/** `<key id>.<hex>` over all values, whatever their order. The same values and key give the same digest for ever. */
export function secretsDigest({ id }: DigestKey, versions: readonly SecretVersion[]): string {
  const lines = versions.map(({ secretName, secretKey, fingerprint: value }) =>
    JSON.stringify([secretName, secretKey, value ?? null]),
  );
  return `${id}.${createHash('sha256')
    .update([...new Set(lines)].toSorted().join('\n'))
    .digest('hex')
    .slice(0, 32)}`;
}

function hmac(key: Uint8Array, parts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
}
