import { expect, it } from 'vitest';
import type { KubeObject } from '../../lib/kube/client.ts';
import { foreignFields } from './foreign-fields.ts';

function aDeployment(pods: object): KubeObject {
  const spec = { template: { spec: { containers: [{ name: 'server', image: 'a:1' }], ...pods } } };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop' }, spec } as KubeObject;
}

it.each<{ name: string; wanted: object; actual: object; found: readonly string[] }>([
  { name: 'nothing', wanted: {}, actual: {}, found: [] },
  { name: 'a node selector', wanted: {}, actual: { nodeSelector: { disk: 'fast' } }, found: ['nodeSelector'] },
  {
    name: 'another label beside the wanted ones',
    wanted: { nodeSelector: { disk: 'fast' } },
    actual: { nodeSelector: { disk: 'fast', zone: 'a' } },
    found: ['nodeSelector'],
  },
  {
    name: 'a label that every object inherits',
    wanted: { nodeSelector: { disk: 'fast' } },
    actual: { nodeSelector: { disk: 'fast', constructor: 'x' } },
    found: ['nodeSelector'],
  },
])('finds $name', ({ wanted, actual, found }) => {
  expect(foreignFields([aDeployment(wanted)], { children: [aDeployment(actual)] })).toEqual(
    found.map((field) => `Deployment shop: ${field}`),
  );
});

it('finds what was added to the pods of a CronJob', () => {
  const cronJob = (pods: object): KubeObject => {
    const { spec } = aDeployment(pods) as unknown as { readonly spec: object };
    return { kind: 'CronJob', metadata: { name: 'shop' }, spec: { jobTemplate: { spec } } } as unknown as KubeObject;
  };
  const there = cronJob({
    serviceAccountName: 'alice',
    containers: [{ name: 'server', image: 'a:1', command: ['sh'] }, { name: 'evil' }],
  });
  expect(foreignFields([cronJob({})], { children: [there] })).toEqual([
    'CronJob shop: container evil',
    'CronJob shop: serviceAccountName',
    'CronJob shop: command of container server',
  ]);
});
