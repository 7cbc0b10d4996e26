// TracingProject: the project of a deployment's traces. Davit creates one of the same name for every AppDeployment.

import { z } from 'zod';
import type { KubeObject } from '../runtime/kube/client.ts';
import { ownKind } from './meta.ts';
import { ObservedStatus, text } from './primitives.ts';

export const TracingProjectSpec = z.object({
  description: text(4096).describe('Purpose of the project, for people.').optional(),
});
export type TracingProjectSpec = z.infer<typeof TracingProjectSpec>;

export const TracingProjectStatus = z.object({
  deploymentUid: text(64).describe('uid of the AppDeployment of the same name that uses it.').optional(),
  ...ObservedStatus.shape,
});
export type TracingProjectStatus = z.infer<typeof TracingProjectStatus>;

export interface TracingProject extends KubeObject {
  readonly kind: 'TracingProject';
  readonly spec?: TracingProjectSpec;
  readonly status?: TracingProjectStatus;
}

export const TRACING_PROJECTS = ownKind('TracingProject');
