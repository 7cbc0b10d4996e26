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
