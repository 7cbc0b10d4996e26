// Ids of OAuth providers. People write google_workspace, which no object can be named, so the name of such a provider's object is made
// from the id. It follows from the id alone: the API server itself keeps two from having one id.

import { createHash } from 'node:crypto';
import { type OAuthProvider, PROVIDER_ID_MAX_LENGTH, PROVIDER_NAME_PATTERN } from './oauth-provider.ts';

const DIGITS = 8;

/** provider_id of the HTTP API. */
export function providerIdOf({ metadata, spec }: Pick<OAuthProvider, 'metadata' | 'spec'>): string {
  return spec.providerId ?? metadata.name;
}

/** The object's name for an id: the id itself if it can be a name, otherwise what is readable of it and a digest. */
export function providerNameFor(id: string): string {
  if (isName(id)) return id;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, DIGITS);
  const readable = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, PROVIDER_ID_MAX_LENGTH - DIGITS - 1)
    .replaceAll(/^-|-$/g, '');
  return readable === '' ? digest : `${readable}-${digest}`;
}

/** Whether an object has the name of its id. Another could take the place of the one that has. */
export function isNamedForId(provider: Pick<OAuthProvider, 'metadata' | 'spec'>): boolean {
  return provider.metadata.name === providerNameFor(providerIdOf(provider));
}

/** The provider of an id, of those that `named` gives by their name. */
export function providerById(
  id: string,
  named: (name: string) => OAuthProvider | undefined,
): OAuthProvider | undefined {
  const found = named(providerNameFor(id));
  return found !== undefined && providerIdOf(found) === id ? found : undefined;
}

function isName(id: string): boolean {
  return id.length <= PROVIDER_ID_MAX_LENGTH && new RegExp(PROVIDER_NAME_PATTERN).test(id) && !id.includes('--');
}
