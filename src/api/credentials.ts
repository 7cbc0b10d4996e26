// With what a caller shows who it is.

import { asObject, jsonOf } from '../runtime/json-value.ts';

/** The sender of a token. Caches use `hash` as the key, not the token. */
export interface Credentials {
  readonly token: string;
  readonly hash: string;
}

/** The claims of a JWT, not verified: they only select who reviews the token. Empty for any other token. */
export function claimsIn(token: string): Readonly<Record<string, unknown>> {
  const [, claims = '', signature] = token.split('.');
  return signature === undefined ? {} : asObject(jsonOf(Buffer.from(claims, 'base64url').toString('utf8')));
}

/** The namespace that a service account's token names. Undefined for every other issuer's token. */
export function namespaceOfToken(token: string): string | undefined {
  const { namespace } = asObject(claimsIn(token)['kubernetes.io']);
  return typeof namespace === 'string' ? namespace : undefined;
}
