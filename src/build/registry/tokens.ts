// Registry tokens (Distribution's token authentication). A client that the registry refused requests scopes from the
// token server. The server returns a short-lived signed token (JWT, ES256) for those that the client's password grants.

import { createPrivateKey, sign } from 'node:crypto';
import { isRepositoryName } from '../../deploy/record/registry-names.ts';
import { type KeyRing, type SigningKey, signingKey } from './signing-keys.ts';

/** `iss` of every token. The registry's configuration names it as `issuer`. */
const TOKEN_ISSUER = 'davit';
/** `aud` of every token. The registry's configuration names it as `service`. */
export const TOKEN_SERVICE = 'davit-registry';
/** Prefix of the base images' repositories, which every password may pull. No tenant's repository has it. */
export const BASE_REPOSITORIES = 'base/';

const TOKEN_SECONDS = 300;
/**
 * For people who push: with each token, their repository is asked again whether it takes another push. It is the shortest lifetime that
 * the specification allows, and what clients assume where an answer names none.
 */
const PUSH_TOKEN_SECONDS = 60;
/** Tolerated clock difference between Davit and the registry. */
const SKEW_SECONDS = 10;
const MOST_SCOPES = 20;

export type Action = 'pull' | 'push' | 'delete' | '*';

/** Actions that are allowed on one repository, or with type `registry` on the registry's list of repositories (`catalog`). */
export interface Grant {
  readonly type?: 'repository' | 'registry';
  readonly repository: string;
  readonly actions: readonly Action[];
}

/**
 * Response of the token server (Distribution, Token Authentication Specification). `expires_in` is in seconds,
 * `issued_at` in RFC 3339.
 */
export interface TokenAnswer {
  readonly token: string;
  readonly access_token: string;
  readonly expires_in: number;
  readonly issued_at: string;
}

export interface Issue {
  readonly now: Date;
  /** The unique `jti`. */
  readonly id: string;
  /** Whether the number of tags of its repository is limited. */
  readonly isLimited?: boolean;
}

/** Whether a token for `grants` pushes. */
export function pushes(grants: readonly Grant[]): boolean {
  return grants.some(({ actions }) => actions.includes('push'));
}

/** Signs a token for `grants`. */
export function issueToken(
  ring: KeyRing,
  grants: readonly Grant[],
  { now, id, isLimited = false }: Issue,
): TokenAnswer {
  const lifetime = isLimited && pushes(grants) ? PUSH_TOKEN_SECONDS : TOKEN_SECONDS;
  const seconds = Math.floor(now.getTime() / 1000);
  const token = signed(signingKey(ring, now), {
    iss: TOKEN_ISSUER,
    aud: TOKEN_SERVICE,
    sub: 'davit',
    iat: seconds,
    nbf: seconds - SKEW_SECONDS,
    exp: seconds + lifetime,
    jti: id,
    access: grants.map(({ type = 'repository', repository, actions }) => ({ type, name: repository, actions })),
  });
  return { token, access_token: token, expires_in: lifetime, issued_at: now.toISOString() };
}

/**
 * Returns the requested actions that `allowed` permits, by repository. A scope has the form
 * `repository:team/shop:pull,push`, and an element of `scopes` may hold several, separated by spaces. Other scopes are
 * omitted: the registry's response then names the missing one.
 */
export function grantsFor(
  scopes: readonly string[],
  allowed: (repository: string) => readonly Action[],
): readonly Grant[] {
  const granted = new Map<string, ReadonlySet<Action>>();
  const asked = scopes.flatMap((scope) => scope.split(' ')).slice(0, MOST_SCOPES);
  for (const scope of asked) {
    const [, name, actions] = /^repository:([^:]+):([^:]+)$/.exec(scope) ?? [];
    if (name === undefined || actions === undefined || !isRepositoryName(name)) continue;
    const wanted = actions.split(',');
    const may = (name.startsWith(BASE_REPOSITORIES) ? [...allowed(name), 'pull' as const] : allowed(name)).filter(
      (action) => wanted.includes(action),
    );
    if (may.length > 0) granted.set(name, new Set([...(granted.get(name) ?? []), ...may]));
  }
  return [...granted].map(([repository, actions]) => ({ repository, actions: [...actions] }));
}

/** JSON Web Signature in compact serialization (RFC 7515, section 3.1). */
function signed({ kid, jwk }: SigningKey, claims: object): string {
  const body = [{ typ: 'JWT', alg: 'ES256', kid }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const signature = sign('sha256', Buffer.from(body), { key, dsaEncoding: 'ieee-p1363' });
  return `${body}.${signature.toString('base64url')}`;
}
