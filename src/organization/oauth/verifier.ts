// The page of a tenant that confirms who a person is, before a token is stored. An annotation of the tenant's namespace names it, which
// editors of the tenant cannot change. Pure.

import { HttpError } from '../../lib/http/http-error.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import { OAUTH_VERIFIER_ANNOTATION } from '../../schema/meta.ts';

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** Undefined if the tenant has none. Throws HttpError 424 if it is no address for browsers: then nobody gives a token. */
export function verifierOf(namespace: KubeObject | undefined): URL | undefined {
  const text = namespace?.metadata.annotations?.[OAUTH_VERIFIER_ANNOTATION];
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL_HOSTS.includes(url.hostname));
  if (url === null || !isSafe || url.username !== '' || url.password !== '' || url.hash !== '')
    throw new HttpError(
      424,
      `Annotation ${OAUTH_VERIFIER_ANNOTATION} of namespace ${namespace?.metadata.name} must be an https URL without credentials and fragment. Until it is, no person can give a token to this tenant.`,
    );
  return url;
}
