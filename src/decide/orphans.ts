// Which Secrets of values nobody needs any more: those that a crash left behind between the Secret and its record, and
// those whose last revision has gone.

import type { AppDeployment } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import { VARIABLES_LABEL } from '../api/meta.ts';
import type { KubeObject } from '../kube/client.ts';

/** So long after its making a Secret may still be waiting for its record, in milliseconds. */
const GRACE_MS = 60_000;

export type Orphanhood =
  | { readonly is: 'needed' }
  /** Nobody names it yet; look again after so many milliseconds. */
  | { readonly is: 'young'; readonly forMs: number }
  | { readonly is: 'orphan' };

/** `records` and `revisions` are those of the Secret's namespace. */
export function orphanhoodOf(
  secret: KubeObject,
  records: readonly AppDeployment[],
  revisions: readonly AppRevision[],
  now: Date,
): Orphanhood {
  const { name, labels, deletionTimestamp, creationTimestamp } = secret.metadata;
  if (labels?.[VARIABLES_LABEL] === undefined || deletionTimestamp !== undefined) return { is: 'needed' };
  const namesIt = ({ secretName }: { readonly secretName: string }): boolean => secretName === name;
  const needed =
    records.some(({ spec }) => spec.secrets.some(namesIt)) ||
    revisions.some(({ spec }) => spec.requested.secrets.some(namesIt));
  if (needed) return { is: 'needed' };
  const ageMs = now.getTime() - Date.parse(creationTimestamp ?? now.toISOString());
  return ageMs < GRACE_MS ? { is: 'young', forMs: GRACE_MS - ageMs } : { is: 'orphan' };
}
