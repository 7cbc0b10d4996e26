import { expect, it } from 'vitest';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { Forbidden, Gone } from '../errors.ts';
import { CONFIG_MAPS } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject, ListOptions } from '../kube/client.ts';
import { listAllPages } from './pager.ts';

function aServerOf(names: readonly string[], failsAt?: { readonly page: number; readonly error: Error }) {
  const kube = makeFakeKube();
  for (const name of names)
    kube.seed(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 't1', name } });
  const asked: ListOptions[] = [];
  const client = {
    ...kube,
    list: (async (resource, options = {}) => {
      asked.push(options);
      if (asked.length === failsAt?.page) throw failsAt.error;
      return kube.list(resource, options);
    }) as KubeClient['list'],
  };
  return { kube, client, asked };
}

async function namesIn(client: KubeClient, keep = (object: KubeObject): KubeObject => object): Promise<string[]> {
  const { items } = await listAllPages<KubeObject>(client, CONFIG_MAPS, { pageSize: 2, keep });
  return items.map(({ metadata }) => metadata.name);
}

it('is read page by page, as of one version, and kept as told', async () => {
  const { kube, client, asked } = aServerOf(['a', 'b', 'c']);
  const version = kube.resourceVersion();
  const keep = ({ apiVersion, kind, metadata: { name } }: KubeObject): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name },
  });
  const list = await listAllPages<KubeObject>(client, CONFIG_MAPS, { pageSize: 2, namespace: 't1', keep });
  expect(list.items.map(({ metadata }) => metadata)).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
  expect(list.version).toBe(version);
  expect(asked).toEqual([
    { namespace: 't1', limit: 2 },
    { namespace: 't1', limit: 2, continueToken: expect.any(String) as string },
  ]);
});

it('is asked for in one piece where its version was forgotten between two pages', async () => {
  const { client, asked } = aServerOf(['a', 'b', 'c'], { page: 2, error: new Gone('the continue token has expired') });
  expect(await namesIn(client)).toEqual(['a', 'b', 'c']);
  expect(asked.map(({ limit }) => limit)).toEqual([2, 2, undefined]);
});

it('fails with the error of any of its pages', async () => {
  const error = new Forbidden('no');
  const { client } = aServerOf(['a', 'b', 'c'], { page: 2, error });
  await expect(namesIn(client)).rejects.toBe(error);
});
