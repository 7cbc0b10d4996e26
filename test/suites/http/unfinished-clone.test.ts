// Changes of a clone in another namespace whose data is not loaded yet, over an in-memory API server. The plugin refuses the same.

import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { aBody, type Facade, makeFacade, TENANT } from './facade.ts';

let facade: Facade;
let id: string;
const ZERO = { minScale: 0, maxScale: 0 };
const CLONING = '{"uid":"o","from":{"namespace":"prod","name":"shop-live"}}';

beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
});

function becomes(cloning: string, resourceSpec: object): void {
  const [record] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  const { metadata, spec, ...rest } = record as AppDeployment;
  const annotations = { ...metadata.annotations, 'davit.dev/cloning': cloning };
  const sourceConfig = { ...spec.sourceConfig, resourceSpec };
  facade.kube.seed(APP_DEPLOYMENTS, {
    ...rest,
    metadata: { ...metadata, annotations },
    spec: { ...spec, sourceConfig },
  });
  facade.records.fill();
}

const path = (rest = ''): string => `/v2/deployments/${id}${rest}`;

describe('an unfinished clone', () => {
  it.each<[string, 'PATCH' | 'POST' | 'PUT' | 'DELETE', string, object | undefined, string]>([
    ['its scale', 'PATCH', '', { source_config: { resource_spec: { min_scale: 1, max_scale: 1 } } }, 'changed'],
    ['its image', 'PATCH', '', { source_revision_config: { image_uri: 'app:2' } }, 'changed'],
    ['plain variables', 'PATCH', '', { source_config: { env: [{ name: 'A', value: '1' }] } }, 'changed'],
    ['secrets', 'PATCH', '', { secrets: [{ name: 'A', value: '1' }] }, 'changed'],
    ['one secret', 'PUT', '/secrets/A', { value: '1' }, 'changed'],
    ['a secret that goes', 'DELETE', '/secrets/API_KEY', undefined, 'changed'],
    ['a new revision', 'POST', '/revisions', {}, 'changed'],
    ['a run of a task', 'POST', '/tasks/clean/runs', {}, 'run'],
  ])(
    'is refused %s, with the sentence of the plugin, and nothing is written',
    async (_what, method, rest, body, done) => {
      becomes(CLONING, ZERO);
      const before = facade.writes().length;
      const answer = await facade.call(method, path(rest), body);
      expect([answer.status, answer.body]).toEqual([
        409,
        {
          detail: `Nothing was ${done}. It is an unfinished clone of shop-live in namespace prod: its data is not loaded, and no pod runs until then.
To go on, with the contexts that it was begun with: kubectl davit clone shop-live --namespace=prod --to=shop --to-namespace=${TENANT.namespace}
To give up: kubectl davit delete shop`,
        },
      ]);
      expect(facade.writes()).toHaveLength(before);
    },
  );

  it('can be deleted', async () => {
    becomes(CLONING, ZERO);
    expect((await facade.call('DELETE', path())).status).toBe(204);
  });

  it.each([
    ['has pods, whatever its annotation says', CLONING, { minScale: 1, maxScale: 1 }],
    ['has an annotation that is none', 'no JSON', ZERO],
  ])('is another deployment where it %s', async (_what, cloning, resourceSpec) => {
    becomes(cloning, resourceSpec);
    const patch = { source_revision_config: { image_uri: 'registry.example/app:2' } };
    expect((await facade.call('PATCH', path(), patch)).status).toBe(200);
  });
});
