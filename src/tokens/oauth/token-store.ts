// Tokens as entries of the vault.

import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { TokenAbout, TokenValues } from './token.ts';
import { type Entry, put, replaceIfSame, type Vault } from './vault.ts';

export type TokenEntry = Entry<TokenAbout>;

export interface TokenStore {
  read(id: string): Promise<TokenEntry | undefined>;
  /** Undefined if the seal is of another provider, client or address. */
  valuesOf(
    entry: TokenEntry,
    provider: OAuthProvider,
  ): Promise<{ readonly values: TokenValues; readonly isNewest: boolean } | undefined>;
  /** The entry with these values. */
  sealed(entry: TokenEntry, provider: OAuthProvider, values: TokenValues): Promise<TokenEntry>;
  /** Writes exactly this version. Undefined if the token has changed meanwhile, or is gone. */
  replace(entry: TokenEntry): Promise<TokenEntry | undefined>;
  /** Changes the present version, however often others do meanwhile. Undefined if the token is gone, or `changed` returns nothing. */
  change(
    entry: TokenEntry,
    changed: (present: TokenEntry) => TokenEntry | undefined | Promise<TokenEntry>,
  ): Promise<TokenEntry | undefined>;
  /** Writes the entry over what is there. */
  put(entry: TokenEntry): Promise<TokenEntry>;
  /** Deletes what was read. */
  take(entry: TokenEntry): Promise<boolean>;
}

export function makeTokenStore(vault: Vault): TokenStore {
  const read = (id: string): Promise<TokenEntry | undefined> => vault.read('token', id, TokenAbout);

  const replace = (entry: TokenEntry): Promise<TokenEntry | undefined> => replaceIfSame(vault, entry);

  return {
    read,
    replace,
    put: (entry) => put(vault, entry),
    take: (entry) => vault.take(entry),
    async valuesOf(entry, provider) {
      const opened = await vault.open(entry, provider);
      const parsed = TokenValues.safeParse(jsonOf(opened?.text));
      return opened && parsed.success ? { values: parsed.data, isNewest: opened.isNewest } : undefined;
    },
    async sealed(entry, provider, values) {
      return { ...entry, sealed: await vault.seal(entry, provider, JSON.stringify(values)) };
    },
    async change(entry, changed) {
      for (let present: TokenEntry | undefined = entry; present !== undefined; ) {
        const next = await changed(present);
        if (next === undefined) return undefined;
        const written: TokenEntry | undefined = await replace(next);
        if (written !== undefined) return written;
        present = await read(entry.id);
      }
      return undefined;
    },
  };
}
