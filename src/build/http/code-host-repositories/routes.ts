// The routes of /v1/integrations/forge/codehost. They need the right to list the tenant's deployments.

import { z } from 'zod';
import type { Auth } from '../../../api/auth.ts';
import { failures } from '../../../api/openapi.ts';
import { id, NoParameters } from '../../../api/payload-fields.ts';
import type { App } from '../../../api/validation.ts';
import { Uuid } from '../../../kinds/primitives.ts';
import type { Integrations } from './repository.ts';

export function registerRepositories(
  app: App,
  { auth, integrations }: { readonly auth: Auth; readonly integrations: Integrations },
): void {
  const tags = ['repositories'];
  const path = '/v1/integrations/forge/codehost';

  app.get(`${path}/install`, {
    onRequest: auth.as('list'),
    schema: {
      tags,
      operationId: 'listIntegrations',
      summary: 'List the code host integrations that the tenant may use',
      querystring: NoParameters,
      response: { 200: z.array(IntegrationResponse), ...failures(401, 403, 422) },
    },
    handler: async (request) =>
      integrations.list(auth.admitted(request).tenant).map(({ metadata, spec }) => ({
        id: metadata.uid ?? '',
        installation_id: spec.app?.installationId ?? null,
        name: metadata.name,
      })),
  });

  app.get(`${path}/:integration_id/repos`, {
    onRequest: auth.as('list'),
    schema: {
      tags,
      operationId: 'listRepositories',
      summary: 'List the repositories of an integration that can be deployed',
      params: IntegrationPath,
      querystring: NoParameters,
      response: { 200: z.array(RepositoryResponse), ...failures(401, 403, 404, 422, 424, 502, 504) },
    },
    handler: async (request) => {
      const { integration_id: integrationId } = request.params;
      const repositories = await integrations.repositories(auth.admitted(request).tenant, integrationId);
      return repositories.map(({ id, name, owner, url, defaultBranch }) => ({
        host_integration_id: integrationId.toLowerCase(),
        id,
        name,
        owner,
        url,
        default_branch: defaultBranch,
      }));
    },
  });
}

const IntegrationPath = z.object({ integration_id: Uuid.describe('Id of the code host integration.') });

const RepositoryResponse = z
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
  });
type RepositoryResponse = z.output<typeof RepositoryResponse>;

const IntegrationResponse = z
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
  });
type IntegrationResponse = z.output<typeof IntegrationResponse>;
