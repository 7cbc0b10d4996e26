// What was seen of one build and of those beside it, as plain values.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import type { BuildSettings } from '../../api/settings.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { Pod } from '../observed.ts';

/** batch/v1 Job, as far as it is read. */
export interface ObservedJob extends KubeObject {
  readonly spec?: { readonly suspend?: boolean };
  readonly status?: {
    readonly startTime?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

/** A pod that builds: what the kubelet says when it evicts it stands in its status. */
export interface BuildPod extends Pod {
  readonly status?: Pod['status'] & { readonly reason?: string; readonly message?: string };
}

export interface ObservedBuild {
  readonly revision: AppRevision;
  readonly record: AppDeployment;
  /** The record's revisions, newest first; this one is among them. */
  readonly siblings: readonly AppRevision[];
  readonly job: ObservedJob | undefined;
  /** The newest of the Job's pods. */
  readonly pod: BuildPod | undefined;
  /** Every build of the platform that waits for its turn or runs; empty unless this one waits. */
  readonly others: readonly AppRevision[];
  readonly settings: BuildSettings;
  /** Repository of the deployment's images, without a tag: HOST/PATH. */
  readonly repository: string;
  /** All of Davit, or the record, is paused: nothing is begun and nothing is ended. */
  readonly isPaused: boolean;
}
