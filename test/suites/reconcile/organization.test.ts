// What is said of OAuth providers and integrations, over the in-memory API server.

import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { makeMetrics } from '../../../src/lib/controller/metrics.ts';
import { makeWorkQueue } from '../../../src/lib/controller/work-queue.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry, SECRETS } from '../../../src/lib/kube/api-resources.ts';
import { makeOrganizationReconciler, wakeOrganization } from '../../../src/organization/reconciler.ts';
import { CODE_HOST_INTEGRATIONS } from '../../../src/schema/code-host-integration.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../../../src/schema/oauth-provider.ts';
import { defaultSettings } from '../../../src/schema/settings.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aController, aServer } from './harness.ts';

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
  const { caches } = controller;
  const registry = makeResourceRegistry([...BUILT_IN_RESOURCES, OAUTH_PROVIDERS, CODE_HOST_INTEGRATIONS]);
  const log = pino({ level: 'silent' });
  const queue = makeWorkQueue({ name: 'organization', metrics: makeMetrics() });
  onTestFinished(wakeOrganization(caches, queue));
  const reconcile = makeOrganizationReconciler(
    { client: kube, caches, registry },
    defaultSettings(),
    () => new Date(0),
  );
  // The harness waits until its caches have seen what the server has.
  const seen = async (): Promise<void> => void (await controller.reconcile('team/nothing'));
  return {
    kube,
    pass: async () => {
      await seen();
      controller.writes();
      while (queue.length > 0) {
        // oxlint-disable-next-line no-await-in-loop -- one after another
        const key = (await queue.take()) ?? '';
        // oxlint-disable-next-line no-await-in-loop -- as above
        await reconcile(key, new AbortController().signal, log);
        queue.done(key);
        // oxlint-disable-next-line no-await-in-loop -- as above
        await seen();
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
