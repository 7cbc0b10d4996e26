// The client secret of a provider, in a Secret of the organization's namespace.

import type { Caller } from '../../../api/authorization.ts';
import { type OrganizationSecrets, textOf } from '../../../api/organization-secrets.ts';
import { undefinedIfHidden } from '../../../api/undefined-if-hidden.ts';
import { PROVIDER_LABEL, SENT_TO_ANNOTATION } from '../../../kinds/meta.ts';
import { CLIENT_SECRET_KEY, clientSecretFor, type OAuthProvider } from '../../../kinds/oauth-provider.ts';
import { SECRETS } from '../../../runtime/kube/api-resources.ts';
import type { SecretObject } from '../../../runtime/kube/client.ts';

export function newSecretName(providerName: string, randomSuffix: () => string): string {
  return `${providerName}--client-${randomSuffix()}`;
}

/** Stores a client secret in a new Secret. `provider`: the name of its object. `name`: the Secret. */
export function keepClientSecret(
  secrets: OrganizationSecrets,
  { provider, name, spec }: { readonly provider: string; readonly name: string; readonly spec: OAuthProvider['spec'] },
  value: string,
): Promise<void> {
  const annotations = { [SENT_TO_ANNOTATION]: clientSecretFor(spec) };
  return secrets.make({ name, labels: { [PROVIDER_LABEL]: provider }, annotations }, CLIENT_SECRET_KEY, value);
}

/** Whether the API stored the client secret. */
export function isKept({ metadata, spec }: OAuthProvider): boolean {
  return spec.clientSecretRef?.name.startsWith(`${metadata.name}--client-`) === true;
}

/** Reads the client secret with the caller's token: a caller with this right may use it for another address. */
export async function readAsCaller(
  { namespace }: OrganizationSecrets,
  caller: Caller,
  provider: OAuthProvider,
): Promise<string | undefined> {
  const reference = provider.spec.clientSecretRef;
  if (reference === undefined || !isKept(provider)) return undefined;
  const ref = { namespace, name: reference.name };
  return textOf(await undefinedIfHidden(() => caller.kube.get<SecretObject>(SECRETS, ref)), reference.key);
}

/**
 * Any caller who may write the provider may compare a value with the Secret that Davit created for it. Other Secrets need the
 * right to read them: otherwise a reference to a Secret would allow guessing its value.
 */
export async function clientSecretOf(
  secrets: OrganizationSecrets,
  caller: Caller,
  { metadata, spec }: OAuthProvider,
): Promise<string | undefined> {
  const reference = spec.clientSecretRef;
  if (reference === undefined) return undefined;
  const { name, key } = reference;
  const kept = await secrets.read(name);
  if (kept?.metadata.labels?.[PROVIDER_LABEL] === metadata.name) return textOf(kept, key);
  return textOf(
    await undefinedIfHidden(() => caller.kube.get<SecretObject>(SECRETS, { namespace: secrets.namespace, name })),
    key,
  );
}
