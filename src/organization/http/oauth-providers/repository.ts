// Reads OAuth providers from the watch cache, and writes them with the caller's token. A client secret is stored in a new Secret,
// which the facade's own account creates after a dry run of the provider with the caller's token. The controller collects Secrets
// that no provider names.

import { AlreadyExists, Conflict, Forbidden, NotFound } from '../../../lib/errors.ts';
import { HttpError } from '../../../lib/http/http-error.ts';
import { changedMeanwhile, patchTo, retryOnConflict } from '../../../lib/http/merge-patch.ts';
import { SECRETS } from '../../../lib/kube/api-resources.ts';
import type { SecretObject } from '../../../lib/kube/client.ts';
import { API_VERSION, FACADE_FIELD_MANAGER, PROVIDER_LABEL, SENT_TO_ANNOTATION } from '../../../schema/meta.ts';
import {
  CLIENT_SECRET_KEY,
  clientSecretFor,
  OAUTH_PROVIDERS,
  type OAuthProvider,
  PROVIDER_ID_PATTERN,
} from '../../../schema/oauth-provider.ts';
import type { Caller } from '../../facade/authorization.ts';
import { synced } from '../../facade/caches.ts';
import type { FacadeContext } from '../../facade/collection.ts';
import { textOf } from '../../facade/organization-secrets.ts';
import { undefinedIfHidden } from '../../facade/undefined-if-hidden.ts';
import { patchedSpec, patchFindings, specOf } from './patch.ts';
import type { CreateProvider, PatchProvider } from './payloads.ts';

export interface Providers {
  /** All providers, by id. */
  list(): readonly OAuthProvider[];
  /** Throws HttpError 404 if there is none. */
  find(caller: Caller, id: string): Promise<OAuthProvider>;
  create(caller: Caller, payload: CreateProvider): Promise<OAuthProvider>;
  patch(caller: Caller, id: string, payload: PatchProvider): Promise<OAuthProvider>;
  remove(caller: Caller, id: string): Promise<void>;
}

const WRITING = { fieldManager: FACADE_FIELD_MANAGER };

export function makeProviders({
  caches: { providers },
  secrets,
  remember,
  forget,
  randomSuffix,
}: Pick<FacadeContext, 'caches' | 'secrets' | 'remember' | 'forget' | 'randomSuffix'>): Providers {
  const { namespace } = secrets;
  const secretNameFor = (id: string): string => `${id}--client-${randomSuffix()}`;

  async function find(caller: Caller, id: string): Promise<OAuthProvider> {
    synced(providers, 'OAuth providers');
    if (!new RegExp(PROVIDER_ID_PATTERN).test(id)) throw notFound(id);
    const cached = providers.get({ namespace, name: id });
    if (cached !== undefined) return cached;
    // Another replica of the facade may have just created it.
    const found = await undefinedIfHidden(() =>
      caller.kube.get<OAuthProvider>(OAUTH_PROVIDERS, { namespace, name: id }),
    );
    if (found === undefined) throw notFound(id);
    remember(found);
    return found;
  }

  function keep(id: string, name: string, value: string, spec: OAuthProvider['spec']): Promise<void> {
    const annotations = { [SENT_TO_ANNOTATION]: clientSecretFor(spec) };
    return secrets.make({ name, labels: { [PROVIDER_LABEL]: id }, annotations }, CLIENT_SECRET_KEY, value);
  }

  /** Reads the client secret with the caller's token: a caller with this right may use it for another address. */
  async function readAsCaller(caller: Caller, { metadata, spec }: OAuthProvider): Promise<string | undefined> {
    const reference = spec.clientSecretRef;
    if (!reference?.name.startsWith(`${metadata.name}--client-`)) return undefined;
    const ref = { namespace, name: reference.name };
    return textOf(await undefinedIfHidden(() => caller.kube.get<SecretObject>(SECRETS, ref)), reference.key);
  }

  /**
   * Any caller who may write the provider may compare a value with the Secret that Davit created for it. Other Secrets need the
   * right to read them: otherwise a reference to a Secret would allow guessing its value.
   */
  async function clientSecretOf(caller: Caller, { metadata, spec }: OAuthProvider): Promise<string | undefined> {
    const reference = spec.clientSecretRef;
    if (reference === undefined) return undefined;
    const { name, key } = reference;
    const kept = await secrets.read(name);
    if (kept?.metadata.labels?.[PROVIDER_LABEL] === metadata.name) return textOf(kept, key);
    return textOf(await undefinedIfHidden(() => caller.kube.get<SecretObject>(SECRETS, { namespace, name })), key);
  }

  async function attempt(
    caller: Caller,
    provider: OAuthProvider,
    payload: PatchProvider,
    made: { secretName: string; keptFor?: string },
  ): Promise<OAuthProvider> {
    const { name } = provider.metadata;
    const findings = patchFindings(provider, payload);
    if (findings.length > 0) throw new HttpError(422, findings);
    const write = (patch: object, dryRun: boolean): Promise<OAuthProvider> =>
      caller.kube.mergePatch<OAuthProvider>(OAUTH_PROVIDERS, { namespace, name }, patch, {
        ...WRITING,
        ...(dryRun && { dryRun }),
      });
    const sentTo = clientSecretFor(patchedSpec(provider.spec, payload, undefined));
    if (made.keptFor !== undefined && made.keptFor !== sentTo) {
      // A concurrent change replaced the addresses, so the kept Secret belongs to other addresses.
      made.secretName = secretNameFor(name);
      delete made.keptFor;
    }
    const moved = sentTo !== clientSecretFor(provider.spec);
    const sent = payload.client_secret ?? (moved ? await readAsCaller(caller, provider) : undefined);
    // The caller's right is checked first, because the Secret is read with the facade's own account.
    const withSecret = patchedSpec(provider.spec, payload, sent === undefined ? undefined : made.secretName);
    await write(patchTo(provider, withSecret), true);
    // A new address needs a new Secret: the caller who sends the client secret knows it, but keeping the Secret needs the right to
    // read it.
    const isNew = sent !== undefined && (moved || sent !== (await clientSecretOf(caller, provider)));
    const change = patchTo(provider, isNew ? withSecret : patchedSpec(provider.spec, payload, undefined));
    if (change.spec === undefined) return provider;
    if (isNew && made.keptFor === undefined) {
      await keep(name, made.secretName, sent, withSecret);
      made.keptFor = sentTo;
    }
    const written = await write(change, false);
    remember(written);
    return written;
  }

  return {
    find,

    list() {
      const all = synced(providers, 'OAuth providers').list(namespace);
      return all.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    },

    async create(caller, payload) {
      const id = payload.provider_id;
      const secretName = secretNameFor(id);
      const provider: OAuthProvider = {
        apiVersion: API_VERSION,
        kind: 'OAuthProvider',
        metadata: { name: id, namespace },
        spec: specOf(payload, secretName),
      };
      try {
        await caller.kube.create(OAUTH_PROVIDERS, provider, { ...WRITING, dryRun: true });
        if (payload.client_secret !== undefined && payload.client_secret !== null)
          await keep(id, secretName, payload.client_secret, provider.spec);
        const made = await caller.kube.create(OAUTH_PROVIDERS, provider, WRITING);
        remember(made);
        return made;
      } catch (error) {
        if (!(error instanceof AlreadyExists)) throw error;
        throw new HttpError(409, `An OAuth provider with the id "${id}" already exists.`);
      }
    },

    async patch(caller, id, payload) {
      const provider = await find(caller, id);
      const made = { secretName: secretNameFor(id) };
      try {
        return await retryOnConflict(
          provider,
          (current) => attempt(caller, current, payload, made),
          () => reread(caller, id),
        );
      } catch (error) {
        if (error instanceof Conflict) throw changedMeanwhile(`OAuth provider "${id}"`);
        if (!(error instanceof NotFound)) throw error;
        forget(provider.metadata.uid ?? '');
        throw notFound(id);
      }
    },

    async remove(caller, id) {
      const { metadata } = await find(caller, id);
      const { name, uid = '' } = metadata;
      try {
        const left = await caller.kube.remove(OAUTH_PROVIDERS, { namespace, name }, { uid });
        if (left === undefined) forget(uid);
        else remember(left);
      } catch (error) {
        if (!(error instanceof NotFound || error instanceof Conflict)) throw error;
        forget(uid);
        throw notFound(id);
      }
    },
  };

  async function reread(caller: Caller, id: string): Promise<OAuthProvider> {
    try {
      const provider = await caller.kube.get<OAuthProvider>(OAUTH_PROVIDERS, { namespace, name: id });
      remember(provider);
      return provider;
    } catch (error) {
      // A caller who may write but not read cannot retry on the current provider.
      if (error instanceof Forbidden) throw changedMeanwhile(`OAuth provider "${id}"`);
      throw error;
    }
  }
}

function notFound(id: string): HttpError {
  return new HttpError(404, `OAuth provider "${id}" not found.`);
}
