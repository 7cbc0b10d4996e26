// Random values of flows.

import { randomBytes } from 'node:crypto';

/** 256 random bits, as 43 characters of base64url: a PKCE verifier, a browser's cookie. names.ts makes those of links. */
export function randomValue(): string {
  return randomBytes(32).toString('base64url');
}

/** Whether a text has the form of such a value. */
export function isRandomValue(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}
