// Which writes need a new revision.

import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { sameJson } from '../../runtime/json-value.ts';
import { ownRequested } from './file-values.ts';
import { awaitsSource, requestedOf, sameRevision } from './requested.ts';
import { imageOf } from './revision-image.ts';
import { askingForRevision, askingToRebuild, asksToRebuild, isUnseen } from './revision-request.ts';

/**
 * Whether a write that changes `before` to `after` needs a new revision. Without a pushed image or source there is nothing
 * to deploy, so it does not, and neither does another scale.
 */
export function needsRevision(before: Readonly<AppDeploymentSpec>, after: Readonly<AppDeploymentSpec>): boolean {
  return !awaitsSource(after) && !sameRevision(requestedOf(before), requestedOf(after));
}

/**
 * `after` with the request for the revision that a write of it needs. `isAlways`: it asks for one even if nothing changes. `own`: the
 * record's revisions, newest first.
 */
export function withRequest(
  before: Readonly<AppDeploymentSpec>,
  after: AppDeploymentSpec,
  own: readonly AppRevision[],
  isAlways = false,
): AppDeploymentSpec {
  if (!needsRevision(before, after)) return isAlways ? askingToRebuild(before, after) : after;
  const [newest] = own;
  // A rollback to the newest one is nothing to go on with: another change keeps what it deploys.
  const goesBack = before.rollbackTo !== undefined && before.rollbackTo !== newest?.spec.id;
  const isPending = goesBack && followsUnseen(before, after, own);
  const isUndone = newest !== undefined && !isPending && !asksToRebuild(before, own) && isThere(after, newest);
  const asking = askingForRevision(before, after, isPending);
  return isUndone ? { ...asking, rollbackTo: newest.spec.id } : asking;
}

/**
 * Whether the newest revision has these values: the write takes back a change that the controller has not seen, which would look to it
 * like a request to rebuild.
 */
function isThere(after: Readonly<AppDeploymentSpec>, newest: AppRevision): boolean {
  return imageOf(newest) !== undefined && sameRevision(requestedOf(after), ownRequested(newest.spec));
}

/**
 * Whether a write that asks for a revision leaves what an earlier one asks for: the controller has not seen that one, and this one
 * deploys the same. `own`: the record's revisions.
 */
function followsUnseen(
  before: Readonly<AppDeploymentSpec>,
  after: Readonly<AppDeploymentSpec>,
  own: readonly AppRevision[],
): boolean {
  return sameJson(before.sourceRevisionConfig, after.sourceRevisionConfig) && isUnseen(before, own);
}
