// When new values of a Secret roll running pods. Pods have a digest of the values with which they were started. Their workload has
// the current digest with the same meaning, whose text may differ.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { REVISION_LABEL, ROLES, SECRETS_ANNOTATION } from '../../kinds/meta.ts';
import { workerNames } from '../../kinds/worker-parts.ts';
import { type ObservedChildren, type ObservedSecrets, type Workload, workloadOf } from '../assess/observed.ts';
import { podsOf } from '../assess/pod-failures.ts';
import type { PartDigests, SecretDigests } from '../children/inputs.ts';
import { readAtStart } from '../record/secret-references.ts';
import { podsIdOf } from '../record/shared-pods.ts';

/** Quiet time in milliseconds before pods are rolled, because several Secrets are often rotated together. */
const QUIET_MS = 2000;

export interface Rotation {
  readonly digests: PartDigests;
  /** Milliseconds until a rotation that may be delayed is due; undefined if none can be. */
  readonly waitMs: number | undefined;
}

type Revision = Parameters<typeof podsIdOf>[0];

/** The wanted digests of the workloads of a revision. */
export function rotationOf(observed: ObservedChildren & ObservedSecrets, revision: Revision): Rotation {
  const roles = partsWithPods(revision).map(
    (role) => [role, digestsOf(workloadOf(observed, role), observed, podsIdOf(revision, role))] as const,
  );
  return { digests: Object.fromEntries(roles), waitMs: waitOf(observed) };
}

/** Whatever revision runs: one that is held is rolled by new values as well. */
function waitOf({ secretsRead }: Pick<ObservedSecrets, 'secretsRead'>): number | undefined {
  const { quietForMs = QUIET_MS } = secretsRead.is === 'complete' ? secretsRead : {};
  return quietForMs < QUIET_MS ? QUIET_MS - quietForMs : undefined;
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
      // The workload has the values of the other template, which these pods may not have.
      return [role, pods === undefined ? noted : { pods, workload: pods }];
    }),
  );
}

/** The wanted digests of a revision in whose place the record wants another. Values that only the other one reads roll no pods. */
export function digestsInstead(observed: ObservedChildren & ObservedSecrets, revision: AppRevision): PartDigests {
  return readsSameSecrets(observed, revision)
    ? rotationOf(observed, revision).digests
    : digestsThere(observed, revision);
}

/** The wanted digests of a revision that serves while the latest one cannot be rolled out. A part that returns to it first keeps the digest of its pods. */
export function digestsOfHeld(observed: ObservedChildren & ObservedSecrets, held: AppRevision): PartDigests {
  const returning = Object.entries(digestsThere(observed, held)).filter(([role]) =>
    rollsAnyway(workloadOf(observed, role), podsIdOf(held, role)),
  );
  return { ...digestsInstead(observed, held), ...Object.fromEntries(returning) };
}

/** A revision has its references in another order than its record. */
function readsSameSecrets({ record: { spec } }: ObservedChildren, { spec: { requested } }: AppRevision): boolean {
  const read = (...of: Parameters<typeof readAtStart>): Set<string> =>
    new Set(readAtStart(...of).map((one) => JSON.stringify(one)));
  const [its, now] = [read(requested, requested.resourceSpec), read(spec, spec.sourceConfig.resourceSpec)];
  return its.size === now.size && [...its].every((one) => now.has(one));
}

function rollsAnyway(workload: Workload | undefined, revisionId: string): boolean {
  return workload?.spec?.template?.metadata?.labels?.[REVISION_LABEL] !== revisionId;
}

function digestsOf(
  workload: Workload | undefined,
  { secretsRead }: Pick<ObservedSecrets, 'secretsRead'>,
  revisionId: string,
): SecretDigests {
  if (secretsRead.is === 'nothing') return {};
  const there = asTheyAre(workload);
  // Keep running pods instead of starting pods that cannot start.
  if (secretsRead.is === 'incomplete') return there;
  const { digest } = secretsRead;
  const fresh = { pods: digest, workload: digest };
  if (!workload || rollsAnyway(workload, revisionId)) return fresh;
  if (there.workload === digest) return there;
  // For pods without a digest, or with one of a lost key, it is unknown whether they have the current values. They are assumed to,
  // because the alternative is to restart every pod of the cluster.
  if (there.workload === undefined || !sameKey(there.workload, digest)) return { ...there, workload: digest };
  return waitOf({ secretsRead }) === undefined ? fresh : there;
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
