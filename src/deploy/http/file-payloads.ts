// The request and the answer of POST /v2/deployments/file.

import { z } from 'zod';
import { SourceRevisionConfig } from '../../kinds/app-deployment.ts';
import { PlainVariableList } from '../../kinds/plain-variables.ts';
import { SOURCES } from '../../kinds/source-rules.ts';
import { CreateDeploymentShape, Deployment, DeploymentFileContent, flag, once, ShownSecrets } from './payloads.ts';
import { FieldChanges } from './revisions/payloads.ts';

export const ApplyFileQuery = ShownSecrets.extend({
  dry_run: once(z.boolean(), flag)
    .default(false)
    .meta({ default: false, description: 'true: everything is checked, and nothing is written. Default: false.' }),
});

const { name, secrets } = CreateDeploymentShape.shape;

export const ApplyFile = z
  .object({
    file: z
      .string()
      .describe('Text of a davit.yaml in YAML or JSON, at most 64 KiB. If it is absent, `set` gives all fields.')
      .nullish(),
    set: z
      .array(
        z.object({
          field: z.string().min(1).max(200).describe('Field of the file, with dots, such as resource_spec.cpu.'),
          value: z.unknown().describe('Its value. null resets it to its default.'),
        }),
      )
      .max(100)
      .describe('Fields that override the text, applied in this order.')
      .nullish(),
    whole: z
      .boolean()
      .describe(
        'true: the file describes the whole deployment, so absent fields are reset to their defaults, except secrets and what the source needs. Default: false: absent fields stay.',
      )
      .nullish(),
    name: name.describe('Name of the deployment. It overrides the name in the file.').nullish(),
    default_name: z.string().describe('Its name if neither `name` nor the file has one.').nullish(),
    source: z
      .enum(SOURCES)
      .describe(
        'Source of the deployment, if the file does not name it. A file with another source is rejected. Default: the source of the deployment, or internal_source.',
      )
      .nullish(),
    source_tarball_path: SourceRevisionConfig.shape.sourceTarballPath
      .unwrap()
      .describe('Path of the upload (internal_source), which a file does not name.')
      .nullish(),
    env: PlainVariableList.describe(
      'Plain variables. They are merged by name into the variables of the file, or of the deployment if the file has none.',
    ).nullish(),
    secrets: secrets
      .describe(
        'Values of secret variables, which a file cannot contain. They are merged by name into the secrets of the deployment.',
      )
      .nullish(),
  })
  .meta({
    id: 'ApplyFile',
    examples: [
      {
        file: 'name: shop\nsource: external_docker\nimage_uri: registry.example.com/team/shop:1.5.0\nsecrets: [API_KEY]\n',
        secrets: [{ name: 'API_KEY', value: 'correct horse battery staple' }],
      },
    ],
  });
export type ApplyFile = z.output<typeof ApplyFile>;

export const AppliedFile = z
  .object({
    name: z.string().describe('Name of the deployment.'),
    created: z.boolean().describe('Whether it is created.'),
    changes: FieldChanges.describe('What differs in the deployment, defaults included. Empty if it is created.'),
    missing_secrets: z
      .array(z.string())
      .describe('Secret variables that the file names and that have no value. Only a dry run may have any.'),
    file: DeploymentFileContent.describe('The fields of the file with those of `set`.'),
    deployment: Deployment.nullable().describe(
      'The deployment. In a dry run it is shown unchanged, and null means that the request would create it.',
    ),
  })
  .meta({
    id: 'AppliedFile',
  });
export type AppliedFile = z.output<typeof AppliedFile>;
