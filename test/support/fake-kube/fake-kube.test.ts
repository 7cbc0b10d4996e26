// The fake is held to the same statements as the real API server: test/suites/integration/kube-client.test.ts runs
// `behaviours` too. What is only the fake's is tested here.
import { describe, expect, it } from 'vitest';
import { NotFound, Unavailable } from '../../../src/runtime/errors.ts';
import { CONFIG_MAPS, DEPLOYMENTS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { describeClientBehaviour } from './client-behaviour.ts';
import { makeFakeKube } from './fake-kube.ts';

describeClientBehaviour('fake', async () => {
  const kube = makeFakeKube();
  return { client: kube, namespace: 't1', close: async () => {} };
});

describe('fake kube', () => {
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 't1', name: 'x' }, data: { a: '1' } };

  it('records writes in order, refused ones with their error', async () => {
    const kube = makeFakeKube();
    kube.seed(CONFIG_MAPS, map);
    kube.failOn(({ verb }) => (verb === 'apply' ? new Unavailable('down') : undefined));
    await kube.withToken('t').mergePatch(CONFIG_MAPS, map.metadata, { data: { b: '2' } }, { fieldManager: 'm' });
    await expect(kube.apply(CONFIG_MAPS, map, { fieldManager: 'm' })).rejects.toThrow('down');
    const ref = { namespace: 't1', name: 'x' };
    expect(kube.writes).toEqual([
      { verb: 'patch', kind: 'ConfigMap', ref, body: { data: { b: '2' } }, fieldManager: 'm', token: 't' },
      { verb: 'apply', kind: 'ConfigMap', ref, body: map, fieldManager: 'm', error: 'Unavailable' },
    ]);
  });

  it('carries a write out and loses its answer', async () => {
    const kube = makeFakeKube();
    kube.failAfter(() => new Unavailable('reset'));
    await expect(kube.create(CONFIG_MAPS, map)).rejects.toThrow('reset');
    expect(kube.objects(CONFIG_MAPS)).toHaveLength(1);
  });

  it('changes nothing in a dry run', async () => {
    const kube = makeFakeKube();
    const before = kube.resourceVersion();
    expect(await kube.create(CONFIG_MAPS, map, { dryRun: true })).toMatchObject({ data: { a: '1' } });
    expect(kube.resourceVersion()).toBe(before);
    await expect(kube.get(CONFIG_MAPS, map.metadata)).rejects.toBeInstanceOf(NotFound);
  });

  it('seeds status and a generation as they are given', () => {
    const kube = makeFakeKube();
    const seeded = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 't1', name: 'p', generation: 4 },
      status: { phase: 'Running' },
    };
    kube.seed(PODS, seeded);
    expect(kube.seed(PODS, { ...seeded, status: { phase: 'Failed' } } as KubeObject)).toMatchObject({
      metadata: { generation: 4 },
      status: { phase: 'Failed' },
    });
  });

  it('collects what has lost its owners', async () => {
    const kube = makeFakeKube();
    const owner = kube.seed<KubeObject>(DEPLOYMENTS, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 't1', name: 'd' },
    });
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: String(owner.metadata.uid) }];
    kube.seed(CONFIG_MAPS, { ...map, metadata: { ...map.metadata, ownerReferences } });
    kube.collectGarbage();
    expect(kube.objects(CONFIG_MAPS)).toHaveLength(1);
    kube.erase(DEPLOYMENTS, owner.metadata);
    kube.collectGarbage();
    expect(kube.objects(CONFIG_MAPS)).toHaveLength(0);
  });
});
