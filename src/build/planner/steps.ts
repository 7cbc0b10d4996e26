// Input and output of the steps of each language.

import type { RegistryArea } from '../../kinds/registry-images.ts';
import type { AgentServer } from '../../kinds/settings.ts';
import type { BaseImages } from './base-image.ts';
import type { WorkflowConfig } from './workflow-config.ts';
import type { Workspace } from './workspace.ts';

export interface PlanOptions {
  readonly baseImages: BaseImages;
  /** Absent: none is added. */
  readonly agentServer?: AgentServer;
  /** Install and build commands of the deployment, not of the configuration file. */
  readonly installCommand?: string;
  readonly buildCommand?: string;
  /** The platform's registry, and the path of the tenant's repositories there. Absent: images are not judged. */
  readonly registry?: RegistryArea & { readonly own: string };
  /** Build arguments by which the builder passes package indexes. Empty if the platform has none of its own. */
  readonly indexes?: readonly string[];
  /** User of the image, `uid:gid`. If absent, the base image's user builds and runs. */
  readonly user?: string;
}

export interface StepsInput {
  readonly configPath: string;
  readonly config: Readonly<WorkflowConfig>;
  readonly workspace: Workspace;
  readonly options: PlanOptions;
}

export interface Steps {
  /** Reference of the base image. */
  readonly image: string;
  /** Instructions that copy and install. */
  readonly body: readonly string[];
  /** Instructions after the environment variables. */
  readonly last: readonly string[];
  /** The configuration, with its paths to code rewritten for the image. */
  readonly config: Readonly<Partial<WorkflowConfig>>;
  readonly warnings: readonly string[];
}
