// Fields of a body that nobody knows: told, refused or passed over, as fieldValidation says.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Invalid } from '../../../src/runtime/errors.ts';
import { aBody, type Facade, makeFacade } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});
afterEach(() => facade.app.close());

const loc = ['body', 'source_config', 'resource_spec', 'max_scal'];
const WARNING = { loc, msg: 'is not a known field: did you mean max_scale?', type: 'extra_forbidden' };
const misspelt = aBody({ source_config: { resource_spec: { max_scal: 0 } } });

describe('a misspelt field', () => {
  it.each(['', '?fieldValidation=Warn'])('is a warning in the answer to a create: %s', async (query) => {
    const answer = await facade.call('POST', `/v2/deployments${query}`, misspelt);
    expect(answer).toMatchObject({ status: 201, body: { name: 'shop', warnings: [WARNING] } });
  });

  it('is not in later answers', async () => {
    const { body } = await facade.call('POST', '/v2/deployments', misspelt);
    expect((await facade.call('GET', `/v2/deployments/${body.id}`)).body).not.toHaveProperty('warnings');
  });

  it('is a warning in the answer to a PATCH', async () => {
    const id = facade.seed({ metadata: { name: 'shop' } }).metadata.uid;
    const patch = { source_config: { resource_spec: { max_scal: 0 } } };
    expect(await facade.call('PATCH', `/v2/deployments/${id}`, patch)).toMatchObject({
      status: 200,
      body: { warnings: [WARNING] },
    });
  });

  it('is rejected by Strict together with all other errors, and nothing is written', async () => {
    const body = { ...misspelt, name: 7 };
    expect(await facade.call('POST', '/v2/deployments?fieldValidation=Strict', body)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'name'] }, WARNING] },
    });
    expect(facade.writes()).toEqual([]);
  });

  it('is ignored by Ignore', async () => {
    const { status, body } = await facade.call('POST', '/v2/deployments?fieldValidation=Ignore', misspelt);
    expect([status, body.warnings]).toEqual([201, undefined]);
  });

  it('is a warning in the error that it caused', async () => {
    const cause = {
      field: 'spec.sourceRevisionConfig.imageUri',
      message: 'Required value: source external_docker needs imageUri',
    };
    const refused = new Invalid('x', [{ ...cause, reason: 'FieldValueRequired' }]);
    facade.kube.failOn(({ verb, kind }) => (verb === 'create' && kind === 'AppDeployment' ? refused : undefined));
    const body = aBody({ source_revision_config: { image: 'registry.example/app:1' } });
    expect(await facade.call('POST', '/v2/deployments', body)).toMatchObject({
      status: 422,
      body: {
        detail: [{ loc: ['body', 'source_revision_config', 'image_uri'], type: 'missing' }],
        warnings: [{ msg: 'is not a known field: did you mean image_uri?' }],
      },
    });
  });
});

it('the aliases of published clients are known', async () => {
  const id = facade.seed({ metadata: { name: 'shop' } }).metadata.uid;
  const patch = { revision_source: 'github', source_revision_config: { langgraph_config_path: 'x.json' } };
  const { body } = await facade.call('PATCH', `/v2/deployments/${id}?fieldValidation=Strict`, patch);
  expect(body.detail.map(({ type }: { type: string }) => type)).not.toContain('extra_forbidden');
});

it.each(['Warn', 'Strict'])('an answer can be sent back with %s', async (mode) => {
  const { body: made } = await facade.call('POST', '/v2/deployments', aBody({}));
  facade.snapshot();
  const { body: read } = await facade.call('GET', `/v2/deployments/${made.id}`);
  const answer = await facade.call('PATCH', `/v2/deployments/${made.id}?fieldValidation=${mode}`, read);
  expect([answer.status, answer.body]).toEqual([200, read]);
});

it.each(['Warn', 'Strict'])('a body of many unknown keys gets a short answer with %s', async (mode) => {
  const keys = Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`key${index}`, 'canary']));
  const { body } = await facade.call('POST', `/v2/deployments?fieldValidation=${mode}`, { ...misspelt, ...keys });
  expect(JSON.stringify(body).length).toBeLessThan(10_000);
});
