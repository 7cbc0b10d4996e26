// Which writes need a new revision.

import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import { awaitsSource, requestedOf, sameRequested } from './wanted-revision.ts';

/**
 * Whether a write that changes `before` to `after` needs a new revision. Without a pushed image or source there is nothing
 * to deploy, so it does not.
 */
export function needsRevision(before: Readonly<AppDeploymentSpec>, after: Readonly<AppDeploymentSpec>): boolean {
  return !awaitsSource(after) && !sameRequested(requestedOf(before), requestedOf(after));
}
