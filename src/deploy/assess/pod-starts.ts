// Whether pods may be started after what has failed.

import { VOLUME_UNUSABLE } from './database-volume.ts';
import type { ActionFailure } from './observed.ts';

const HOLDS_DATA: ReadonlySet<string> = new Set(['PersistentVolumeClaim', 'Cluster']);

/**
 * Pods are not started if a volume or password with the right name is foreign: a database would write into a foreign volume, and
 * pods would get foreign passwords. Pods are not started while a password Secret is missing: a rollout would replace running pods
 * with pods that cannot start, and a store without a password would later look as if its password had been lost. Pods are not
 * started while the volume is missing, rejected or being deleted: the data would be lost with the pod that uses it.
 */
export function mayStartPods(refusals: readonly ActionFailure[]): boolean {
  return !refusals.some(
    ({ reason, ref, absent }) =>
      ref.kind === 'Secret' ||
      VOLUME_UNUSABLE.has(reason) ||
      reason === 'CloudNativePgMissing' ||
      (HOLDS_DATA.has(ref.kind) && (reason === 'NameConflict' || absent === true)),
  );
}
