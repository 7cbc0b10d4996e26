// What a change of a revision's status adds to the statistics: a rollout or a build that ended, and how long it took. Times are
// those of the statuses, so a restarted controller measures the same.

import type { AppRevision, RevisionState } from '../../kinds/app-revision.ts';
import { BUILD_REASONS, type BuildPhase, type BuildStatus, FINAL_PHASES } from '../../kinds/build.ts';

export type RolloutResult = 'deployed' | 'failed';
export type BuildResult = 'built' | 'failed' | 'interrupted';

/** Seconds are those between two times of the status, in whole seconds. */
export type Outcome =
  | { readonly of: 'rollout'; readonly result: RolloutResult; readonly seconds: number }
  | { readonly of: 'build'; readonly result: BuildResult; readonly seconds: number }
  | { readonly of: 'build failure'; readonly reason: string }
  | { readonly of: 'build queue'; readonly seconds: number };

/** Results of rollouts by the state in which they end. */
export const ROLLOUT_RESULTS: Partial<Record<RevisionState, RolloutResult>> = {
  DEPLOYED: 'deployed',
  DEPLOY_FAILED: 'failed',
};
/** Results of builds by the phase in which they end. */
export const BUILD_RESULTS: Partial<Record<BuildPhase, BuildResult>> = {
  Built: 'built',
  Failed: 'failed',
  Interrupted: 'interrupted',
};

/** The outcomes between two states of one revision. `before` is undefined for one that was not known before. */
export function outcomesOf(before: AppRevision | undefined, after: AppRevision): readonly Outcome[] {
  return [...rolloutOutcome(before, after), ...buildOutcomes(before?.status?.build, after.status?.build)];
}

/** From the revision or, if it was built, from its image. Only the first result of a revision counts. */
function rolloutOutcome(before: AppRevision | undefined, { metadata, status }: AppRevision): Outcome[] {
  const result = status?.state && ROLLOUT_RESULTS[status.state];
  const isFirst = before !== undefined && (before.status?.state === undefined || !ROLLOUT_RESULTS[before.status.state]);
  const seconds = secondsBetween(status?.build?.finishedAt ?? metadata.creationTimestamp, status?.stateChangedAt);
  return result !== undefined && isFirst && seconds !== undefined ? [{ of: 'rollout', result, seconds }] : [];
}

function buildOutcomes(before: BuildStatus | undefined, after: BuildStatus | undefined): Outcome[] {
  if (after === undefined || before === undefined) return [];
  const outcomes: Outcome[] = [];
  const waited = secondsBetween(after.queuedAt, after.startedAt);
  if (before.startedAt === undefined && waited !== undefined) outcomes.push({ of: 'build queue', seconds: waited });
  const result = BUILD_RESULTS[after.phase];
  if (result === undefined || FINAL_PHASES.has(before.phase)) return outcomes;
  const seconds = secondsBetween(after.startedAt, after.finishedAt);
  // An image that was there already, and a build that could not start, took no time.
  if (seconds !== undefined) outcomes.push({ of: 'build', result, seconds });
  if (result === 'failed') outcomes.push({ of: 'build failure', reason: reasonLabel(after.reason, BUILD_REASONS) });
  return outcomes;
}

function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  const milliseconds = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds / 1000);
}

/** The reason as a label of a metric: one of the table, or `Other`. A status could hold any text, which a metric must not. */
export function reasonLabel(reason: string | undefined, table: object): string {
  return reason !== undefined && Object.hasOwn(table, reason) ? reason : 'Other';
}
