// The record's volumes and mounts, as they are: what the schema lets through is checked by the API server, when the
// workload is applied.

import type { IVolume } from 'kubernetes-models/v1/Volume';
import type { IVolumeMount } from 'kubernetes-models/v1/VolumeMount';
import type { ResourceSpec } from '../api/resource-spec.ts';

/** Undefined where there are none: an empty list would be a field of ours. */
export function volumesFor({ volumes = [] }: Readonly<ResourceSpec>): IVolume[] | undefined {
  const list: readonly object[] = volumes;
  return list.length > 0 ? (list as IVolume[]) : undefined;
}

/** Volume mounts of the main container. */
export function volumeMountsFor({ volumeMounts = [] }: Readonly<ResourceSpec>): IVolumeMount[] | undefined {
  return volumeMounts.length > 0 ? (volumeMounts as IVolumeMount[]) : undefined;
}
