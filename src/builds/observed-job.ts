// The Job of a build and its pod, as far as they are read.

import type { Pod } from '../deployments/assess/observed.ts';
import type { KubeObject } from '../lib/kube/client.ts';

/** The fields of a condition of a batch/v1 Job that are read. */
export interface JobCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** The fields of a batch/v1 Job that are read. */
export interface ObservedJob extends KubeObject {
  readonly spec?: { readonly suspend?: boolean };
  readonly status?: {
    readonly startTime?: string;
    readonly conditions?: readonly JobCondition[];
  };
}

/** A build pod. On an eviction, the kubelet writes `reason` and `message` to its status. */
export interface BuildPod extends Pod {
  readonly status?: Pod['status'] & { readonly reason?: string; readonly message?: string };
}
