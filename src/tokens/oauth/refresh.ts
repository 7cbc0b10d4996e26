// Refreshes a token once, however many replicas see that it expires: two requests with one refresh token make servers revoke the whole
// family. The first to write its claim sends the request; the others wait and read again.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { Unavailable } from '../../runtime/errors.ts';
import { type Client, type Grant, GrantFailed, type OAuthServer } from './server.ts';
import { CLAIM_MS, grantedScopes, type TokenValues } from './token.ts';
import type { TokenEntry, TokenStore } from './token-store.ts';

export interface RefreshOptions {
  readonly store: TokenStore;
  readonly server: OAuthServer;
  readonly clientOf: (provider: OAuthProvider) => Promise<Client>;
  /** Names this process. */
  readonly holder: string;
  readonly now: () => Date;
  /** Told what became of a refresh token. */
  readonly note: (event: 'refreshed' | 'expired', entry: TokenEntry) => Promise<unknown>;
}

/** Writes of a new token while the API server does not answer. Without one the token is lost. */
const WRITES = 5;
const WRITE_AGAIN_MS = 200;

/**
 * Refreshes the token, or does nothing if another process has changed it. Throws GrantFailed or CodeHostFailed, and then the token
 * stays as it was, for the next attempt. After the answer nothing gives the claim back but the write of the new token: what is
 * lost between the two is lost.
 */
export type Refresh = (entry: TokenEntry, provider: OAuthProvider, values: TokenValues) => Promise<void>;

export function makeRefresh({ store, server, clientOf, holder, now, note }: RefreshOptions): Refresh {
  async function keep(claimed: TokenEntry, client: Client, grant: Grant, refreshToken: string): Promise<void> {
    // A server that rotates no refresh tokens sends none.
    const values = { accessToken: grant.accessToken, refreshToken: grant.refreshToken ?? refreshToken };
    const { provider } = client;
    const written = await patiently(() =>
      store.change(claimed, (present) =>
        isClaimOf(claimed, present) ? store.sealed(renewed(present, grant, now()), provider, values) : undefined,
      ),
    );
    if (written !== undefined) return void (await note('refreshed', written));
    // The person has consented again: at some providers, a revocation would end that consent too.
    if ((await patiently(() => store.read(claimed.id))) !== undefined) return;
    // Somebody has deleted the token meanwhile.
    if (provider.spec.revocationUrl !== undefined) await server.revoke(client, values);
  }

  /** Undefined if another process has changed the token. */
  async function claim(entry: TokenEntry): Promise<TokenEntry | undefined> {
    const until = new Date(now().getTime() + CLAIM_MS).toISOString();
    // Each has a name of its own, also two of one process.
    const own = { holder: `${holder}/${randomUUID()}`, until };
    try {
      return await store.replace({ ...entry, about: { ...entry.about, claim: own } });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      // Whether it was written is not known. Nobody else gives it back, so the token would be lost.
      const present = await patiently(() => store.read(entry.id));
      if (present?.about.claim?.holder !== own.holder) throw error;
      return present;
    }
  }

  return async (entry, provider, { refreshToken = '' }) => {
    const client = await clientOf(provider);
    const claimed = await claim(entry);
    if (claimed === undefined) return;
    let grant: Grant;
    try {
      grant = await server.refresh(client, refreshToken);
    } catch (error) {
      const isDenied = error instanceof GrantFailed && error.why === 'denied';
      // An empty token: the server is not asked again.
      const given = (present: TokenEntry): TokenEntry | undefined | Promise<TokenEntry> => {
        if (!isClaimOf(claimed, present)) return undefined;
        return isDenied ? store.sealed(unclaimed(present), provider, { accessToken: '' }) : unclaimed(present);
      };
      const written = await patiently(() => store.change(claimed, given));
      if (!isDenied) throw error;
      if (written !== undefined) await note('expired', claimed);
      return;
    }
    await keep(claimed, client, grant, refreshToken);
  };
}

async function patiently<T>(write: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Unavailable) || tries === WRITES) throw error;
      await sleep(WRITE_AGAIN_MS);
    }
  }
}

/** A new consent has no claim: neither the answer nor the error of this refresh concerns it. */
function isClaimOf(claimed: TokenEntry, present: TokenEntry): boolean {
  return present.about.claim?.holder === claimed.about.claim?.holder;
}

function unclaimed({ about: { claim: _over, ...about }, ...entry }: TokenEntry): TokenEntry {
  return { ...entry, about };
}

function renewed(entry: TokenEntry, { scope, expiresIn }: Grant, now: Date): TokenEntry {
  const free = unclaimed(entry);
  const about = { ...free.about, scopes: grantedScopes(scope, free.about.scopes), updatedAt: now.toISOString() };
  return withExpiry({ ...free, about }, expiresIn, now);
}

/** Ten years: servers name any number, and there are numbers of which no date can be made. */
const LONGEST_SECONDS = 10 * 365 * 24 * 3600;

/** `seconds`: undefined if the provider named no time. */
export function withExpiry(
  { about: { expiresAt: _before, ...about }, ...entry }: TokenEntry,
  seconds: number | undefined,
  now: Date,
): TokenEntry {
  if (seconds === undefined) return { ...entry, about };
  const ms = Math.min(seconds, LONGEST_SECONDS) * 1000;
  return { ...entry, about: { ...about, expiresAt: new Date(now.getTime() + ms).toISOString() } };
}
