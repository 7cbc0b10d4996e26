// Sign-in on the page against the cluster's OpenID Connect issuer: its setting, and what the page is told of it.

import { z } from 'zod';
import { listOf, matching, text } from './primitives.ts';

/** https://HOST[:PORT], without a path. */
const ORIGIN_PATTERN = /^https:\/\/[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$/;

export const Oidc = z
  .strictObject({
    issuer: text(512)
      .regex(/^https:\/\/[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?$/, {
        error: 'must be the https URL of the issuer, as its metadata and the API server have it, without ? and #',
      })
      .describe(
        'The issuer whose ID tokens the API server accepts: issuer.url of its AuthenticationConfiguration, character for character.',
      ),
    clientId: matching(/^[\x21-\x7e]+$/, 255).describe(
      'Client id of the page at the issuer, as a public client. The API server must list it among its audiences.',
    ),
    scopes: listOf(matching(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 100), 20)
      .refine((scopes) => scopes.includes('openid'), {
        error: 'must contain openid, without which an issuer issues no ID token',
      })
      .default(['openid', 'profile', 'email'])
      .describe(
        'Scopes that the page requests: those with the claims from which the API server reads user name and groups. Some issuers issue a refresh token only with offline_access.',
      ),
    name: matching(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, 40, 1)
      .optional()
      .describe("Name of the issuer on the page's button. If absent, its host."),
    origins: listOf(text(300).regex(ORIGIN_PATTERN, { error: 'must be https://HOST or https://HOST:PORT' }), 5)
      .default([])
      .describe(
        "Origins to which the page may send requests in addition to the issuer's, if the issuer's metadata names token endpoints on another host.",
      ),
  })
  .describe(
    "Sign-in on the page with the cluster's OpenID Connect issuer (docs/sign-in.md). Absent: people paste a token.",
  );
type Oidc = z.infer<typeof Oidc>;

/** The issuer's data for the page, which is all public. */
export interface SignInSetup {
  readonly issuer: string;
  /** As the button says it. */
  readonly name: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** What the page may ask besides its own host; the issuer's origin is the first. */
  readonly origins: readonly string[];
  /** The page itself, at the address by which people reach it. */
  readonly redirectUri: string;
}

/** Undefined without an issuer. Settings with an issuer have a publicUrl. */
export function signInSetup(http: {
  readonly oidc?: Oidc | undefined;
  readonly publicUrl?: string | undefined;
}): SignInSetup | undefined {
  const { oidc, publicUrl } = http;
  if (oidc === undefined || publicUrl === undefined) return undefined;
  const { issuer, clientId, scopes, origins, name } = oidc;
  const { origin, host } = new URL(issuer);
  return {
    issuer,
    name: name ?? host,
    clientId,
    scopes,
    origins: [...new Set([origin, ...origins])],
    redirectUri: `${publicUrl}/`,
  };
}
