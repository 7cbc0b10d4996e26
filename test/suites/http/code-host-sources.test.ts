// Deployments that are built from a repository: the integration must be one that lists the tenant, the repository one of
// its host.

import { beforeEach, expect, it } from 'vitest';
import { type Answer, aBody, anIntegration, type Facade, makeFacade, OTHER_TENANT } from './facade.ts';

const MINE = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const THEIRS = '1a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const MISSING = '2a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const UNKNOWN = 'is not an integration of this tenant. GET /v1/integrations/forge/codehost/install lists them';
const REPOSITORY = 'https://host.example/team/shop';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade({ hosting: 'cloud' });
  anIntegration(facade, MINE);
  anIntegration(facade, THEIRS, { tenants: [OTHER_TENANT.namespace] });
});

function post(integration_id: string, repo_url = REPOSITORY): Promise<Answer> {
  const source_revision_config = { repo_ref: 'main', workflow_config_path: 'davit.json' };
  const body = { source: 'codehost', source_config: { integration_id, repo_url }, source_revision_config };
  return facade.call('POST', '/v2/deployments', aBody(body));
}

it('accepts an integration of the tenant and a repository of its host', async () => {
  expect((await post(MINE.toUpperCase())).status).toBe(201);
});

it.each([
  ['an integration that is not there', MISSING, REPOSITORY, 'integration_id', UNKNOWN],
  ["another tenant's integration", THEIRS, REPOSITORY, 'integration_id', UNKNOWN],
  [
    'a repository of another host',
    MINE,
    'https://evil.example/team/shop',
    'repo_url',
    "is not on the integration's host: it must begin with https://host.example/",
  ],
])('%s is 422, and nothing is written', async (_name, id, repository, field, msg) => {
  const { status, body } = await post(id, repository);
  expect([status, body.detail]).toEqual([422, [{ loc: ['body', 'source_config', field], msg, type: 'value_error' }]]);
  expect(facade.kept()).toEqual([]);
});

it('a deleted integration prevents only changes that need a build', async () => {
  const { id } = (await post(MINE)).body;
  anIntegration(facade, MINE, { tenants: [] });
  const patch = (body: object): Promise<Answer> => facade.call('PATCH', `/v2/deployments/${id}`, body);
  expect((await patch({ source_config: { build_on_push: true } })).status).toBe(200);
  expect((await patch({ source_config: { resource_spec: { cpu: 2 } } })).status).toBe(200);
  const { status, body } = await patch({ source_revision_config: { repo_ref: 'next' } });
  expect([status, body.detail]).toEqual([
    422,
    [{ loc: ['body', 'source_config', 'integration_id'], msg: UNKNOWN, type: 'value_error' }],
  ]);
});

it('503 while integrations are not listed', async () => {
  facade.integrations.synced = false;
  expect((await post(MINE)).status).toBe(503);
});
