// The life of a revision as it is reported. Outcomes are latched: what once was DEPLOYED stays so.

import type { AppRevision, AppRevisionStatus, RevisionState } from '../kinds/app-revision.ts';
import { FINAL_PHASES } from '../kinds/build.ts';
import { rfc3339 } from '../kinds/conditions.ts';
import { FAILED_STATES } from '../kinds/revision-states.ts';
import { shortened } from '../kinds/text.ts';
import { STATES_OF_BUILDS } from './assess/build.ts';
import type { Entry } from './assess/entry.ts';
import { imageOf } from './record/revision-image.ts';

/** States in which a revision that was overtaken stays as it is. */
const FINAL: ReadonlySet<RevisionState> = new Set(['DEPLOYED', ...FAILED_STATES, 'SKIPPED', 'INTERRUPTED']);

const FINISHED = 'The rollout of this revision has finished.';

/** Before the message of a revision that failed, which says how things are and not how they were. */
const UNTIL_REPLACED = 'Until a newer revision replaced this one: ';

/** What the deployment's reconciler writes of a status. */
type OwnStatus = Omit<AppRevisionStatus, 'build'>;

/**
 * The state of the latest revision, given how far its rollout is (assess/rollout.ts). `isBegun`: the main service is of this
 * revision, or about to be.
 */
export function revisionStateOf(revision: AppRevision, rollout: Entry, isBegun = true): RevisionState {
  if (revision.status?.state === 'DEPLOYED') return 'DEPLOYED';
  const build = revision.status?.build;
  if (imageOf(revision) === undefined) {
    if (build) return STATES_OF_BUILDS[build.phase];
    return rollout.reason === 'BuilderNotConfigured' ? 'AWAITING_BUILD' : 'QUEUED';
  }
  // One that has not migrated is deployed when its first pods are.
  if (rollout.is === 'pass') return rollout.reason === 'ScaledToZero' ? 'AWAITING_DEPLOY' : 'DEPLOYED';
  // A rollout that somebody has paused has not failed.
  if (rollout.is === 'stalled' && rollout.reason !== 'RolloutPaused') return 'DEPLOY_FAILED';
  return build && !isBegun ? 'AWAITING_DEPLOY' : 'DEPLOYING';
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
  isBegun = true,
): OwnStatus {
  const state = revisionStateOf(revision, rollout, isBegun);
  const failure = rollout.final ? { reason: rollout.reason, message: shortened(rollout.message) } : undefined;
  if (ready.is !== 'pass' && (state !== 'DEPLOYED' || ready.is === 'stalled'))
    return withState(revision, state, ready.message, now, failure);
  const message = state === 'DEPLOYED' ? FINISHED : rollout.message;
  return withState(revision, state, message, now);
}

/**
 * The status of the latest revision after a pass that planned nothing, because the next revision could not be made: only a plan
 * shows again why this one failed.
 */
export function unplannedStatus(revision: AppRevision, planned: OwnStatus): OwnStatus {
  const { build: _others, ...status } = revision.status ?? {};
  return status.state === 'DEPLOY_FAILED' && planned.state !== 'DEPLOYED' ? status : planned;
}

/** The status of a revision that a newer one has overtaken; `served`: it was fully rolled out, although no pass observed it. */
export function overtakenStatus(revision: AppRevision, served: () => boolean, now: Date): OwnStatus {
  const { build, ...status } = revision.status ?? {};
  // What was in its way then is no longer.
  if (status.state === 'DEPLOYED') return { ...status, message: FINISHED };
  if (status.state === 'DEPLOY_FAILED' && status.message && !status.message.startsWith(UNTIL_REPLACED))
    return { ...status, message: shortened(`${UNTIL_REPLACED}${status.message}`) };
  if (status.state !== undefined && FINAL.has(status.state)) return status;
  if (build && build.phase !== 'Built' && FINAL_PHASES.has(build.phase))
    return withState(revision, STATES_OF_BUILDS[build.phase], build.message ?? '', now);
  if (served()) return withState(revision, 'DEPLOYED', FINISHED, now);
  // What was in its way is shown nowhere else any more.
  const lastMessage = status.message ? ` Until then: ${status.message}` : '';
  const message = `A newer revision replaced this one before it was deployed.${lastMessage}`;
  return withState(revision, 'SKIPPED', message, now);
}

function withState(
  revision: AppRevision,
  state: RevisionState,
  message: string,
  now: Date,
  failure = revision.status?.failure,
): OwnStatus {
  const before = revision.status;
  const stateChangedAt =
    before?.state === state && before.stateChangedAt !== undefined ? before.stateChangedAt : rfc3339(now);
  return {
    state,
    message: shortened(message),
    observedGeneration: revision.metadata.generation ?? 1,
    stateChangedAt,
    ...(before?.migration && { migration: before.migration }),
    ...(failure && { failure }),
  };
}
