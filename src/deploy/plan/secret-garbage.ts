// Which Secrets nobody needs any more: values that a crash left behind between the Secret and its record, or whose last
// revision has gone, and client secrets that no OAuth provider names.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { PROVIDER_LABEL, VARIABLES_LABEL } from '../../kinds/meta.ts';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

/**
 * For so long, in milliseconds, a Secret that has just been made may still be waiting for its record; and one whose
 * revision was just collected, for a rollback that was asked for before.
 */
const GRACE_MS = 60_000;

export type Orphanhood =
  | { readonly is: 'needed' }
  /** Nothing references it yet. Milliseconds until the next check. */
  | { readonly is: 'young'; readonly forMs: number }
  | { readonly is: 'orphan' };

/** The Secrets of values that these name: one look at each of them, however many Secrets are asked about then. */
export function valuesNamed(records: readonly AppDeployment[], revisions: readonly AppRevision[]): ReadonlySet<string> {
  return new Set([
    ...records.flatMap(({ spec }) => spec.secrets.map(({ secretName }) => secretName)),
    ...revisions.flatMap(({ spec }) => spec.requested.secrets.map(({ secretName }) => secretName)),
  ]);
}

/** The client secrets that these name. */
export function clientSecretsNamed(providers: readonly OAuthProvider[]): ReadonlySet<string> {
  return new Set(providers.flatMap(({ spec }) => spec.clientSecretRef?.name ?? []));
}

/**
 * `named`: what is named in the Secret's namespace. `nobodysForMs` is for how long we have seen nothing name it, by our own
 * measure: when it was made is told by another machine's clock, and one of the two may be wrong.
 */
export function secretUsage(secret: KubeObject, named: ReadonlySet<string>, nobodysForMs: number): Orphanhood {
  return orphanhood(VARIABLES_LABEL, secret, named, nobodysForMs);
}

/** As above. */
export function clientSecretOrphanhood(
  secret: KubeObject,
  named: ReadonlySet<string>,
  nobodysForMs: number,
): Orphanhood {
  return orphanhood(PROVIDER_LABEL, secret, named, nobodysForMs);
}

/** `label`: on those that the facade made for this. */
function orphanhood(
  label: string,
  { metadata }: KubeObject,
  named: ReadonlySet<string>,
  nobodysForMs: number,
): Orphanhood {
  const isNoneOfThem = metadata.labels?.[label] === undefined || metadata.deletionTimestamp !== undefined;
  if (isNoneOfThem || named.has(metadata.name)) return { is: 'needed' };
  return nobodysForMs < GRACE_MS ? { is: 'young', forMs: GRACE_MS - nobodysForMs } : { is: 'orphan' };
}
