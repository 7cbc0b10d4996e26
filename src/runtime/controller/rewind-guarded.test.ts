import { expect, it } from 'vitest';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { CONFIG_MAPS } from '../kube/api-resources.ts';
import type { KubeObject } from '../kube/client.ts';
import { rewindGuarded } from './leading.ts';

const ref = { namespace: 'team', name: 'a' };
const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref };

it('tells of an object that is older than it was, however it comes to be seen', async () => {
  const [before, after] = [makeFakeKube(), makeFakeKube()];
  let kube = before;
  const rewound: string[] = [];
  const client = rewindGuarded(
    {
      ...before,
      get: (...all) => kube.get(...all),
      create: (...all) => kube.create(...all),
      replace: (...all) => kube.replace(...all),
    },
    (what) => rewound.push(what),
  );
  for (let i = 0; i < 9; i++) before.seed(CONFIG_MAPS, { ...object, metadata: { ...ref, name: `other-${i}` } });
  const made = await client.create(CONFIG_MAPS, object);
  await client.get(CONFIG_MAPS, ref);
  await client.replace(CONFIG_MAPS, { ...made, metadata: { ...made.metadata, labels: { a: 'b' } } });
  expect(rewound).toEqual([]);
  kube = after;
  const again = await client.create(CONFIG_MAPS, object);
  await client.get(CONFIG_MAPS, ref);
  await client.replace(CONFIG_MAPS, { ...again, metadata: { ...again.metadata, labels: { a: 'b' } } });
  expect(rewound).toHaveLength(3);
  expect(rewound[0]).toMatch(/^ConfigMap a: resourceVersion \d+ is older than \d+, which was seen before$/);
});
