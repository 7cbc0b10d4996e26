// Signed addresses for uploads of sources. The signature is the only credential of an upload. Pure.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

export interface Upload {
  /** The deployment's id. */
  readonly deployment: string;
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Seconds since 1970, at which the address expires. A running upload may continue. */
  readonly expires: number;
}

/** 43 characters. `key` is the registry's password key. A key of its own is derived from it, so a signature is never a registry password. */
export function uploadSignature(key: Uint8Array, { deployment, id, expires }: Upload): string {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'davit-upload-1', 32));
  return createHmac('sha256', own).update(`${deployment} ${id} ${expires}`).digest('base64url');
}

export function isSigned(key: Uint8Array, upload: Upload, signature: string): boolean {
  const [given, expected] = [Buffer.from(signature), Buffer.from(uploadSignature(key, upload))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
