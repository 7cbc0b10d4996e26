// Clients that Davit registered at OAuth servers (RFC 7591), and how they are taken back (RFC 7592). Where and with which token is kept
// beside people's tokens, sealed for the provider.

import { z } from 'zod';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { providerIdOf } from '../../kinds/provider-id.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import type { ReadKeys } from './keys.ts';
import { idOf, type Subject } from './names.ts';
import type { OAuthServer } from './server.ts';
import { type Entry, put, type Vault } from './vault.ts';

const Registration = z.object({
  /** Where the client is read and deleted. */
  uri: z.string(),
  /** The bearer token for that. */
  token: z.string(),
});
export type Registration = z.output<typeof Registration>;

export interface Clients {
  keep(provider: OAuthProvider, registration: Registration): Promise<void>;
  /** Deletes the client at the server, if the seal is of one of these providers, then the entry. Throws CodeHostFailed or GrantFailed. */
  end(entry: Entry, providers: readonly OAuthProvider[]): Promise<void>;
}

export interface ClientsOptions {
  readonly vault: Vault;
  readonly keys: ReadKeys;
  readonly server: Pick<OAuthServer, 'unregister'>;
}

const Unread = z.object({ providerUid: z.string() });

export function makeClients({ vault, keys, server }: ClientsOptions): Clients {
  async function registrationOf(entry: Entry, providers: readonly OAuthProvider[]): Promise<Registration | undefined> {
    for (const provider of providers) {
      const parsed = Registration.safeParse(jsonOf((await vault.open(entry, provider))?.text));
      if (parsed.success) return parsed.data;
    }
    return undefined;
  }

  return {
    async keep(provider, registration) {
      const { uid: providerUid = '' } = provider.metadata;
      const subject: Subject = {
        tenant: '',
        tenantId: '',
        provider: providerIdOf(provider),
        user: '',
        slot: providerUid,
      };
      const entry = {
        kind: 'client',
        id: idOf(await keys(), 'client', subject),
        subject,
        about: { providerUid },
      } as const;
      await put(vault, { ...entry, sealed: await vault.seal(entry, provider, JSON.stringify(registration)) });
    },
    async end({ id }, providers) {
      const entry = await vault.read('client', id, Unread);
      if (!entry) return;
      const registration = await registrationOf(entry, providers);
      if (registration) await server.unregister(registration.uri, registration.token);
      await vault.take(entry);
    },
  };
}
