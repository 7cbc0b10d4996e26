// Tokens of the registry, by Distribution's token protocol: a client that the registry refused asks the token server for what
// it wants to do; it gets a short-lived signed token (JWT, ES256) with as much of that as its password grants.

import { createPrivateKey, sign } from 'node:crypto';
import { type KeyRing, type SigningKey, signingKey } from './signing-keys.ts';

/** `iss` of every token, and what the registry is configured with. */
const TOKEN_ISSUER = 'davit';
/** `service` of the registry, and `aud` of its tokens. */
export const TOKEN_SERVICE = 'davit-registry';
/** What every password may pull: base images. No tenant's repository begins so. */
const BASE_REPOSITORIES = 'base/';

const TOKEN_SECONDS = 300;
/** The clocks of the registry's machine and this one may differ. */
const SKEW_SECONDS = 10;
const MOST_SCOPES = 20;

const ACTIONS = ['pull', 'push', 'delete'] as const;
export type Action = (typeof ACTIONS)[number];

/** What may be done with one repository. */
export interface Grant {
  readonly repository: string;
  readonly actions: readonly Action[];
}

/** What a token server answers with. */
export interface TokenAnswer {
  readonly token: string;
  readonly access_token: string;
  readonly expires_in: number;
  readonly issued_at: string;
}

/** `id` tells tokens apart. */
export function issueToken(
  ring: KeyRing,
  grants: readonly Grant[],
  { now, id }: { readonly now: Date; readonly id: string },
): TokenAnswer {
  const seconds = Math.floor(now.getTime() / 1000);
  const token = signed(signingKey(ring, now), {
    iss: TOKEN_ISSUER,
    aud: TOKEN_SERVICE,
    sub: 'davit',
    iat: seconds,
    nbf: seconds - SKEW_SECONDS,
    exp: seconds + TOKEN_SECONDS,
    jti: id,
    access: grants.map(({ repository, actions }) => ({ type: 'repository', name: repository, actions })),
  });
  return { token, access_token: token, expires_in: TOKEN_SECONDS, issued_at: now.toISOString() };
}

/**
 * As much of the scopes as `allowed` has for their repositories. `scopes` are texts such as `repository:team/shop:pull,push`,
 * several in one text separated by spaces. What is not allowed is left out: the registry then says which scope is missing.
 */
export function grantsFor(
  scopes: readonly string[],
  allowed: (repository: string) => readonly Action[],
): readonly Grant[] {
  const granted = new Map<string, ReadonlySet<Action>>();
  const asked = scopes.flatMap((scope) => scope.split(' ')).slice(0, MOST_SCOPES);
  for (const scope of asked) {
    const [, name, actions] = /^repository:([^:]+):([^:]+)$/.exec(scope) ?? [];
    if (name === undefined || actions === undefined) continue;
    const wanted = actions.split(',');
    const may = (name.startsWith(BASE_REPOSITORIES) ? [...allowed(name), 'pull' as const] : allowed(name)).filter(
      (action) => wanted.includes(action),
    );
    if (may.length > 0) granted.set(name, new Set([...(granted.get(name) ?? []), ...may]));
  }
  return [...granted].map(([repository, actions]) => ({ repository, actions: [...actions] }));
}

/** JSON Web Signature, compact (RFC 7515). */
function signed({ kid, jwk }: SigningKey, claims: object): string {
  const body = [{ typ: 'JWT', alg: 'ES256', kid }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const signature = sign('sha256', Buffer.from(body), { key, dsaEncoding: 'ieee-p1363' });
  return `${body}.${signature.toString('base64url')}`;
}
