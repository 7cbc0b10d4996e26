// Which revisions are a record's own, and their order. Of the kinds it takes the types alone, so that the kubectl plugin,
// which is one file and loads no zod, can use it too.

import type { AppDeployment } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';

/** Newest first, by the record's generation in the snapshot; creationTimestamps of one second tie. */
function newestFirst(a: AppRevision, b: AppRevision): number {
  return (
    b.spec.deploymentGeneration - a.spec.deploymentGeneration ||
    (b.spec.revisionSerial ?? -1) - (a.spec.revisionSerial ?? -1) ||
    (b.spec.pushSerial ?? 0) - (a.spec.pushSerial ?? 0)
  );
}

/** The revisions of this very record (by uid: an earlier record of the same name had its own), newest first. */
export function revisionsOf(record: AppDeployment, revisions: readonly AppRevision[]): AppRevision[] {
  return revisions.filter((revision) => revision.spec.deploymentUid === record.metadata.uid).toSorted(newestFirst);
}
