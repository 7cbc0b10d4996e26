// Deployments that another cluster is to run: the Listener that they name must be one of their tenant.

import { beforeEach, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/api/app-deployment.ts';
import { LISTENERS, type Listener } from '../../../src/api/listener.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT } from './facade.ts';

const MINE = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const THEIRS = '5f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
  for (const [uid, namespace] of [
    [MINE, TENANT.namespace],
    [THEIRS, OTHER_TENANT.namespace],
  ] as const) {
    facade.kube.seed<Listener>(LISTENERS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'Listener',
      metadata: { name: 'edge', namespace, uid },
      spec: { namespaces: ['shops', 'tools'] },
    });
  }
  facade.listeners.fill();
});
const post = (listener_id: string, k8s_namespace: string): Promise<Answer> =>
  facade.call('POST', '/v2/deployments', aBody({ source_config: { listener_id, listener_config: { k8s_namespace } } }));

it.each([MINE, MINE.toUpperCase()])(
  'accepts a Listener of the tenant, with a namespace that it lists: %s',
  async (id) => {
    const { status, body } = await post(id, 'tools');
    expect([status, body.status, body.source_config]).toMatchObject([
      201,
      'UNKNOWN',
      { listener_id: id, listener_config: { k8s_namespace: 'tools' } },
    ]);
    // Nobody here would take a finalizer off it.
    expect(facade.kube.objects(APP_DEPLOYMENTS).map(({ metadata }) => metadata.finalizers ?? [])).toEqual([[]]);
    const listed = async (flag: boolean): Promise<number> =>
      (await facade.call('GET', `/v2/deployments?remote_reconciled=${flag}`)).body.resources.length;
    expect([await listed(true), await listed(false)]).toEqual([1, 0]);
  },
);

it.each([
  [
    'one that is not there',
    '6f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11',
    'tools',
    'listener_id',
    'is not a Listener of this tenant',
  ],
  ["another tenant's", THEIRS, 'tools', 'listener_id', 'is not a Listener of this tenant'],
  [
    'a namespace that it does not list',
    MINE,
    'kube-system',
    'listener_config.k8s_namespace',
    'is not a namespace of this listener. Its namespaces: shops, tools',
  ],
])('%s is 422, and nothing is written', async (_name, id, namespace, field, msg) => {
  const { status, body } = await post(id, namespace);
  expect([status, body.detail]).toEqual([
    422,
    [{ loc: ['body', 'source_config', ...field.split('.')], msg, type: 'value_error' }],
  ]);
  expect(facade.writes()).toEqual([]);
});

it('503 while the cache of Listeners is not filled', async () => {
  facade.listeners.synced = false;
  expect((await post(MINE, 'tools')).status).toBe(503);
});
