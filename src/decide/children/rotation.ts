// When a Secret's new values are brought to running pods. Pods carry a digest of what they were started with; their
// workload carries the digest that this stands for, so that the two need not be the same text.

import { REVISION_LABEL, ROLES, type Role, SECRETS_ANNOTATION } from '../../api/meta.ts';
import type { SecretDigests } from '../../resources/inputs.ts';
import { deploymentOf, type Observed, type Workload } from '../observed.ts';

/** So long nothing may have changed before pods are rolled: several Secrets are often rotated at once, in ms. */
const QUIET_MS = 2000;

export interface Rotation {
  readonly digests: Readonly<Partial<Record<Role, SecretDigests>>>;
  /** After so long a rotation that is being held back is due; undefined where there is none. */
  readonly waitMs: number | undefined;
}

/** The digests that the workloads of `revisionId` get. */
export function rotationOf(observed: Observed, revisionId: string): Rotation {
  const roles = ROLES.map((role) => [role, digestsOf(deploymentOf(observed, role), observed, revisionId)] as const);
  const waits = roles.flatMap(([, { waitMs }]) => (waitMs === undefined ? [] : [waitMs]));
  return {
    digests: Object.fromEntries(roles.map(([role, { digests }]) => [role, digests])),
    waitMs: waits.length > 0 ? Math.max(...waits) : undefined,
  };
}

/** The digests that the workloads have: nothing is rolled by them. */
export function digestsThere(observed: Observed): Rotation['digests'] {
  return Object.fromEntries(ROLES.map((role) => [role, asTheyAre(deploymentOf(observed, role))]));
}

interface RoleRotation {
  readonly digests: SecretDigests;
  readonly waitMs?: number;
}

function digestsOf(workload: Workload | undefined, { secretsRead }: Observed, revisionId: string): RoleRotation {
  if (secretsRead.is === 'nothing') return { digests: {} };
  const there = asTheyAre(workload);
  // Pods that run are better than pods that cannot start.
  if (secretsRead.is === 'incomplete') return { digests: there };
  const { digest, quietForMs = QUIET_MS } = secretsRead;
  const fresh = { digests: { pods: digest, workload: digest } };
  const rollsAnyway = workload?.spec?.template?.metadata?.labels?.[REVISION_LABEL] !== revisionId;
  if (!workload || rollsAnyway) return fresh;
  if (there.workload === digest) return { digests: there };
  // Pods of before there were digests, or of a key that was lost: whether they have these values cannot be told. They
  // are taken to, for the alternative is to restart every pod of the cluster.
  if (there.workload === undefined || !sameKey(there.workload, digest))
    return { digests: { ...there, workload: digest } };
  const waitMs = QUIET_MS - quietForMs;
  return waitMs <= 0 ? fresh : { digests: there, waitMs };
}

function asTheyAre(workload: Workload | undefined): SecretDigests {
  const pods = workload?.spec?.template?.metadata?.annotations?.[SECRETS_ANNOTATION];
  const noted = workload?.metadata.annotations?.[SECRETS_ANNOTATION];
  return { ...(pods !== undefined && { pods }), ...(noted !== undefined && { workload: noted }) };
}

/** A digest is `<key id>.<hex>`; those of two keys say nothing of each other. */
function sameKey(a: string, b: string): boolean {
  return a.split('.')[0] === b.split('.')[0];
}
