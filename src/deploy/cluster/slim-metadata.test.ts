import { expect, it } from 'vitest';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { slimObject } from './slim.ts';

const secret = (metadata: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'shop--postgres', namespace: 'team', uid: 'u', resourceVersion: '7', ...metadata },
});

it('keeps what Davit reads', () => {
  const whole = secret({
    labels: { 'davit.dev/deployment': 'shop', 'app.kubernetes.io/name': 'shop' },
    annotations: { 'davit.dev/deployment-uid': 'r' },
    ownerReferences: [{ apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid: 'r' }],
    finalizers: ['example.com/hold'],
  });
  expect(slimObject(whole)).toEqual(whole);
});

it('keeps nothing else, however much there is', () => {
  const large = 'x'.repeat(250_000);
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`davit.dev/l${index}`, 'x']));
  const owners = Array.from({ length: 5000 }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'p',
    uid: `${index}`,
  }));
  const slim = slimObject(
    secret({
      labels: { ...many, team: 'a' },
      annotations: { note: large, 'davit.dev/note': large },
      ownerReferences: owners,
      finalizers: owners.map(({ uid }) => `example.com/${uid}`),
      managedFields: [{ manager: 'kubectl', fieldsV1: large }],
    }),
  );
  expect(JSON.stringify(slim).length).toBeLessThan(5000);
  expect(slim.metadata).toMatchObject({ name: 'shop--postgres', uid: 'u', resourceVersion: '7', annotations: {} });
});
