// Addresses to upload a source to: signed, so that whoever has one needs no other credential, and nobody makes one up. Pure.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

export interface Upload {
  /** The deployment's id. */
  readonly deployment: string;
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Seconds since 1970: an upload must have begun by then. */
  readonly expires: number;
}

/** 43 characters. `key` is the registry's password key; what is signed here is a password of nothing. */
export function uploadSignature(key: Uint8Array, { deployment, id, expires }: Upload): string {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'davit-upload-1', 32));
  return createHmac('sha256', own).update(`${deployment} ${id} ${expires}`).digest('base64url');
}

export function isSigned(key: Uint8Array, upload: Upload, signature: string): boolean {
  const [given, expected] = [Buffer.from(signature), Buffer.from(uploadSignature(key, upload))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
