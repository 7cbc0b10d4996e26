// The image that a revision runs: the one it was made with, or the one that was built for it.

import type { AppRevision } from '../../schema/app-revision.ts';

/** By digest where it was built; undefined while it is still to be built. */
export function imageOf({ spec, status }: Pick<AppRevision, 'spec' | 'status'>): string | undefined {
  return spec.resolved.image ?? (status?.build?.phase === 'Built' ? status.build.image : undefined);
}
