// Which parts run a revision, and in which order they start: the server first, the others when it is ready (ADR 65).

import type { AppRevision } from '../../kinds/app-revision.ts';
import { REVISION_LABEL, STORE_PARTS, STORE_REVISION_ANNOTATION, type StorePart } from '../../kinds/meta.ts';
import { isSingleton, partsOf } from '../record/parts.ts';
import { imageOf } from '../record/revision-image.ts';
import { activeRevision } from '../record/revisions.ts';
import { followsDepth, scaleOf } from '../record/scale.ts';
import { podsIdOf, sharesPods, storeIdOf } from '../record/shared-pods.ts';
import {
  availableOf,
  type Observed,
  type ObservedChildren,
  type ObservedRecord,
  storeObjectOf,
  type Workload,
  workloadOf,
} from './observed.ts';

/**
 * Whether a part is not rolled out yet because its server comes first: in the first rollout of a revision, until the server is ready.
 * Where no earlier revision serves, the server may need the part: it starts when the deadline of the server has passed. Elsewhere the
 * revision has failed then.
 */
export function awaitsServer(observed: Observed, revision: AppRevision, role: string): boolean {
  const isOwnTurn = role === 'server' || hasBeenReady(revision, role) || hasBeenReady(revision, 'server');
  const isThere = hasTemplateOf(workloadOf(observed, role), revision, role) && !isAtZero(observed, revision, role);
  if (isOwnTurn || isThere) return false;
  const server = workloadOf(observed, 'server');
  const isOver =
    !activeBefore(observed, revision) &&
    hasTemplateOf(server, revision, 'server') &&
    isSeen(server) &&
    hasExceededDeadline(observed, server, revision, 'server');
  return !isOver && !isRoleRolled(observed, revision, 'server');
}

/** Has every pod of an earlier revision, and with it the need of what this one no longer wants, gone? */
export function isRolled(observed: Observed, revision: AppRevision): boolean {
  if (imageOf(revision) === undefined) return false;
  return (
    partsOf(revision.spec.resolved).every((role) => isRoleRolled(observed, revision, role)) &&
    STORE_PARTS.every((part) => isStoreOf(observed, revision, part))
  );
}

/** Whether every pod of a part is of the revision, and ready. */
export function isRoleRolled(observed: Observed, revision: AppRevision, role: string): boolean {
  const workload = workloadOf(observed, role);
  if (!workload || !hasTemplateOf(workload, revision, role) || !isSeen(workload)) return false;
  // Without a pod nothing shows that its pods start.
  if (!hasBeenReady(revision, role) && isAtZero(observed, revision, role)) return false;
  const wanted = workload.spec?.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0 } = workload.status ?? {};
  const availableReplicas = availableOf(observed, role);
  if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted) return true;
  // An autoscaler that asks for more pods begins no rollout: what counts is that those there are run this revision, and
  // are at least as many as they must be. The first time all of them have to be ready.
  const scale = scaleOf(revision.spec.resolved, role, followsDepth(revision.spec, observed.keda));
  if (scale.kind !== 'range') return false;
  const enough = hasBeenReady(revision, role) || availableReplicas === replicas;
  return updatedReplicas === replicas && enough && availableReplicas >= scale.min;
}

/** Whether a part has no pod yet that is to have some, because it comes from a scale of zero. */
function isAtZero(observed: Observed, revision: AppRevision, role: string): boolean {
  const scale = scaleOf(revision.spec.resolved, role, followsDepth(revision.spec, observed.keda));
  const least = scale.kind === 'fixed' ? scale.replicas : scale.min;
  return least > 0 && workloadOf(observed, role)?.spec?.replicas === 0;
}

/** Whether the pods of a part were ready once: before this revision, or for it. */
export function hasBeenReady(revision: AppRevision, role: string): boolean {
  return revision.status?.state === 'DEPLOYED' || sharesPods(revision, role);
}

export function hasTemplateOf(workload: Workload | undefined, revision: AppRevision, role: string): boolean {
  const isOfKind = workload?.kind === (isSingleton(revision.spec.resolved, role) ? 'StatefulSet' : 'Deployment');
  return isOfKind && workload.spec?.template?.metadata?.labels?.[REVISION_LABEL] === podsIdOf(revision, role);
}

/** Whether an own store is as the revision wants it, as far as that must be said: pods of its own say the same. */
export function isStoreOf(observed: ObservedChildren, revision: AppRevision, part: StorePart): boolean {
  const id = storeIdOf(revision, part);
  const store = storeObjectOf(observed, part);
  return id === undefined || store?.metadata.annotations?.[STORE_REVISION_ANNOTATION] === id;
}

/** Whether its controller has looked at the workload as it is: before that its status is of another. */
export function isSeen(workload: Workload | undefined): boolean {
  return workload !== undefined && (workload.status?.observedGeneration ?? 0) >= (workload.metadata.generation ?? 1);
}

/**
 * Whether the rollout of a revision has made no progress for too long. With another template a Deployment keeps the condition of the
 * rollout before until it sees progress; that of its own comes later than the revision.
 */
export function hasExceededDeadline(
  { revisions }: Pick<ObservedRecord, 'revisions'>,
  workload: Workload | undefined,
  revision: AppRevision,
  role: string,
): boolean {
  const progress = workload?.status?.conditions?.find(({ type }) => type === 'Progressing');
  if (progress?.status !== 'False' || progress.reason !== 'ProgressDeadlineExceeded') return false;
  const before = revisions[revisions.findIndex(({ spec }) => spec.id === revision.spec.id) + 1];
  const isOfBefore = before !== undefined && podsIdOf(before, role) !== podsIdOf(revision, role);
  const { lastTransitionTime: since = '' } = progress;
  return !isOfBefore || since === '' || since > (revision.metadata.creationTimestamp ?? '');
}

/** The active revision if it is another one, and its pods can be started: the newest that was deployed. */
export function activeBefore(
  { revisions }: Pick<ObservedRecord, 'revisions'>,
  latest: AppRevision,
): AppRevision | undefined {
  const active = activeRevision(revisions);
  const isOther = active !== undefined && active.spec.id !== latest.spec.id;
  return isOther && imageOf(active) !== undefined ? active : undefined;
}
