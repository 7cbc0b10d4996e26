// The life of a revision as it is reported. Outcomes are latched: what once was DEPLOYED stays so.

import type { AppRevision, AppRevisionStatus, RevisionState } from '../api/app-revision.ts';
import { rfc3339 } from '../api/conditions.ts';
import { shortened } from '../api/text.ts';
import type { Entry } from './assess/entry.ts';

/** States in which a revision that was overtaken stays as it is. */
const FINAL: ReadonlySet<RevisionState> = new Set([
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

/** The state of the latest revision, given how far its rollout is (assess/rollout.ts). */
export function revisionStateOf(revision: AppRevision, rollout: Entry): RevisionState {
  if (revision.status?.state === 'DEPLOYED') return 'DEPLOYED';
  if (revision.spec.resolved.image === undefined) return 'AWAITING_BUILD';
  if (rollout.is === 'pass') return 'DEPLOYED';
  // A rollout that somebody has paused has not failed.
  return rollout.is === 'stalled' && rollout.reason !== 'RolloutPaused' ? 'DEPLOY_FAILED' : 'DEPLOYING';
}

/** The status of the latest revision. */
export function latestStatus(revision: AppRevision, rollout: Entry, now: Date): AppRevisionStatus {
  const state = revisionStateOf(revision, rollout);
  // A pod that fails after the rollout is news of the record, not of the revision's outcome.
  const message = state === 'DEPLOYED' ? 'Every pod runs this revision.' : rollout.message;
  return withState(revision, state, message, now);
}

/** The status of a revision that a newer one has overtaken; `served`: it was rolled out whole, though nobody saw it then. */
export function overtakenStatus(revision: AppRevision, served: boolean, now: Date): AppRevisionStatus {
  const state = revision.status?.state;
  if (revision.status && state !== undefined && FINAL.has(state)) return revision.status;
  if (served) return withState(revision, 'DEPLOYED', 'It was rolled out before a newer revision took its place.', now);
  return withState(revision, 'SKIPPED', 'Overtaken by a newer revision before it was deployed.', now);
}

function withState(revision: AppRevision, state: RevisionState, message: string, now: Date): AppRevisionStatus {
  const before = revision.status;
  const stateChangedAt =
    before?.state === state && before.stateChangedAt !== undefined ? before.stateChangedAt : rfc3339(now);
  return { state, message: shortened(message), observedGeneration: revision.metadata.generation ?? 1, stateChangedAt };
}
