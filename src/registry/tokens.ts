// Tokens of the registry, by Distribution's token protocol. Davit gives out passwords, which name one repository and what may
// be done with it; the token server exchanges a password for a short-lived token with as much of what a client asks for as
// the password allows. Both are signed (JWT, ES256), so any replica accepts what any other gave out, and nothing is stored.

import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { type KeyRing, LONGEST_PASSWORD_MS, type SigningKey, signingKey } from './signing-keys.ts';

/** `iss` of every token, and what the registry is configured with. */
export const TOKEN_ISSUER = 'davit';
/** `service` of the registry, and `aud` of its tokens. */
export const TOKEN_SERVICE = 'davit-registry';
/** `aud` of passwords: the registry itself accepts none, and the token server takes no token for a password. */
const PASSWORD_AUDIENCE = 'davit-registry-password';
/** User name of every password; the token server reads it not. */
export const REGISTRY_USERNAME = 'davit';

const TOKEN_SECONDS = 300;
/** The clocks of the registry's machine and this one may differ. */
const SKEW_SECONDS = 10;
const LONGEST_PASSWORD = 4096;
const MOST_SCOPES = 20;

export const ACTIONS = ['pull', 'push', 'delete'] as const;
export type Action = (typeof ACTIONS)[number];

/** What may be done with one repository. */
export interface Grant {
  readonly repository: string;
  readonly actions: readonly Action[];
}

export interface Password {
  /** uid of the deployment that it was given for. */
  readonly deployment: string;
  readonly grant: Grant;
  readonly expiresAt: Date;
}

const PasswordClaims = z.object({
  iss: z.literal(TOKEN_ISSUER),
  aud: z.literal(PASSWORD_AUDIENCE),
  sub: z.string().min(1),
  exp: z.int(),
  access: z.tuple([
    z.object({ type: z.literal('repository'), name: z.string().min(1), actions: z.array(z.enum(ACTIONS)) }),
  ]),
});

/** What a registry reads of a token. */
interface Access {
  readonly type: 'repository';
  readonly name: string;
  readonly actions: readonly Action[];
}

/** `id` tells passwords apart: 1 to 64 characters. Throws a RangeError for one that would outlive its key. */
export function issuePassword(
  ring: KeyRing,
  { deployment, grant, expiresAt }: Password,
  { now, id }: { readonly now: Date; readonly id: string },
): string {
  if (expiresAt.getTime() - now.getTime() > LONGEST_PASSWORD_MS)
    throw new RangeError('A password of the registry is valid for at most 30 days.');
  return signed(signingKey(ring, now), {
    iss: TOKEN_ISSUER,
    aud: PASSWORD_AUDIENCE,
    sub: deployment,
    iat: seconds(now),
    exp: seconds(expiresAt),
    jti: id,
    access: [accessOf(grant)],
  });
}

/** Undefined for what is no password of ours, or not any more. */
export function readPassword(ring: KeyRing, password: string, now: Date): Password | undefined {
  if (password.length > LONGEST_PASSWORD) return undefined;
  const claims = PasswordClaims.safeParse(verified(ring, password));
  if (!claims.success || claims.data.exp <= seconds(now)) return undefined;
  const { sub, exp, access } = claims.data;
  const [{ name, actions }] = access;
  return { deployment: sub, grant: { repository: name, actions }, expiresAt: new Date(exp * 1000) };
}

/** What a token server answers a client with (Distribution's token protocol). */
export interface TokenAnswer {
  readonly token: string;
  readonly access_token: string;
  readonly expires_in: number;
  readonly issued_at: string;
}

/** A token for `grants`: for Davit itself, or for as much as `grantsFor` left of what a client asked for. */
export function issueToken(
  ring: KeyRing,
  grants: readonly Grant[],
  { now, id, subject = 'davit' }: { readonly now: Date; readonly id: string; readonly subject?: string },
): TokenAnswer {
  const token = signed(signingKey(ring, now), {
    iss: TOKEN_ISSUER,
    aud: TOKEN_SERVICE,
    sub: subject,
    iat: seconds(now),
    nbf: seconds(now) - SKEW_SECONDS,
    exp: seconds(now) + TOKEN_SECONDS,
    jti: id,
    access: grants.map(accessOf),
  });
  return { token, access_token: token, expires_in: TOKEN_SECONDS, issued_at: now.toISOString() };
}

/**
 * As much of the scopes as the password's grant allows. `scopes` are texts such as `repository:team/shop:pull,push`, several
 * in one text separated by spaces. Everybody who has a password may pull what is below `publicPrefix`. Everything else is
 * left out: the registry then says which scope is missing.
 */
export function grantsFor(scopes: readonly string[], grant: Grant, publicPrefix?: string): Grant[] {
  const wanted = new Map<string, Set<Action>>();
  const asked = scopes.flatMap((scope) => scope.split(' ')).slice(0, MOST_SCOPES);
  for (const scope of asked) {
    const [, name, actions] = /^repository:([^:]+):([^:]+)$/.exec(scope) ?? [];
    if (name === undefined || actions === undefined) continue;
    const allowed = wanted.get(name) ?? new Set();
    for (const action of allowedActions(name, grant, publicPrefix))
      if (actions.split(',').includes(action)) allowed.add(action);
    if (allowed.size > 0) wanted.set(name, allowed);
  }
  return [...wanted].map(([repository, actions]) => ({ repository, actions: [...actions] }));
}

function allowedActions(name: string, grant: Grant, publicPrefix: string | undefined): readonly Action[] {
  if (name === grant.repository) return grant.actions;
  return publicPrefix !== undefined && name.startsWith(publicPrefix) ? ['pull'] : [];
}

function accessOf({ repository, actions }: Grant): Access {
  return { type: 'repository', name: repository, actions };
}

function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

const ENCODING = 'ieee-p1363';

/** JSON Web Signature, compact (RFC 7515). */
function signed({ kid, jwk }: SigningKey, claims: object): string {
  const body = [{ typ: 'JWT', alg: 'ES256', kid }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  return `${body}.${sign('sha256', Buffer.from(body), { key, dsaEncoding: ENCODING }).toString('base64url')}`;
}

/** The claims of what a key of the ring signed, else undefined. */
function verified({ keys }: KeyRing, token: string): unknown {
  const parts = token.split('.');
  const [header, claims, signature] = parts;
  if (parts.length !== 3 || header === undefined || claims === undefined || signature === undefined) return undefined;
  // The algorithm is ours, whatever a header says.
  const { kid, alg } = (json(header) ?? {}) as { readonly kid?: unknown; readonly alg?: unknown };
  const key = keys.find((one) => one.kid === kid);
  if (key === undefined || alg !== 'ES256') return undefined;
  const publicKey = createPublicKey({ key: key.jwk, format: 'jwk' });
  const bytes = Buffer.from(signature, 'base64url');
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    { key: publicKey, dsaEncoding: ENCODING },
    bytes,
  );
  return isSigned ? json(claims) : undefined;
}

function json(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
