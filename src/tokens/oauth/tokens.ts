// Gets tokens out of the vault: opens them, has those refreshed that expire, and revokes what is deleted.

import { setTimeout as sleep } from 'node:timers/promises';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { Unavailable } from '../../runtime/errors.ts';
import { quirksOf } from './quirks.ts';
import { makeRefresh, type RefreshOptions, withExpiry } from './refresh.ts';
import type { Client, Grant } from './server.ts';
import { grantedScopes, standingOf, type TokenAbout } from './token.ts';
import type { TokenEntry } from './token-store.ts';

/** What an agent gets. `closed`: the seal is of another provider, client or address. */
export type Obtained =
  | { readonly kind: 'token'; readonly token: string; readonly entry: TokenEntry }
  | { readonly kind: 'expired' | 'narrow' | 'closed' };

export interface Tokens {
  read(id: string): Promise<TokenEntry | undefined>;
  /** Refreshes the token if it expires soon. Throws GrantFailed or CodeHostFailed if the provider fails, Unavailable if it is slow. */
  obtain(entry: TokenEntry, provider: OAuthProvider, scopes: readonly string[]): Promise<Obtained>;
  /** Stores a new grant under the id of `entry`, over an earlier one. */
  keep(entry: Pick<TokenEntry, 'id' | 'subject' | 'about'>, provider: OAuthProvider, grant: Grant): Promise<TokenEntry>;
  /** Replaces the metadata. Undefined if the token is gone. */
  describe(id: string, metadata: TokenAbout['metadata']): Promise<TokenEntry | undefined>;
  /** Stores that an agent has got it now. */
  used(entry: TokenEntry): Promise<void>;
  /** Revokes the token at the provider for which it was sealed, if that is one of these and has an endpoint for it, and deletes it. */
  end(entry: TokenEntry, ...providers: readonly OAuthProvider[]): Promise<void>;
}

/** How often and how long a process waits for another that refreshes. */
const POLL_MS = 200;
const PATIENCE_MS = 4200;

export function makeTokens(options: RefreshOptions): Tokens {
  const { store, server, clientOf, now } = options;
  const refresh = makeRefresh(options);
  /** Clients of providers, as last read to end a token. */
  const clients = new WeakMap<OAuthProvider, Client>();

  /** The Secret of a deleted provider is deleted soon, but an end is retried for an hour. */
  async function clientAtEnd(provider: OAuthProvider): Promise<Client> {
    try {
      clients.set(provider, await clientOf(provider));
    } catch (error) {
      if (!clients.has(provider)) throw error;
    }
    return clients.get(provider) as Client;
  }

  async function obtain(first: TokenEntry, provider: OAuthProvider, scopes: readonly string[]): Promise<Obtained> {
    const end = performance.now() + PATIENCE_MS;
    for (let entry: TokenEntry | undefined = first; entry !== undefined; ) {
      const opened = await store.valuesOf(entry, provider);
      if (opened === undefined) return { kind: 'closed' };
      const { values, isNewest } = opened;
      const standing = standingOf(entry.about, values, scopes, now(), quirksOf(provider));
      if (standing === 'expired' || standing === 'narrow') return { kind: standing };
      if (standing === 'use') {
        // With the newest key. If somebody else writes it, that is as good.
        if (!isNewest) await store.replace(await store.sealed(entry, provider, values));
        return { kind: 'token', token: values.accessToken, entry };
      }
      if (performance.now() > end)
        throw new Unavailable('refresh a token: another replica is still refreshing it', { retryAfterMs: 1000 });
      await (standing === 'refresh' ? refresh(entry, provider, values) : sleep(POLL_MS));
      entry = await store.read(first.id);
    }
    return { kind: 'expired' };
  }

  return {
    read: store.read,
    obtain,
    async keep({ id, subject, about }, provider, { accessToken, refreshToken, expiresIn, scope }) {
      const scopes = grantedScopes(scope, about.scopes);
      const entry = withExpiry({ kind: 'token', id, subject, about: { ...about, scopes } }, expiresIn, now());
      const values = { accessToken, ...(refreshToken !== undefined && { refreshToken }) };
      return store.put(await store.sealed(entry, provider, values));
    },
    async describe(id, metadata) {
      const entry = await store.read(id);
      return entry && store.change(entry, (present) => ({ ...present, about: { ...present.about, metadata } }));
    },
    async used(entry) {
      const usedAt = now().toISOString();
      await store.change(entry, (present) => ({ ...present, about: { ...present.about, usedAt } }));
    },
    async end(entry, ...providers) {
      let present: TokenEntry | undefined = entry;
      // A new consent stays. A new version of this one, such as after a refresh, ends too.
      while (present?.about.createdAt === entry.about.createdAt) {
        for (const provider of providers.filter(({ spec }) => spec.revocationUrl !== undefined)) {
          const opened = await store.valuesOf(present, provider);
          if (opened && opened.values.accessToken !== '')
            await server.revoke(await clientAtEnd(provider), opened.values);
        }
        if (await store.take(present)) return;
        present = await store.read(entry.id);
      }
    },
  };
}
