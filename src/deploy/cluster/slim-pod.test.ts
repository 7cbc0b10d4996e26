import { expect, it } from 'vitest';
import type { Pod } from '../assess/observed.ts';
import { slimPod } from './slim.ts';

const LARGE = 'x'.repeat(1_000_000);

it('keeps what is used of a pod, and a few kilobytes of one with megabytes', () => {
  const used = {
    metadata: {
      name: 'shop-1',
      namespace: 'team',
      uid: 'u',
      labels: { 'davit.dev/deployment': 'shop', 'pod-template-hash': '5d' },
      annotations: { 'davit.dev/secrets': 'digest' },
    },
    spec: {
      nodeName: 'one',
      volumes: [{ persistentVolumeClaim: { claimName: 'shop--postgres' } }],
      initContainers: [{ name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' }],
      containers: [{ name: 'server', image: 'shop:1', resources: { requests: { cpu: '1' } } }],
    },
    status: { phase: 'Running', containerStatuses: [{ name: 'server', restartCount: 1 }] },
  };
  const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`x${n}`, 'y'.repeat(63)]));
  const whole = {
    ...used,
    metadata: {
      ...used.metadata,
      managedFields: [{ manager: LARGE }],
      annotations: { ...used.metadata.annotations, note: LARGE },
    },
    spec: {
      ...used.spec,
      volumes: [{ name: 'text', configMap: { name: LARGE } }, ...used.spec.volumes],
      initContainers: used.spec.initContainers.map((one) => ({ ...one, command: [LARGE] })),
      containers: used.spec.containers.map((one) => ({ ...one, env: [{ name: 'A', value: LARGE }], args: [LARGE] })),
    },
  } as unknown as Pod;
  expect(slimPod(whole)).toEqual(used);
  const many = slimPod({ ...whole, metadata: { ...whole.metadata, labels: { ...used.metadata.labels, ...labels } } });
  expect(many.metadata.labels).toMatchObject(used.metadata.labels);
  expect(JSON.stringify(many).length).toBeLessThan(10_000);
  const owners = Array.from({ length: 5000 }, (_, n) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: `o${n}`,
    uid: `${n}`,
  }));
  const owned = slimPod({ ...whole, metadata: { ...whole.metadata, ownerReferences: owners } });
  expect(owned.metadata.ownerReferences).toEqual(owners.slice(0, 20));
  const bare = { metadata: { name: 'bare' } } as unknown as Pod;
  expect(slimPod(bare)).toEqual(bare);
});
