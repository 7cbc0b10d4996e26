// Requests and answers of the code hosts' endpoints.

import { z } from 'zod';
import { id } from '../../../organization/facade/payload-fields.ts';
import { Uuid } from '../../../schema/primitives.ts';

export const IntegrationPath = z.object({ integration_id: Uuid.describe('Id of the code host integration.') });

export const RepositoryResponse = z
  .object({
    host_integration_id: id.describe('For source_config.integration_id of a deployment.'),
    id: z.int().describe('Id on the code host.'),
    name: z.string(),
    owner: z.string(),
    url: z.string().describe('For source_config.repo_url of a deployment.'),
    default_branch: z.string().describe('For source_revision_config.repo_ref of a deployment.'),
  })
  .meta({
    id: 'Repository',
    examples: [
      {
        host_integration_id: '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10',
        id: 4711,
        name: 'shop',
        owner: 'team',
        url: 'https://git.example.com/team/shop',
        default_branch: 'main',
      },
    ],
  });
export type RepositoryResponse = z.output<typeof RepositoryResponse>;

export const IntegrationResponse = z
  .object({
    id,
    installation_id: z
      .int()
      .nullable()
      .describe('Installation of the GitHub App. null if the integration uses a token.'),
    name: z.string(),
  })
  .meta({
    id: 'CodeHostIntegration',
    examples: [{ id: '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10', installation_id: null, name: 'gitea' }],
  });
export type IntegrationResponse = z.output<typeof IntegrationResponse>;
