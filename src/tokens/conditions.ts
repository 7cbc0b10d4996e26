// Can an OAuth provider or a code host integration be used? Judged by what it names, as far as that can be seen without
// reading a Secret: that a key is missing, or a password refused, shows when it is used.

import type { CodeHostIntegration } from '../kinds/code-host-integration.ts';
import type { ConditionInput } from '../kinds/conditions.ts';
import { SENT_TO_ANNOTATION } from '../kinds/meta.ts';
import { clientSecretFor, type OAuthProvider, refusedHosts } from '../kinds/oauth-provider.ts';
import { isNamedForId, providerIdOf, providerNameFor } from '../kinds/provider-id.ts';
import type { Settings } from '../kinds/settings.ts';
import type { KubeObject } from '../runtime/kube/client.ts';

interface OrganizationSeen {
  /** The Secret of this name in the same namespace, without its values. */
  readonly secret: (name: string) => KubeObject | undefined;
  readonly codeHosts: Settings['codeHosts'];
  /** Hosts of OAuth servers. Empty where the platform gives no tokens. */
  readonly oauth: Pick<Settings['oauth'], 'hosts'>;
}

/** The condition Ready of either. */
export function organizationVerdict(
  object: OAuthProvider | CodeHostIntegration,
  seen: OrganizationSeen,
): ConditionInput {
  return object.kind === 'OAuthProvider' ? providerVerdict(object, seen) : integrationVerdict(object, seen);
}

export function providerVerdict(provider: OAuthProvider, seen: OrganizationSeen): ConditionInput {
  const { metadata, spec } = provider;
  if (!isNamedForId(provider)) {
    const id = providerIdOf(provider);
    return no(
      'NameOfAnotherId',
      `The HTTP API looks for providerId ${id} only in object ${providerNameFor(id)}. Create that object and delete this one.`,
    );
  }
  const [refused] = refusedHosts(spec, seen.oauth);
  if (refused !== undefined) return no('HostNotAllowed', refused.message);
  const { clientSecretRef, tokenEndpointAuthMethod } = spec;
  const secret = clientSecretRef && seen.secret(clientSecretRef.name);
  const sentTo = secret?.metadata.annotations?.[SENT_TO_ANNOTATION];
  // Editors may name such a Secret without reading it, so it has to say which addresses it is for.
  const isExempt = clientSecretRef?.name.startsWith(`${metadata.name}--client-`) === true;
  if (secret && (isExempt || sentTo !== undefined) && sentTo !== clientSecretFor(spec))
    return no(
      'SecretForOtherAddress',
      `Secret ${secret.metadata.name} belongs to another authUrl, tokenUrl, issuer or revocationUrl. Send the client secret again (PATCH with client_secret), or restore the addresses.`,
    );
  if (clientSecretRef) return secretVerdict(clientSecretRef.name, 'clientSecretRef', seen);
  if (tokenEndpointAuthMethod === 'none') return yes('NoSecretNeeded', 'The provider needs no client secret.');
  return no(
    'SecretNotGiven',
    `The provider has no client secret, and its token endpoint requires one (${tokenEndpointAuthMethod}). Set one, or set tokenEndpointAuthMethod to none.`,
  );
}

function integrationVerdict({ spec }: CodeHostIntegration, seen: OrganizationSeen): ConditionInput {
  const { host } = new URL(spec.apiUrl);
  if (!seen.codeHosts.some((allowed) => allowed.host.toLowerCase() === host))
    return no(
      'HostNotAllowed',
      `This platform sends no requests to ${host}. Ask the platform team to add it to settings.codeHosts.`,
    );
  return secretVerdict(spec.credentialsRef.name, 'credentialsRef', seen);
}

function secretVerdict(name: string, field: string, { secret }: OrganizationSeen): ConditionInput {
  if (secret(name) !== undefined) return yes('SecretFound', `Secret ${name} exists.`);
  return no('SecretMissing', `Secret ${name}, which ${field} names, does not exist. Create it in the same namespace.`);
}

function yes(reason: string, message: string): ConditionInput {
  return { type: 'Ready', status: 'True', reason, message };
}
function no(reason: string, message: string): ConditionInput {
  return { type: 'Ready', status: 'False', reason, message };
}
