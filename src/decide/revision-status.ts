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

/**
 * The status of the latest revision. What is in the way is said as the record says it, whose `ready` it is; also of one that is
 * DEPLOYED, where only a person can mend it. A pod that fails later and is replaced changes nothing of the revision's outcome.
 */
export function latestStatus(
  revision: AppRevision,
  rollout: Entry,
  now: Date,
  ready: Entry = rollout,
): AppRevisionStatus {
  const state = revisionStateOf(revision, rollout);
  if (ready.is !== 'pass' && (state !== 'DEPLOYED' || ready.is === 'stalled'))
    return withState(revision, state, ready.message, now);
  return withState(revision, state, state === 'DEPLOYED' ? 'Every pod runs this revision.' : rollout.message, now);
}

/** The status of a revision that a newer one has overtaken; `served`: it was rolled out whole, though nobody saw it then. */
export function overtakenStatus(revision: AppRevision, served: boolean, now: Date): AppRevisionStatus {
  const state = revision.status?.state;
  if (revision.status && state !== undefined && FINAL.has(state)) return revision.status;
  if (served)
    return withState(revision, 'DEPLOYED', 'The revision was rolled out before a newer one replaced it.', now);
  return withState(revision, 'SKIPPED', 'A newer revision replaced this one before it was deployed.', now);
}

function withState(revision: AppRevision, state: RevisionState, message: string, now: Date): AppRevisionStatus {
  const before = revision.status;
  const stateChangedAt =
    before?.state === state && before.stateChangedAt !== undefined ? before.stateChangedAt : rfc3339(now);
  return { state, message: shortened(message), observedGeneration: revision.metadata.generation ?? 1, stateChangedAt };
}
