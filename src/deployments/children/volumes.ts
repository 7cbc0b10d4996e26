// The record's volumes and mounts, unchanged. The API server validates free-form parts when the workload is applied.

import type { IVolume } from 'kubernetes-models/v1/Volume';
import type { IVolumeMount } from 'kubernetes-models/v1/VolumeMount';
import type { ResourceSpec } from '../../schema/resource-spec.ts';

/** Undefined if there are none, because an empty list would be a field that Davit owns. */
export function volumesFor({ volumes = [] }: Readonly<ResourceSpec>): IVolume[] | undefined {
  const list: readonly object[] = volumes;
  return list.length > 0 ? (list as IVolume[]) : undefined;
}

/** Volume mounts of the main container. */
export function volumeMountsFor({ volumeMounts = [] }: Readonly<ResourceSpec>): IVolumeMount[] | undefined {
  return volumeMounts.length > 0 ? (volumeMounts as IVolumeMount[]) : undefined;
}
