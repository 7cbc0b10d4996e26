// The volume of a record's own PostgreSQL. An object of its own, not a claim template: those cannot grow.

import type { IPersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import type { Resolved } from '../../api/app-revision.ts';
import { POSTGRES_IMAGE_ANNOTATION } from '../../api/meta.ts';
import { names } from '../../record/names.ts';
import type { Inputs } from '../inputs.ts';
import type { Manifest } from '../manifest.ts';
import { keptMeta } from '../owner.ts';
import { storageQuantity } from '../quantity.ts';

export type VolumeClaim = Manifest<IPersistentVolumeClaim>;

/**
 * As the record wants it. The API server refuses a size below the one in force, and a changed storage class: who
 * applies this must not send a smaller size, nor another class than the claim has.
 */
export function makeVolumeClaim(
  { record, settings }: Inputs,
  postgres: NonNullable<Resolved['postgres']>,
): VolumeClaim {
  const { storageClassName } = settings.database;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...keptMeta(record, names(record.metadata.name).postgresClaim, 'postgres'),
      annotations: { [POSTGRES_IMAGE_ANNOTATION]: postgres.image },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClassName !== undefined && { storageClassName }),
      resources: { requests: { storage: storageQuantity(postgres.storageGi) } },
    },
  };
}
