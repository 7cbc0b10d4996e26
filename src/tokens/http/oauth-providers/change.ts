// Changes a provider with the caller's token. After a conflict the change is computed again from the current provider.

import type { Caller } from '../../../api/authorization.ts';
import { changeObject } from '../../../api/change-object.ts';
import type { FacadeContext } from '../../../api/collection.ts';
import { FACADE_FIELD_MANAGER } from '../../../kinds/meta.ts';
import { clientSecretFor, OAUTH_PROVIDERS, type OAuthProvider } from '../../../kinds/oauth-provider.ts';
import { providerIdOf } from '../../../kinds/provider-id.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { patchTo } from '../../../runtime/http/merge-patch.ts';
import { clientSecretOf, isKept, keepClientSecret, newSecretName, readAsCaller } from './client-secret.ts';
import { patchedSpec, patchFindings } from './patch.ts';
import type { PatchProvider } from './payloads.ts';

export type Writing = Pick<FacadeContext, 'secrets' | 'remember' | 'forget' | 'randomSuffix'>;

/** `provider` may be outdated. */
export async function changeProvider(
  writing: Writing,
  caller: Caller,
  provider: OAuthProvider,
  payload: PatchProvider,
): Promise<OAuthProvider> {
  const id = providerIdOf(provider);
  const made = { secretName: newSecretName(provider.metadata.name, writing.randomSuffix) };
  return changeObject(
    caller,
    [OAUTH_PROVIDERS, `OAuth provider "${id}"`],
    provider,
    (current) => attempt(writing, caller, current, payload, made),
    { ...writing, missing: () => notFound(id) },
  );
}

async function attempt(
  { secrets, remember, randomSuffix }: Writing,
  caller: Caller,
  provider: OAuthProvider,
  payload: PatchProvider,
  made: { secretName: string; keptFor?: string },
): Promise<OAuthProvider> {
  const { name } = provider.metadata;
  const { namespace } = secrets;
  const findings = patchFindings(provider, payload);
  if (findings.length > 0) throw new HttpError(422, findings);
  const write = (patch: object, dryRun: boolean): Promise<OAuthProvider> =>
    caller.kube.mergePatch<OAuthProvider>(OAUTH_PROVIDERS, { namespace, name }, patch, {
      fieldManager: FACADE_FIELD_MANAGER,
      ...(dryRun && { dryRun }),
    });
  const sentTo = clientSecretFor(patchedSpec(provider.spec, payload, undefined));
  if (made.keptFor !== undefined && made.keptFor !== sentTo) {
    // A concurrent change replaced the addresses, so the kept Secret belongs to other addresses.
    made.secretName = newSecretName(name, randomSuffix);
    delete made.keptFor;
  }
  const moved = sentTo !== clientSecretFor(provider.spec);
  const sent = payload.client_secret ?? (moved ? await readAsCaller(secrets, caller, provider) : undefined);
  if (moved && sent === undefined && isKept(provider)) throw new HttpError(422, [SECRET_NEEDED]);
  // The caller's right is checked first, because the Secret is read with the facade's own account.
  const withSecret = patchedSpec(provider.spec, payload, sent === undefined ? undefined : made.secretName);
  await write(patchTo(provider, withSecret), true);
  // A new address needs a new Secret: the caller who sends the client secret knows it, but keeping the Secret needs the right to
  // read it.
  const isNew = sent !== undefined && (moved || sent !== (await clientSecretOf(secrets, caller, provider)));
  const change = patchTo(provider, isNew ? withSecret : patchedSpec(provider.spec, payload, undefined));
  if (change.spec === undefined) return provider;
  if (isNew && made.keptFor === undefined) {
    await keepClientSecret(secrets, { provider: name, name: made.secretName, spec: withSecret }, sent);
    made.keptFor = sentTo;
  }
  const written = await write(change, false);
  remember(written);
  return written;
}

/** The error for a change of the addresses without the client secret, by a caller who may not read it. */
const SECRET_NEEDED = {
  loc: ['body', 'client_secret'],
  msg: 'is required with another auth_url, token_url, issuer or revocation_url, because you may not read the current client secret',
  type: 'value_error',
};

export function notFound(id: string): HttpError {
  return new HttpError(404, `OAuth provider "${id}" not found.`);
}

export function taken(id: string): HttpError {
  return new HttpError(409, `An OAuth provider with the id "${id}" already exists.`);
}
