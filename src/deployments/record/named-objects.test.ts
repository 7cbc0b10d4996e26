// Which objects of its namespace a record's pods need.

import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import { namedObjects } from './named-objects.ts';

it('are found wherever a pod names them, each once, without those that it can do without', () => {
  const resourceSpec = {
    serviceAccountName: 'robot',
    imagePullSecrets: [{ name: 'registry' }],
    volumes: [
      { name: 'a', persistentVolumeClaim: { claimName: 'files' } },
      { name: 'b', secret: { secretName: 'keys' } },
      { name: 'c', configMap: { name: 'settings' } },
      {
        name: 'd',
        projected: { sources: [{ secret: { name: 'keys' } }, { configMap: { name: 'more', optional: true } }] },
      },
      { name: 'e', emptyDir: {} },
    ],
    sidecars: [
      {
        name: 'proxy',
        image: 'registry.example/proxy:1',
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'proxy', key: 'a' } } }],
        envFrom: [{ configMapRef: { name: 'env' } }, { secretRef: { name: 'maybe', optional: true } }],
      },
    ],
  };
  const found = namedObjects(aRecord({ sourceConfig: { resourceSpec } }).spec);
  expect(found.map(({ kind, name }) => `${kind}/${name}`).toSorted()).toEqual([
    'ConfigMap/env',
    'ConfigMap/settings',
    'PersistentVolumeClaim/files',
    'Secret/keys',
    'Secret/proxy',
    'Secret/registry',
    'ServiceAccount/robot',
  ]);
});

it('are none where nothing is asked for', () => {
  expect(namedObjects(aRecord().spec)).toEqual([]);
});
