// AppTemplate: an application that the platform offers ready to be deployed, as an image or as a repository to build. It
// lives in the organization's namespace; internal_template deploys what stands in this catalogue and nothing else.

import { z } from 'zod';
import type { KubeObject, ObjectMeta } from '../kube/client.ts';
import { SourceConfig, SourceRevisionConfig } from './app-deployment.ts';
import { celRules, ObservedStatus, Printable } from './primitives.ts';

export const AppTemplateSpec = z
  .object({
    displayName: Printable.min(1).max(253).describe('Name for people.').optional(),
    description: z.string().max(4096).describe('What it is, for people.').optional(),
    imageUri: SourceRevisionConfig.shape.imageUri.unwrap().describe('Its container image.').optional(),
    repoUrl: SourceConfig.shape.repoUrl.unwrap().describe('Its repository, https.').optional(),
    repoRef: SourceRevisionConfig.shape.repoRef
      .unwrap()
      .describe('Branch, tag or commit of the repository; absent: whichever a record names.')
      .optional(),
    workflowConfigPath: SourceRevisionConfig.shape.workflowConfigPath
      .unwrap()
      .describe('Path of the workflow configuration file within the repository; absent: whichever a record names.')
      .optional(),
  })
  .meta(
    celRules([
      { rule: 'has(self.imageUri) != has(self.repoUrl)', message: 'a template has either imageUri or repoUrl' },
      ...(['repoRef', 'workflowConfigPath'] as const).map((field) => ({
        rule: `!has(self.${field}) || has(self.repoUrl)`,
        message: `${field} is of a repository: give repoUrl`,
        fieldPath: `.${field}`,
        reason: 'FieldValueForbidden' as const,
      })),
    ]),
  );
export type AppTemplateSpec = z.infer<typeof AppTemplateSpec>;

/** Nothing writes it: a template names nothing that could be missing. It is there as in every kind, for what may come. */
export const AppTemplateStatus = ObservedStatus;

export interface AppTemplate extends KubeObject {
  readonly kind: 'AppTemplate';
  readonly metadata: ObjectMeta;
  readonly spec: AppTemplateSpec;
}

export const APP_TEMPLATES = {
  group: 'davit.dev',
  version: 'v1alpha1',
  kind: 'AppTemplate',
  plural: 'apptemplates',
  namespaced: true,
} as const;
