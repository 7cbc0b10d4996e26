// Reads OAuth providers from the watch cache, and writes them with the caller's token. A client secret is stored in a new Secret,
// which the facade's own account creates after a dry run of the provider with the caller's token. The controller collects Secrets
// that no provider names.

import type { Caller } from '../../../api/authorization.ts';
import { synced } from '../../../api/caches.ts';
import { removeObject } from '../../../api/change-object.ts';
import type { FacadeContext } from '../../../api/collection.ts';
import { undefinedIfHidden } from '../../../api/undefined-if-hidden.ts';
import { API_VERSION, FACADE_FIELD_MANAGER } from '../../../kinds/meta.ts';
import {
  OAUTH_PROVIDERS,
  type OAuthProvider,
  type OAuthProviderSpec,
  ProviderId,
} from '../../../kinds/oauth-provider.ts';
import { isNamedForId, providerById, providerIdOf, providerNameFor } from '../../../kinds/provider-id.ts';
import { AlreadyExists } from '../../../runtime/errors.ts';
import { changeProvider, notFound, taken, type Writing } from './change.ts';
import { keepClientSecret, newSecretName } from './client-secret.ts';
import { specOf } from './patch.ts';
import type { CreateProvider, PatchProvider } from './payloads.ts';

export interface Providers {
  /** All providers, by id. */
  list(): readonly OAuthProvider[];
  /** Throws HttpError 404 if there is none. */
  find(caller: Caller, id: string): Promise<OAuthProvider>;
  /** `made`: fields that no request sets. */
  create(caller: Caller, payload: CreateProvider, made?: Partial<OAuthProviderSpec>): Promise<OAuthProvider>;
  /** Throws what `create` would throw, and stores nothing. */
  judge(caller: Caller, payload: CreateProvider): Promise<void>;
  patch(caller: Caller, id: string, payload: PatchProvider): Promise<OAuthProvider>;
  remove(caller: Caller, id: string): Promise<void>;
}

const WRITING = { fieldManager: FACADE_FIELD_MANAGER };

export function makeProviders(needs: Writing & Pick<FacadeContext, 'caches'>): Providers {
  const { secrets, remember, randomSuffix } = needs;
  const { providers } = needs.caches;
  const { namespace } = secrets;

  async function find(caller: Caller, id: string): Promise<OAuthProvider> {
    synced(providers, 'OAuth providers');
    if (!ProviderId.safeParse(id).success) throw notFound(id);
    const name = providerNameFor(id);
    const cached = providers.get({ namespace, name });
    // Another replica of the facade may have just created it.
    const found =
      cached ?? (await undefinedIfHidden(() => caller.kube.get<OAuthProvider>(OAUTH_PROVIDERS, { namespace, name })));
    const provider = providerById(id, () => found);
    if (provider === undefined) throw notFound(id);
    if (cached === undefined) remember(provider);
    return provider;
  }

  function draftOf(
    payload: CreateProvider,
    made: Partial<OAuthProviderSpec>,
  ): { readonly provider: OAuthProvider; readonly secretName: string } {
    const name = providerNameFor(payload.provider_id);
    const secretName = newSecretName(name, randomSuffix);
    const spec = { ...specOf(payload, secretName), ...made };
    return {
      secretName,
      provider: { apiVersion: API_VERSION, kind: 'OAuthProvider', metadata: { name, namespace }, spec },
    };
  }

  async function dryRun(caller: Caller, provider: OAuthProvider): Promise<void> {
    const sent = caller.kube.create(OAUTH_PROVIDERS, provider, { ...WRITING, dryRun: true });
    await sent.catch(takenBy(providerIdOf(provider)));
  }

  return {
    find,

    list() {
      const all = synced(providers, 'OAuth providers').list(namespace);
      return all.filter(isNamedForId).toSorted((a, b) => (providerIdOf(a) < providerIdOf(b) ? -1 : 1));
    },

    async create(caller, payload, made = {}) {
      const { provider, secretName } = draftOf(payload, made);
      await dryRun(caller, provider);
      const { name } = provider.metadata;
      if (payload.client_secret !== undefined && payload.client_secret !== null)
        await keepClientSecret(
          secrets,
          { provider: name, name: secretName, spec: provider.spec },
          payload.client_secret,
        );
      const created = await caller.kube.create(OAUTH_PROVIDERS, provider, WRITING).catch(takenBy(payload.provider_id));
      remember(created);
      return created;
    },

    judge: (caller, payload) => dryRun(caller, draftOf(payload, {}).provider),

    patch: async (caller, id, payload) => changeProvider(needs, caller, await find(caller, id), payload),

    async remove(caller, id) {
      const provider = await find(caller, id);
      await removeObject(caller, OAUTH_PROVIDERS, provider, { ...needs, missing: () => notFound(id) });
    },
  };
}

function takenBy(id: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof AlreadyExists ? taken(id) : error;
  };
}
