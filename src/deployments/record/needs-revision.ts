// Which writes need a new revision.

import type { AppDeploymentSpec } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { isUnseen } from './revision-request.ts';
import { awaitsSource, requestedOf, sameJson, sameRevision } from './wanted-revision.ts';

/**
 * Whether a write that changes `before` to `after` needs a new revision. Without a pushed image or source there is nothing
 * to deploy, so it does not, and neither does another scale.
 */
export function needsRevision(before: Readonly<AppDeploymentSpec>, after: Readonly<AppDeploymentSpec>): boolean {
  return !awaitsSource(after) && !sameRevision(requestedOf(before), requestedOf(after));
}

/**
 * Whether a write that asks for a revision leaves what an earlier one asks for: the controller has not seen that one, and this one
 * deploys the same. `own`: the record's revisions.
 */
export function followsUnseen(
  before: Readonly<AppDeploymentSpec>,
  after: Readonly<AppDeploymentSpec>,
  own: readonly AppRevision[],
): boolean {
  return sameJson(before.sourceRevisionConfig, after.sourceRevisionConfig) && isUnseen(before, own);
}
