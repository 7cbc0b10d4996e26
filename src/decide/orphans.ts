// Which Secrets nobody needs any more: values that a crash left behind between the Secret and its record, or whose last
// revision has gone, and client secrets that no OAuth provider names.

import type { AppDeployment } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import { PROVIDER_LABEL, VARIABLES_LABEL } from '../api/meta.ts';
import type { OAuthProvider } from '../api/oauth-provider.ts';
import type { KubeObject } from '../kube/client.ts';

/**
 * For so long, in milliseconds, a Secret that has just been made may still be waiting for its record; and one whose
 * revision was just collected, for a rollback that was asked for before.
 */
const GRACE_MS = 60_000;

export type Orphanhood =
  | { readonly is: 'needed' }
  /** Nobody names it yet; look again after so many milliseconds. */
  | { readonly is: 'young'; readonly forMs: number }
  | { readonly is: 'orphan' };

/**
 * `records` and `revisions` are those of the Secret's namespace. `nobodysForMs` is for how long we have seen nothing
 * name it, by our own measure: when it was made is told by another machine's clock, and one of the two may be wrong.
 */
export function orphanhoodOf(
  secret: KubeObject,
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
  nobodysForMs: number,
): Orphanhood {
  const { name } = secret.metadata;
  if (isNoneOf(VARIABLES_LABEL, secret)) return { is: 'needed' };
  const namesIt = ({ secretName }: { readonly secretName: string }): boolean => secretName === name;
  const needed =
    records.some(({ spec }) => spec.secrets.some(namesIt)) ||
    revisions.some(({ spec }) => spec.requested.secrets.some(namesIt));
  return needed ? { is: 'needed' } : unneeded(nobodysForMs);
}

/** `providers` are those of the Secret's namespace; `nobodysForMs` as above. */
export function clientSecretOrphanhood(
  secret: KubeObject,
  providers: readonly OAuthProvider[],
  nobodysForMs: number,
): Orphanhood {
  if (isNoneOf(PROVIDER_LABEL, secret)) return { is: 'needed' };
  const needed = providers.some(({ spec }) => spec.clientSecretRef?.name === secret.metadata.name);
  return needed ? { is: 'needed' } : unneeded(nobodysForMs);
}

/** Not one that the facade made for this, or going already. */
function isNoneOf(label: string, { metadata }: KubeObject): boolean {
  return metadata.labels?.[label] === undefined || metadata.deletionTimestamp !== undefined;
}

function unneeded(nobodysForMs: number): Orphanhood {
  return nobodysForMs < GRACE_MS ? { is: 'young', forMs: GRACE_MS - nobodysForMs } : { is: 'orphan' };
}
