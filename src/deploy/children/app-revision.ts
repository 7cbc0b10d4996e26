// The AppRevision object around a snapshot.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision, AppRevisionSpec } from '../../kinds/app-revision.ts';
import { API_VERSION } from '../../kinds/meta.ts';
import { names } from '../record/names.ts';
import { ownedMeta } from './owner.ts';

/** Has no status: a new revision has no history. */
export function makeRevision(
  record: AppDeployment,
  spec: AppRevisionSpec,
  name = names(record.metadata.name).revision(spec.id),
): AppRevision {
  return {
    apiVersion: API_VERSION,
    kind: 'AppRevision',
    metadata: ownedMeta(record, name),
    spec,
  };
}
