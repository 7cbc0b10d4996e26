// internal_template deploys what stands in the catalogue: what POST and PATCH say about it.

import { afterEach, describe, expect, it } from 'vitest';
import { APP_TEMPLATES, type AppTemplate, type AppTemplateSpec } from '../../../src/kinds/app-template.ts';
import { aBody, type Facade, makeFacade, ORGANIZATION } from './facade.ts';

let facade: Facade;
afterEach(() => facade.app.close());

const REPOSITORY = 'https://code.example/templates/chat';

async function aFacade(...offers: readonly AppTemplateSpec[]): Promise<void> {
  facade = await makeFacade({ hosting: 'cloud' });
  for (const [index, spec] of offers.entries()) offer(`t${index}`, spec);
}
function offer(name: string, spec: AppTemplateSpec): void {
  const metadata = { name, namespace: ORGANIZATION.namespace };
  facade.kube.seed<AppTemplate>(APP_TEMPLATES, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppTemplate',
    metadata,
    spec,
  });
  facade.templates.fill();
}
function template(config: object, revision: object): object {
  return aBody({ source: 'internal_template', source_config: config, source_revision_config: revision });
}
const post = (config: object, revision: object): ReturnType<Facade['call']> =>
  facade.call('POST', '/v2/deployments', template(config, revision));

describe('POST', () => {
  it.each([
    { name: 'an image', config: {}, revision: { image_uri: 'templates/chat:1' }, status: 'AWAITING_DATABASE' },
    {
      name: 'a repository at its branch',
      config: { repo_url: REPOSITORY },
      revision: { repo_ref: 'main', workflow_config_path: 'davit.json' },
      status: 'AWAITING_DATABASE',
    },
  ])('accepts $name of the catalogue', async ({ config, revision, status }) => {
    await aFacade({ imageUri: 'templates/chat:1' }, { repoUrl: REPOSITORY, repoRef: 'main' });
    const answer = await post(config, revision);
    expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
    expect(answer.body).toMatchObject({ source_config: config, source_revision_config: revision, status });
    expect(answer.body.latest_revision_id).toEqual(expect.any(String));
  });

  it.each([
    {
      name: 'an image',
      config: {},
      revision: { image_uri: 'templates/chat:2' },
      findings: [
        ['body.source_revision_config.image_uri', 'no template offers this: choose templates/a:1, templates/b:1'],
      ],
    },
    {
      name: 'a repository',
      config: { repo_url: 'https://code.example/mine' },
      revision: {},
      findings: [['body.source_config.repo_url', `no template offers this: choose ${REPOSITORY}`]],
    },
    {
      name: 'a branch',
      config: { repo_url: REPOSITORY },
      revision: { repo_ref: 'mine', workflow_config_path: 'mine.json' },
      findings: [['body.source_revision_config.repo_ref', 'no template offers this: choose main']],
    },
  ])('rejects $name that is not in the catalogue, and names the choices', async ({ config, revision, findings }) => {
    await aFacade(
      { imageUri: 'templates/b:1' },
      { imageUri: 'templates/a:1' },
      { repoUrl: REPOSITORY, repoRef: 'main' },
    );
    const { status, body } = await post(config, revision);
    expect([status, body.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc.join('.'), msg])]).toEqual([
      422,
      findings,
    ]);
    expect(facade.kept()).toEqual([]);
  });

  it('the message for an empty catalogue says whom to ask', async () => {
    await aFacade();
    const { status, body } = await post({}, { image_uri: 'a:1' });
    expect([status, body.detail[0].msg]).toEqual([
      422,
      'no template offers this: the catalogue has no image_uri. Ask the platform team to add a template',
    ]);
  });

  it('names ten of many choices', async () => {
    await aFacade(...Array.from({ length: 12 }, (_, n) => ({ imageUri: `t/${String(n).padStart(2, '0')}:1` })));
    expect((await post({}, { image_uri: 'a:1' })).body.detail[0].msg).toMatch(/t\/09:1, and 2 more$/);
  });

  it('reports other errors at the same time', async () => {
    await aFacade();
    const { body } = await post({ resource_spec: { cpu: 0 } }, { image_uri: 5 });
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc.at(-1))).toEqual(
      expect.arrayContaining(['cpu', 'image_uri']),
    );
  });

  it('503 while the catalogue is not filled', async () => {
    await aFacade();
    facade.templates.synced = false;
    expect((await post({}, { image_uri: 'a:1' })).status).toBe(503);
    const other = aBody({ source: 'internal_docker', source_revision_config: {} });
    expect((await facade.call('POST', '/v2/deployments', other)).status).toBe(201);
  });
});

describe('PATCH', () => {
  it('to another image of the catalogue, and to no other', async () => {
    await aFacade({ imageUri: 'templates/chat:1' }, { imageUri: 'templates/chat:2' });
    const { body: made } = await post({}, { image_uri: 'templates/chat:1' });
    facade.records.fill();
    const patch = (image: string): ReturnType<Facade['call']> =>
      facade.call('PATCH', `/v2/deployments/${made.id}`, { source_revision_config: { image_uri: image } });
    const wrong = await patch('templates/chat:3');
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ['body', 'source_revision_config', 'image_uri']]);
    expect((await patch('templates/chat:2')).body.image_version).toBe('2');
  });

  it('current values stay valid after they were removed from the catalogue', async () => {
    await aFacade({ imageUri: 'templates/chat:1' });
    const { body: made } = await post({}, { image_uri: 'templates/chat:1' });
    facade.kube.erase(APP_TEMPLATES, { namespace: ORGANIZATION.namespace, name: 't0' });
    facade.templates.fill();
    facade.records.fill();
    // The catalogue is not asked at all.
    facade.templates.synced = false;
    const { status, body } = await facade.call('PATCH', `/v2/deployments/${made.id}`, {
      source_config: { resource_spec: { cpu: 2 } },
      source_revision_config: { image_uri: 'templates/chat:1' },
    });
    expect([status, body.source_config.resource_spec.cpu]).toEqual([200, 2]);
  });
});
