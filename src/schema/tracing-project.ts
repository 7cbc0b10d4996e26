// TracingProject: the project of a deployment's traces. Davit creates one of the same name for every AppDeployment.

import { z } from 'zod';
import type { KubeObject, ObjectMeta } from '../lib/kube/client.ts';
import { ObservedStatus } from './primitives.ts';

export const TracingProjectSpec = z.object({
  description: z.string().max(4096).describe('Purpose of the project, for people.').optional(),
});
export type TracingProjectSpec = z.infer<typeof TracingProjectSpec>;

export const TracingProjectStatus = z.object({
  deploymentUid: z.string().max(64).describe('uid of the AppDeployment of the same name that uses it.').optional(),
  ...ObservedStatus.shape,
});
export type TracingProjectStatus = z.infer<typeof TracingProjectStatus>;

export interface TracingProject extends KubeObject {
  readonly kind: 'TracingProject';
  readonly metadata: ObjectMeta;
  readonly spec?: TracingProjectSpec;
  readonly status?: TracingProjectStatus;
}

export const TRACING_PROJECTS = {
  group: 'davit.dev',
  version: 'v1alpha1',
  kind: 'TracingProject',
  plural: 'tracingprojects',
  namespaced: true,
} as const;
