// The routes of /v1/integrations/forge/codehost. They need the right to list the tenant's deployments.

import { z } from 'zod';
import type { Auth } from '../../../organization/facade/auth.ts';
import { failures } from '../../../organization/facade/openapi.ts';
import { NoParameters } from '../../../organization/facade/payload-fields.ts';
import type { App } from '../../../organization/facade/validation.ts';
import { IntegrationPath, IntegrationResponse, RepositoryResponse } from './payloads.ts';
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
