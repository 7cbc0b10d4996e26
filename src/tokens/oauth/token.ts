// What is known of a token, and what may be done with it now.

import { z } from 'zod';
import { isCovered, type Quirks } from './quirks.ts';

const Claim = z.object({
  /** The process that refreshes. */
  holder: z.string(),
  /** When its time is over, RFC 3339. */
  until: z.string(),
});

/** What is not sealed of a token: what lists show, and the claim of a refresh. */
export const TokenAbout = z.object({
  scopes: z.array(z.string()),
  /** RFC 3339, as the next two. */
  createdAt: z.string(),
  updatedAt: z.string(),
  /** Absent if the provider named no time. */
  expiresAt: z.string().optional(),
  /** When an agent last got it, to within five minutes. Absent if none has since the consent. */
  usedAt: z.string().optional(),
  isDefault: z.boolean(),
  /** agent_id for which the person consented. */
  agentId: z.string().optional(),
  /** Uid of the provider that gave it. */
  providerUid: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()),
  claim: Claim.optional(),
});
export type TokenAbout = z.output<typeof TokenAbout>;

/** What is sealed of a token. An empty access token: the provider has refused to refresh it. */
export const TokenValues = z.object({ accessToken: z.string(), refreshToken: z.string().optional() });
export type TokenValues = z.output<typeof TokenValues>;

/** A token that expires within this time, or in the second half of its life, is refreshed, so that its user has a while. */
export const REFRESHED_AHEAD_MS = 60_000;
/** A refresh ends long before, or never. */
export const CLAIM_MS = 30_000;

/**
 * `use` it; `refresh` it; `wait` for the process that refreshes it; `expired` for good, also where a refresh was sent and its answer
 * was lost: to send the refresh token again could revoke the whole family; `narrow`: other scopes need the person's consent.
 */
export type Standing = 'use' | 'refresh' | 'wait' | 'expired' | 'narrow';

export function standingOf(
  { scopes, updatedAt, expiresAt, claim }: TokenAbout,
  { accessToken, refreshToken }: TokenValues,
  wanted: readonly string[],
  now: Date,
  quirks: Quirks,
): Standing {
  if (missingScopes(wanted, { scopes, refreshToken }, quirks).length > 0) return 'narrow';
  if (accessToken === '') return 'expired';
  const left = expiresAt === undefined ? Infinity : Date.parse(expiresAt) - now.getTime();
  // One that lives for less would be refreshed by every request.
  const half = (Date.parse(expiresAt ?? updatedAt) - Date.parse(updatedAt)) / 2;
  if (left > Math.min(REFRESHED_AHEAD_MS, half)) return 'use';
  if (claim !== undefined) return Date.parse(claim.until) > now.getTime() ? 'wait' : 'expired';
  if (refreshToken !== undefined) return 'refresh';
  return left > 0 ? 'use' : 'expired';
}

/** The scopes of `wanted` that a token does not have. */
export function missingScopes(
  wanted: readonly string[],
  { scopes, refreshToken }: { readonly scopes: readonly string[]; readonly refreshToken?: string | undefined },
  quirks: Quirks,
): string[] {
  // Answers name it seldom: the refresh token is what it asks for (OpenID Connect Core, 11).
  const has = refreshToken === undefined ? scopes : [...scopes, 'offline_access'];
  return wanted.filter((scope) => !isCovered(scope, has, quirks));
}

/** Scopes of a grant. Some servers separate them by commas, against RFC 6749. If the answer names none, all were granted. */
export function grantedScopes(scope: string | undefined, requested: readonly string[]): string[] {
  const named = (scope ?? '').split(/[\s,]+/).filter((one) => one !== '');
  return named.length > 0 ? named : [...requested];
}
