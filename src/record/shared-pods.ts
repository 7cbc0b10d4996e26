// Revisions that share their pods: one whose pods would be those that run already, but for its id.

import type { AppRevision } from '../api/app-revision.ts';

/** The id on the pods of a revision: that of the revision for which they were started. */
export function podsIdOf({ spec }: Pick<AppRevision, 'spec'>): string {
  return spec.resolved.podsOf ?? spec.id;
}
