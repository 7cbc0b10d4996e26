// The page of a tenant that confirms who a person is, before a token is stored. Annotations of the tenant's namespace, which editors of the
// tenant cannot change, name it and its account. Pure.

import { HttpError } from '../../lib/http/http-error.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import { OAUTH_VERIFIER_ACCOUNT_ANNOTATION, OAUTH_VERIFIER_ANNOTATION } from '../../schema/meta.ts';

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

export interface Verifier {
  readonly url: URL;
  /** Username of the only account that may confirm. */
  readonly account: string;
}

/** Undefined if the tenant has none. Throws HttpError 424 if it is no address for browsers or has no account: then nobody gives a token. */
export function verifierOf(namespace: KubeObject | undefined): Verifier | undefined {
  const { [OAUTH_VERIFIER_ANNOTATION]: text, [OAUTH_VERIFIER_ACCOUNT_ANNOTATION]: account } =
    namespace?.metadata.annotations ?? {};
  if (text === undefined) return undefined;
  const name = namespace?.metadata.name;
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL_HOSTS.includes(url.hostname));
  if (url === null || !isSafe || url.username !== '' || url.password !== '' || url.hash !== '')
    throw new HttpError(
      424,
      `Annotation ${OAUTH_VERIFIER_ANNOTATION} of namespace ${name} must be an https URL without credentials and fragment. Until it is, no person can give a token to this tenant.`,
    );
  // Any account with the right of an agent would do otherwise, and each agent has one.
  if (!account)
    throw new HttpError(
      424,
      `Namespace ${name} has annotation ${OAUTH_VERIFIER_ANNOTATION} and not ${OAUTH_VERIFIER_ACCOUNT_ANNOTATION}. Until that names the account of the page, no person can give a token to this tenant: kubectl annotate namespace ${name} ${OAUTH_VERIFIER_ACCOUNT_ANNOTATION}=system:serviceaccount:NAMESPACE:NAME`,
    );
  return { url, account };
}
