// What is said of OAuth providers and integrations, over the in-memory API server.

import { expect, it } from 'vitest';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../../../src/kinds/oauth-provider.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

const NAMESPACE = 'davit-org';
const SECRET = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'client', namespace: NAMESPACE } };

async function organization(): Promise<{ kube: FakeKube; pass: () => Promise<string[]> }> {
  const kube = aServer();
  kube.seed(OAUTH_PROVIDERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { name: 'tracker', namespace: NAMESPACE, generation: 3 },
    spec: { clientSecretRef: { name: 'client', key: 'client-secret' } },
  } as OAuthProvider);
  const controller = await aController(kube);
  const woken = controller.wake('organization');
  return {
    kube,
    pass: async () => {
      let keys = await woken.take();
      controller.writes();
      while (keys.length > 0) {
        for (const key of keys) await controller.reconcile(key, 'organization');
        keys = await woken.take();
      }
      return controller.writes();
    },
  };
}

function ready(kube: FakeKube): string {
  const { status } = kube.objects<OAuthProvider>(OAUTH_PROVIDERS)[0] ?? {};
  const [condition] = status?.conditions ?? [];
  return `${status?.observedGeneration} ${condition?.status} ${condition?.reason}`;
}

it('a missing Secret is said, heals, and at rest nothing is written', async () => {
  const { kube, pass } = await organization();
  expect(await pass()).toEqual(['apply OAuthProvider tracker/status']);
  expect(ready(kube)).toBe('3 False SecretMissing');
  kube.seed(SECRETS, SECRET);
  expect(await pass()).toEqual(['apply OAuthProvider tracker/status']);
  expect(ready(kube)).toBe('3 True SecretFound');
  kube.erase(SECRETS, { namespace: NAMESPACE, name: 'client' });
  await pass();
  expect(ready(kube)).toBe('3 False SecretMissing');
});
