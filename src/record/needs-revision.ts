// Which writes need a new revision (design.md 4), and how a write asks for one: by a serial raised by exactly one.

import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import { lacksImage, requestedOf, sameRequested } from './wanted-revision.ts';

/**
 * Whether a write that turns `before` into `after` needs a new revision. While an image or source is still to be pushed
 * there is nothing to make one of, so it doesn't.
 */
export function needsRevision(before: Readonly<AppDeploymentSpec>, after: Readonly<AppDeploymentSpec>): boolean {
  return !lacksImage(after) && !sameRequested(requestedOf(before), requestedOf(after));
}

/** `after` asking for a revision that `before` has not asked for. What an earlier rollback went back to is over. */
export function askingForRevision(
  before: Readonly<AppDeploymentSpec>,
  after: Readonly<AppDeploymentSpec>,
): AppDeploymentSpec {
  const { rollbackTo: _over, ...spec } = after;
  return { ...spec, revisionSerial: (before.revisionSerial ?? 0) + 1 };
}
