// AppTemplate: an application of the platform's catalogue, as an image or as a repository to build. It is in the organization's
// namespace. Source internal_template deploys only images and repositories of this catalogue.

import { z } from 'zod';
import { SourceConfig, SourceRevisionConfig } from './app-deployment.ts';
import { type OwnObject, ownKind } from './meta.ts';
import { celRules, ObservedStatus, Printable, text } from './primitives.ts';

export const AppTemplateSpec = z
  .object({
    displayName: Printable.min(1).max(253).describe('Display name.').optional(),
    description: text(4096).describe('Description for people.').optional(),
    imageUri: SourceRevisionConfig.shape.imageUri.unwrap().describe('Container image.').optional(),
    repoUrl: SourceConfig.shape.repoUrl.unwrap().describe('Repository URL, https.').optional(),
    repoRef: SourceRevisionConfig.shape.repoRef
      .unwrap()
      .describe('Branch, tag or commit of the repository. If absent, records may name any.')
      .optional(),
    workflowConfigPath: SourceRevisionConfig.shape.workflowConfigPath
      .unwrap()
      .describe('Path of the workflow configuration file in the repository. If absent, records may name any.')
      .optional(),
  })
  .meta(
    celRules([
      { rule: 'has(self.imageUri) != has(self.repoUrl)', message: 'a template has either imageUri or repoUrl' },
      ...(['repoRef', 'workflowConfigPath'] as const).map((field) => ({
        rule: `!has(self.${field}) || has(self.repoUrl)`,
        message: `${field} belongs to a repository: set repoUrl`,
        fieldPath: `.${field}`,
        reason: 'FieldValueForbidden' as const,
      })),
    ]),
  );
export type AppTemplateSpec = z.infer<typeof AppTemplateSpec>;

/** Not written yet: a template names no other objects that could be missing. Every kind has a status for later use. */
export const AppTemplateStatus = ObservedStatus;

export type AppTemplate = OwnObject<'AppTemplate', AppTemplateSpec>;

export const APP_TEMPLATES = ownKind('AppTemplate');
