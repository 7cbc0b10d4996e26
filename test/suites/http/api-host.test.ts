// What published clients send to /api-host and compare with the answer: a Terraform provider and a CLI in Go, call by call.

import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { DISPLAY_NAME_ANNOTATION, OWN_CLIENT_HEADER } from '../../../src/kinds/meta.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { aBody, anIntegration, type Facade, makeFacade, TENANT } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade({ hosting: 'cloud' });
});

const HOST = '/api-host/v2/deployments';
const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const stored = (): AppDeployment => facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0] as AppDeployment;

const GITHUB = {
  name: 'shop',
  source: 'github',
  source_config: {
    integration_id: INTEGRATION,
    repo_url: 'https://host.example/team/shop',
    deployment_type: 'dev_zero',
    build_on_push: true,
    resource_spec: { cpu: 1, memory_mb: 1024 },
  },
  source_revision_config: { repo_ref: 'main', langgraph_config_path: 'langgraph.json' },
  secrets: [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ],
};

/** Creates it under /api-host. Resolves to its id. */
async function created(body: object): Promise<string> {
  anIntegration(facade, INTEGRATION);
  const answer = await facade.call('POST', HOST, body);
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
  return answer.body.id;
}

describe('the Terraform provider', () => {
  it('gets every planned value as planned, so that a plan after apply is empty', async () => {
    const id = await created(GITHUB);
    const revision = facade.snapshot({ state: 'DEPLOYED', message: '' });
    expect(await facade.call('PATCH', `${HOST}/${id}`, { display_name: 'The shop' })).toMatchObject({ status: 200 });
    const { body } = await facade.call('GET', `${HOST}/${id}`);
    expect(body).toMatchObject({ ...GITHUB, display_name: 'The shop', latest_revision_id: revision.spec.id });
    expect(await facade.call('GET', `${HOST}/${id}/revisions/${body.latest_revision_id}`)).toMatchObject({
      body: {
        status: 'DEPLOYED',
        source: 'github',
        source_revision_config: { langgraph_config_path: 'langgraph.json' },
      },
    });
    expect(await facade.call('GET', `${HOST}/${id}/revisions?limit=1&offset=0`)).toMatchObject({
      body: { resources: [{ source: 'github' }] },
    });
  });

  it.each([
    ['a request', { cpu: 4 }, { cpu: 4, memoryMb: 1024 }],
    ['a smaller one', { cpu: 0.5 }, { cpu: 0.5, memoryMb: 1024 }],
    ['a minimum', { min_scale: 3 }, { cpu: 1, memoryMb: 1024, minScale: 3 }],
    ['a limit', { cpu_limit: 1.5 }, { cpu: 1, memoryMb: 1024, cpuLimit: 1.5 }],
    [
      'a limit below the default of its request',
      { db_memory_limit_mb: 128 },
      { cpu: 1, memoryMb: 1024, dbMemoryLimitMb: 128 },
    ],
  ])('changes %s alone, though it sends back all that was derived', async (_what, change, resourceSpec) => {
    const id = await created(GITHUB);
    const before = stored().spec;
    const { source_config: read } = (await facade.call('GET', `${HOST}/${id}`)).body;
    const { status } = await facade.call('POST', `${HOST}/${id}/revisions`, {
      source_revision_config: GITHUB.source_revision_config,
      source_config: { resource_spec: { ...read.resource_spec, ...change } },
    });
    expect(status).toBe(201);
    const { rebuildSerial: _ofAScaleAlone, ...after } = stored().spec;
    expect(after).toEqual({
      ...before,
      sourceConfig: { ...before.sourceConfig, resourceSpec },
      revisionSerial: 2,
    });
  });

  it('takes secret references away, and keeps secrets that it does not send', async () => {
    facade = await makeFacade();
    const reference = { name: 'KEY', secret_name: 'mine', secret_key: 'key' };
    const id = await created(aBody({ secrets: [{ name: 'A', value: '1' }], secret_references: [reference] }));
    await facade.call('POST', `${HOST}/${id}/revisions`, { source_revision_config: {}, secret_references: [] });
    expect((await facade.call('GET', `${HOST}/${id}`)).body).toMatchObject({
      secrets: [{ name: 'A', value: '1' }],
      secret_references: null,
    });
  });

  it('deletes until the answer is 404', async () => {
    const id = await created(aBody({ source: 'internal_docker' }));
    expect((await facade.call('DELETE', `${HOST}/${id}`)).status).toBe(204);
    expect((await facade.call('GET', `${HOST}/${id}`)).body.status).toBe('AWAITING_DELETE');
    facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: 'shop' });
    facade.records.drop(id);
    expect((await facade.call('GET', `${HOST}/${id}`)).status).toBe(404);
  });
});

describe('words', () => {
  it.each([
    ['dev_zero', 'dev'],
    ['dev_free_zero', 'dev_free'],
  ])('%s is answered as itself, and found by %s', async (word, filter) => {
    const id = await created({ ...GITHUB, source_config: { ...GITHUB.source_config, deployment_type: word } });
    const types = async (url: string): Promise<string[]> =>
      (await facade.call('GET', url)).body.resources.map(
        (one: { source_config: { deployment_type: string } }) => one.source_config.deployment_type,
      );
    expect(await types(`${HOST}?deployment_type=${filter}`)).toEqual([word]);
    expect(await types(`/v2/deployments?deployment_type=${filter}`)).toEqual([filter]);
    expect(await types(`${HOST}?deployment_type=prod`)).toEqual([]);
    await facade.call('PATCH', `${HOST}/${id}`, { source_config: { deployment_type: 'prod' } });
    expect(await types(HOST)).toEqual(['prod']);
  });

  it('are those of the API elsewhere, and for deployments that were created with them', async () => {
    const id = await created(GITHUB);
    expect((await facade.call('GET', `/v2/deployments/${id}`)).body).toMatchObject({
      source: 'codehost',
      source_config: { deployment_type: 'dev' },
      source_revision_config: { workflow_config_path: 'langgraph.json' },
    });
    const { langgraph_config_path: path, ...revision } = GITHUB.source_revision_config;
    const own = await created({
      ...GITHUB,
      name: 'own',
      source: 'codehost',
      source_config: { ...GITHUB.source_config, deployment_type: 'dev' },
      source_revision_config: { ...revision, workflow_config_path: path },
    });
    expect((await facade.call('GET', `${HOST}/${own}`)).body).toMatchObject({
      source: 'codehost',
      source_config: { deployment_type: 'dev' },
      source_revision_config: { workflow_config_path: path },
    });
  });

  it("Davit's own clients get the API's words", async () => {
    const id = await created(GITHUB);
    const own = { [OWN_CLIENT_HEADER]: 'page' };
    expect((await facade.call('GET', `${HOST}/${id}`, undefined, own)).body.source).toBe('codehost');
  });

  it('an answer that is sent back changes nothing', async () => {
    const id = await created(GITHUB);
    const before = stored();
    const { body } = await facade.call('GET', `${HOST}/${id}`);
    expect((await facade.call('PATCH', `${HOST}/${id}`, body)).status).toBe(200);
    expect(stored()).toEqual(before);
  });

  it('a display name is kept, shown everywhere and removed by ""', async () => {
    const id = await created(aBody({ source: 'internal_docker', display_name: 'First' }));
    const shown = async (): Promise<unknown> => (await facade.call('GET', `/v2/deployments/${id}`)).body.display_name;
    const { generation, revisionSerial } = { ...stored().metadata, ...stored().spec };
    expect(await shown()).toBe('First');
    await facade.call('PATCH', `/v2/deployments/${id}`, { display_name: 'Second' });
    expect(await shown()).toBe('Second');
    expect({ ...stored().metadata, ...stored().spec }).toMatchObject({ generation, revisionSerial });
    const writes = facade.kept().length;
    await facade.call('PATCH', `/v2/deployments/${id}`, { display_name: 'Second' });
    expect(facade.kept()).toHaveLength(writes);
    await facade.call('PATCH', `/v2/deployments/${id}`, { display_name: '' });
    expect(await shown()).toBeNull();
  });

  it('a display name that kubectl wrote is shown as HTTP would have taken it', async () => {
    const id = await created(aBody({ source: 'internal_docker', display_name: 'First' }));
    const { metadata } = stored();
    facade.records.put({
      ...stored(),
      metadata: {
        ...metadata,
        annotations: { ...metadata.annotations, [DISPLAY_NAME_ANNOTATION]: `\u202e${'A'.repeat(5000)}` },
      },
    });
    const { display_name: shown } = (await facade.call('GET', `/v2/deployments/${id}`)).body;
    expect(shown).toBe(`\ufffd${'A'.repeat(251)}…`);
  });
});

describe('addresses', () => {
  it.each(['', '/api-host', '/davit', '/davit/api-host'])(
    '%s/v1/integrations has the word github too',
    async (root) => {
      facade = await makeFacade({ http: { ...defaultSettings().http, basePath: '/davit' } });
      anIntegration(facade, INTEGRATION);
      for (const path of ['github', 'forge/github', 'forge/codehost']) {
        expect((await facade.call('GET', `${root}/v1/integrations/${path}/install`)).body).toMatchObject([
          { id: INTEGRATION },
        ]);
        expect(await facade.call('GET', `${root}/v1/integrations/${path}/${INTEGRATION}/repos`)).toMatchObject({
          status: 200,
          body: [],
        });
      }
    },
  );

  it('/api-host may be the base path itself', async () => {
    facade = await makeFacade({ hosting: 'cloud', http: { ...defaultSettings().http, basePath: '/api-host' } });
    await created(GITHUB);
    expect((await facade.call('GET', HOST)).body.resources).toMatchObject([{ source: 'github' }]);
    expect((await facade.call('GET', '/v2/deployments')).body.resources).toMatchObject([{ source: 'codehost' }]);
  });
});

describe('the CLI in Go', () => {
  it('finds a deployment by its name, changes it and polls the newest revision', async () => {
    const id = await created(aBody({ source: 'internal_docker' }));
    expect((await facade.call('GET', `${HOST}?name=shop&limit=100&offset=0`)).body.resources).toMatchObject([{ id }]);
    const { status } = await facade.call('PATCH', `${HOST}/${id}`, {
      revision_source: 'internal_docker',
      source_revision_config: { image_uri: 'registry.example/app:2' },
      secrets: [{ name: 'A', value: '1' }],
    });
    expect(status).toBe(200);
    const { resources } = (await facade.call('GET', `${HOST}/${id}/revisions?limit=1`)).body;
    expect(resources).toMatchObject([
      { status: 'CREATING', source_revision_config: { image_uri: 'registry.example/app:2' } },
    ]);
  });

  it.each(['agent_id=a', 'agent_environment=production'])('an agent is no filter: %s', async (query) => {
    const { status, body } = await facade.call('GET', `${HOST}?${query}`);
    expect([status, body.detail[0].type]).toEqual([422, 'extra_forbidden']);
  });

  it('an agent in place of a name is refused with a sentence', async () => {
    const { name: _name, ...body } = aBody({ agent: { agent_id: 'shop', environment: 'production' } });
    expect(await facade.call('POST', HOST, body)).toMatchObject({
      status: 422,
      body: {
        detail: [
          {
            loc: ['body', 'agent'],
            msg: 'is not supported: send name, the name of one deployment',
            type: 'value_error',
          },
        ],
      },
    });
  });
});
