// Whether this Davit can make the pods of a revision. One that it cannot was made by a newer Davit, before that was
// rolled back: rendered by other makers its pods would be restarted as something that they never were.

import type { AppRevision } from '../../schema/app-revision.ts';
import type { ActionFailure } from './observed.ts';

/** `newest`: the highest version of the pod contract that there are makers of. Undefined where the revision is known. */
export function contractUnknown({ metadata, spec }: AppRevision, newest: number): ActionFailure | undefined {
  const { contract } = spec.resolved;
  if (contract <= newest) return undefined;
  return {
    reason: 'ContractUnknown',
    ref: { kind: 'AppRevision', name: metadata.name },
    message: `A newer version of Davit created revision ${spec.id}: it uses pod contract ${contract}, and this version supports contracts up to ${newest}. Running pods are neither changed nor repaired. Upgrade the controller again, or raise spec.revisionSerial by one for a new revision, which restarts the pods.`,
  };
}
