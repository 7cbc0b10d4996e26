// The observed state of a build and of the builds that compete with it.

import type { Job } from '../deploy/assess/jobs.ts';
import type { Pod } from '../deploy/assess/observed.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import type { BuildSettings } from '../kinds/settings.ts';
import type { Contender } from './turns.ts';

export interface ObservedBuild {
  readonly revision: AppRevision;
  readonly record: AppDeployment;
  /** The record's revisions including this one, newest first. */
  readonly siblings: readonly AppRevision[];
  readonly job: Job | undefined;
  /** The newest of the Job's pods. */
  readonly pod: Pod | undefined;
  /** All unfinished builds of the platform. Collected only if this build is queued, otherwise empty. */
  readonly others: readonly AppRevision[];
  /** What decides whether one of `others` has a turn, or could get one. */
  readonly contenderOf: (revision: AppRevision) => Contender;
  readonly settings: BuildSettings;
  /** Repository of the deployment's images, without a tag: HOST/PATH. */
  readonly repository: string;
  /** Davit or the record is paused: no build is started, interrupted or cleaned up. */
  readonly isPaused: boolean;
}
