// Which Secrets of values nobody needs any more: those that a crash left behind between the Secret and its record, and
// those whose last revision has gone.

import type { AppDeployment } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import { VARIABLES_LABEL } from '../api/meta.ts';
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
  const { name, labels, deletionTimestamp } = secret.metadata;
  if (labels?.[VARIABLES_LABEL] === undefined || deletionTimestamp !== undefined) return { is: 'needed' };
  const namesIt = ({ secretName }: { readonly secretName: string }): boolean => secretName === name;
  const needed =
    records.some(({ spec }) => spec.secrets.some(namesIt)) ||
    revisions.some(({ spec }) => spec.requested.secrets.some(namesIt));
  if (needed) return { is: 'needed' };
  return nobodysForMs < GRACE_MS ? { is: 'young', forMs: GRACE_MS - nobodysForMs } : { is: 'orphan' };
}
