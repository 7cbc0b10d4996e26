// Which writes need a new revision.

import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import { awaitsSource, requestedOf, sameRequested } from './wanted-revision.ts';

/**
 * Whether a write that turns `before` into `after` needs a new revision. While an image or source is still to be pushed
 * there is nothing to make one of, so it doesn't.
 */
export function needsRevision(before: Readonly<AppDeploymentSpec>, after: Readonly<AppDeploymentSpec>): boolean {
  return !awaitsSource(after) && !sameRequested(requestedOf(before), requestedOf(after));
}
