// The volume of a record's own PostgreSQL. It is a separate object because claim templates cannot grow.

import type { IPersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import type { Resolved } from '../../../kinds/app-revision.ts';
import { POSTGRES_IMAGE_ANNOTATION, POSTGRES_USER_ANNOTATION } from '../../../kinds/meta.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import { databaseNames } from '../../record/database-move.ts';
import type { Inputs } from '../inputs.ts';
import { keptMeta } from '../owner.ts';
import { storageQuantity } from '../quantity.ts';

export type VolumeClaim = Manifest<IPersistentVolumeClaim>;

/**
 * The claim that the record wants. The API server rejects a smaller size and a changed storage class, so the caller must
 * apply neither.
 */
export function makeVolumeClaim(
  { record, revision, settings }: Inputs,
  postgres: NonNullable<Resolved['postgres']>,
): VolumeClaim {
  const { storageClassName } = settings.database;
  const metadata = keptMeta(record, databaseNames(record, revision).postgresClaim, 'postgres');
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        [POSTGRES_IMAGE_ANNOTATION]: postgres.image,
        ...(postgres.user && { [POSTGRES_USER_ANNOTATION]: postgres.user }),
      },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClassName !== undefined && { storageClassName }),
      resources: { requests: { storage: storageQuantity(postgres.storageGi) } },
    },
  };
}
