// The digest of the Secret values that pods read; plan/rotation.ts decides when another one rolls them. It is keyed: people who may
// read pods could guess a value from its plain hash.

import { createHash, createHmac } from 'node:crypto';

/** Davit's key, and an id that reveals nothing about it. */
export interface DigestKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** One value that a pod reads; `fingerprint` is undefined if the value is missing. */
export interface SecretVersion {
  readonly secretName: string;
  readonly secretKey: string;
  readonly fingerprint: string | undefined;
}

export function digestKey(bytes: Uint8Array): DigestKey {
  return { id: hmac(bytes, ['id']).slice(0, 8), bytes };
}

/**
 * HMAC-SHA-256 in hex of one value in a Secret's `data`, including its location. Otherwise a person who may read the fingerprint
 * and write other Secrets could try values until one has the same fingerprint.
 */
export function fingerprint(
  { bytes }: DigestKey,
  where: { readonly namespace: string; readonly secretName: string; readonly secretKey: string },
  value: string,
): string {
  return hmac(bytes, [where.namespace, where.secretName, where.secretKey, value]);
}

/** `<key id>.<hex>` over all values, independent of their order. Must give the same digest for the same values and key in all versions. */
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
