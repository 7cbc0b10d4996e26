// When new values of a Secret roll running pods. Pods have a digest of the values with which they were started. Their workload has
// the current digest with the same meaning, whose text may differ.

import type { AppRevision } from '../../schema/app-revision.ts';
import { REVISION_LABEL, ROLES, SECRETS_ANNOTATION } from '../../schema/meta.ts';
import { workerNames } from '../../schema/worker-parts.ts';
import { type ObservedChildren, type ObservedSecrets, type Workload, workloadOf } from '../assess/observed.ts';
import { podsOf } from '../assess/pod-failures.ts';
import type { PartDigests, SecretDigests } from '../children/inputs.ts';
import { podsIdOf } from '../record/shared-pods.ts';

/** Quiet time in milliseconds before pods are rolled, because several Secrets are often rotated together. */
const QUIET_MS = 2000;

export interface Rotation {
  readonly digests: PartDigests;
  /** Milliseconds until a delayed rotation is due; undefined if there is none. */
  readonly waitMs: number | undefined;
}

type Revision = Parameters<typeof podsIdOf>[0];

/** The wanted digests of the workloads of a revision. */
export function rotationOf(observed: ObservedChildren & ObservedSecrets, revision: Revision): Rotation {
  const roles = partsWithPods(revision).map(
    (role) => [role, digestsOf(workloadOf(observed, role), observed, podsIdOf(revision, role))] as const,
  );
  const waits = roles.flatMap(([, { waitMs }]) => (waitMs === undefined ? [] : [waitMs]));
  return {
    digests: Object.fromEntries(roles.map(([role, { digests }]) => [role, digests])),
    waitMs: waits.length > 0 ? Math.max(...waits) : undefined,
  };
}

/** All roles, and the workers of a revision. */
function partsWithPods({ spec }: Revision): readonly string[] {
  return [...ROLES, ...workerNames(spec.resolved)];
}

/** The current digests of the pods of a revision, which roll nothing: of the workload, or of its pods if it has another template. */
export function digestsThere(observed: ObservedChildren, revision: AppRevision): Rotation['digests'] {
  return Object.fromEntries(
    partsWithPods(revision).map((role) => {
      const revisionId = podsIdOf(revision, role);
      const workload = workloadOf(observed, role);
      const there = asTheyAre(workload);
      const [pod] = podsOf(observed, role, revisionId);
      if (!pod || !rollsAnyway(workload, revisionId)) return [role, there];
      const { pods: _ofAnother, ...noted } = there;
      const pods = pod.metadata.annotations?.[SECRETS_ANNOTATION];
      return [role, { ...noted, ...(pods !== undefined && { pods }) }];
    }),
  );
}

function rollsAnyway(workload: Workload | undefined, revisionId: string): boolean {
  return workload?.spec?.template?.metadata?.labels?.[REVISION_LABEL] !== revisionId;
}

interface RoleRotation {
  readonly digests: SecretDigests;
  readonly waitMs?: number;
}

function digestsOf(workload: Workload | undefined, { secretsRead }: ObservedSecrets, revisionId: string): RoleRotation {
  if (secretsRead.is === 'nothing') return { digests: {} };
  const there = asTheyAre(workload);
  // Keep running pods instead of starting pods that cannot start.
  if (secretsRead.is === 'incomplete') return { digests: there };
  const { digest, quietForMs = QUIET_MS } = secretsRead;
  const fresh = { digests: { pods: digest, workload: digest } };
  if (!workload || rollsAnyway(workload, revisionId)) return fresh;
  if (there.workload === digest) return { digests: there };
  // For pods without a digest, or with one of a lost key, it is unknown whether they have the current values. They are assumed to,
  // because the alternative is to restart every pod of the cluster.
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

/** A digest is `<key id>.<hex>`. Digests of different keys cannot be compared. */
function sameKey(a: string, b: string): boolean {
  return a.split('.')[0] === b.split('.')[0];
}
