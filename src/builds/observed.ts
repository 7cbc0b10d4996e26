// The observed state of a build and of the builds that compete with it.

import type { Pod } from '../deployments/assess/observed.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import type { BuildSettings } from '../schema/settings.ts';
import type { Contender } from './turns.ts';

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

export interface ObservedBuild {
  readonly revision: AppRevision;
  readonly record: AppDeployment;
  /** The record's revisions including this one, newest first. */
  readonly siblings: readonly AppRevision[];
  readonly job: ObservedJob | undefined;
  /** The newest of the Job's pods. */
  readonly pod: BuildPod | undefined;
  /** All unfinished builds of the platform. Collected only if this build is queued, otherwise empty. */
  readonly others: readonly AppRevision[];
  /** What decides whether one of `others` takes a place, or could take one. */
  readonly contenderOf: (revision: AppRevision) => Contender;
  readonly settings: BuildSettings;
  /** Repository of the deployment's images, without a tag: HOST/PATH. */
  readonly repository: string;
  /** Davit or the record is paused: no build is started, interrupted or cleaned up. */
  readonly isPaused: boolean;
}
