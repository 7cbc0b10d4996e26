// The revisions of a record in order. Imports only types of the kinds, so that the kubectl plugin can use it without loading
// zod.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';

/** Newest first, by the record's generation in the snapshot, because creationTimestamps have a resolution of one second. */
function newestFirst(a: AppRevision, b: AppRevision): number {
  return (
    b.spec.deploymentGeneration - a.spec.deploymentGeneration ||
    (b.spec.revisionSerial ?? -1) - (a.spec.revisionSerial ?? -1) ||
    (b.spec.pushSerial ?? 0) - (a.spec.pushSerial ?? 0)
  );
}

/** The active revision: the newest that was deployed. `revisions`: newest first. */
export function activeRevision(revisions: readonly AppRevision[]): AppRevision | undefined {
  return revisions.find(({ status }) => status?.state === 'DEPLOYED');
}

/** A scale of zero for the server is one for all parts. */
export function runsNothing({ spec }: Pick<AppRevision, 'spec'>): boolean {
  return spec.resolved.server.maxScale === 0;
}

/** The revisions of this record, newest first. The uid excludes those of an earlier record of the same name. */
export function revisionsOf(record: AppDeployment, revisions: readonly AppRevision[]): AppRevision[] {
  return revisions.filter((revision) => revision.spec.deploymentUid === record.metadata.uid).toSorted(newestFirst);
}

/** Whether the record asks for no pod of the application. */
export function isScaledToZero({ spec }: Pick<AppDeployment, 'spec'>): boolean {
  const { minScale, maxScale } = spec.sourceConfig.resourceSpec ?? {};
  return minScale === 0 && maxScale === 0;
}
