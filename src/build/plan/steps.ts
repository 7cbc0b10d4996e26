// What the steps of each language are made from, and what they give.

import type { BaseImages } from './base-image.ts';
import type { WorkflowConfig } from './workflow-config.ts';
import type { Workspace } from './workspace.ts';

export interface PlanOptions {
  readonly baseImages: BaseImages;
  /** From the deployment, not from the configuration file. */
  readonly installCommand?: string;
  readonly buildCommand?: string;
  /** Whom the image runs as, `uid:gid`. Without it the base image's own user builds and runs. */
  readonly user?: string;
}

export interface StepsInput {
  readonly configPath: string;
  readonly config: Readonly<WorkflowConfig>;
  readonly workspace: Workspace;
  readonly options: PlanOptions;
}

export interface Steps {
  readonly image: string;
  /** Copying and installing. */
  readonly body: readonly string[];
  /** What follows the environment. */
  readonly last: readonly string[];
  /** The configuration with its paths as they are in the image. */
  readonly config: Readonly<WorkflowConfig>;
  readonly warnings: readonly string[];
}
