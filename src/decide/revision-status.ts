// The life of a revision as it is reported. Outcomes are latched: what once was DEPLOYED stays so.

import type { AppRevision, AppRevisionStatus, RevisionState } from '../api/app-revision.ts';
import { rfc3339 } from '../api/conditions.ts';
import { shortened } from '../api/text.ts';
import { imageOf } from '../record/revision-image.ts';
import { STATES_OF_BUILDS } from './assess/build.ts';
import type { Verdict } from './assess/verdict.ts';

/** States in which a revision that was overtaken stays as it is. */
const FINAL: ReadonlySet<RevisionState> = new Set([
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

/**
 * The state of the latest revision, given how far its `rollout` is: workloads and stores (assess/workloads.ts, checkRollout).
 * `isBegun`: the main service is of this revision, or about to be.
 */
export function revisionStateOf(revision: AppRevision, rollout: Verdict, isBegun = true): RevisionState {
  if (revision.status?.state === 'DEPLOYED') return 'DEPLOYED';
  const build = revision.status?.build;
  if (imageOf(revision) === undefined) {
    if (build) return STATES_OF_BUILDS[build.phase];
    return rollout.reason === 'BuilderNotConfigured' ? 'AWAITING_BUILD' : 'QUEUED';
  }
  if (rollout.status === 'True') return 'DEPLOYED';
  // A rollout that somebody has paused has not failed.
  if (rollout.stalled && rollout.reason !== 'RolloutPaused') return 'DEPLOY_FAILED';
  return build && !isBegun ? 'AWAITING_DEPLOY' : 'DEPLOYING';
}

/** The status of the latest revision. */
export function latestStatus(
  revision: AppRevision,
  rollout: Verdict,
  now: Date,
  isBegun = true,
): Omit<AppRevisionStatus, 'build'> {
  const state = revisionStateOf(revision, rollout, isBegun);
  // A pod that fails after the rollout is news of the record, not of the revision's outcome.
  const message = state === 'DEPLOYED' ? 'Every pod runs this revision.' : rollout.message;
  return withState(revision, state, message, now);
}

/** The status of a revision that a newer one has overtaken; `served`: it was rolled out whole, though nobody saw it then. */
export function overtakenStatus(revision: AppRevision, served: boolean, now: Date): Omit<AppRevisionStatus, 'build'> {
  const { build: _others, ...status } = revision.status ?? {};
  if (status.state !== undefined && FINAL.has(status.state)) return status;
  if (served) return withState(revision, 'DEPLOYED', 'It was rolled out before a newer revision took its place.', now);
  return withState(revision, 'SKIPPED', 'Overtaken by a newer revision before it was deployed.', now);
}

function withState(
  revision: AppRevision,
  state: RevisionState,
  message: string,
  now: Date,
): Omit<AppRevisionStatus, 'build'> {
  const before = revision.status;
  const stateChangedAt =
    before?.state === state && before.stateChangedAt !== undefined ? before.stateChangedAt : rfc3339(now);
  return { state, message: shortened(message), observedGeneration: revision.metadata.generation ?? 1, stateChangedAt };
}
