// The collector over the in-memory API server: what it deletes, and what a live look keeps it from deleting.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { PROVIDER_LABEL } from '../../../src/kinds/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../../../src/kinds/oauth-provider.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

const SECRET = 'team/shop--vars-1';

function putSecret(kube: FakeKube, creationTimestamp = '2026-01-01T00:00:00Z'): void {
  const metadata = {
    creationTimestamp,
    name: 'shop--vars-1',
    namespace: 'team',
    labels: { 'davit.dev/deployment': 'shop', 'davit.dev/variables': '' },
  };
  kube.seed<KubeObject>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata });
}

async function collect(kube: FakeKube, beforeLooking: () => void = () => undefined): Promise<string[]> {
  const controller = await aController(kube);
  const { requeueAfterMs } = await controller.pass(SECRET, 'secrets');
  expect([undefined, 60_000]).toContain(requeueAfterMs);
  controller.clock.ms += 60_000;
  beforeLooking();
  await controller.pass(SECRET, 'secrets');
  return controller.writes();
}

it('an orphan is deleted, by uid and version', async () => {
  const kube = aServer();
  putSecret(kube);
  expect(await collect(kube)).toEqual(['delete Secret shop--vars-1']);
  expect(kube.objects(SECRETS)).toEqual([]);
});

it('one that has just been seen stays, however long ago its maker says that it was made', async () => {
  const kube = aServer();
  putSecret(kube, '1970-01-01T00:00:00Z');
  const controller = await aController(kube);
  expect(await controller.pass(SECRET, 'secrets')).toEqual({ requeueAfterMs: 60_000 });
  expect(controller.writes()).toEqual([]);
});

it('one that a record names stays', async () => {
  const kube = aServer();
  putSecret(kube);
  putRecord(kube, { secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
  expect(await collect(kube)).toEqual([]);
});

it('a record that the cache does not know yet saves its Secret', async () => {
  const kube = aServer();
  putSecret(kube);
  const made = (): void => putRecord(kube, { secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
  expect(await collect(kube, made)).toEqual([]);
  expect(kube.objects(APP_DEPLOYMENTS)).toHaveLength(1);
});

it('one that was named until now stays for a minute more: a rollback may be on its way that names it again', async () => {
  const kube = aServer();
  putSecret(kube);
  putRecord(kube, { secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
  const controller = await aController(kube);
  const { clock } = controller;
  const collectAgain = (): Promise<unknown> => controller.pass(SECRET, 'secrets');
  expect(await collectAgain()).toEqual({});
  kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
  await controller.reconcile();
  clock.ms += 3_600_000;
  expect(await collectAgain()).toEqual({ requeueAfterMs: 60_000 });
  clock.ms += 60_000;
  expect(kube.objects(SECRETS)).toHaveLength(1);
  expect(await collectAgain()).toEqual({});
  expect(kube.objects(SECRETS)).toEqual([]);
});

describe('a client secret', () => {
  const name = 'tracker--client-1';
  function putClientSecret(kube: FakeKube, labels: Record<string, string> = { [PROVIDER_LABEL]: 'tracker' }): void {
    const metadata = { name, namespace: 'davit-org', labels };
    kube.seed<KubeObject>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata });
  }
  function putProvider(kube: FakeKube, secret = name): void {
    kube.seed<OAuthProvider>(OAUTH_PROVIDERS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'OAuthProvider',
      metadata: { name: 'tracker', namespace: 'davit-org' },
      spec: {
        name: 'Tracker',
        clientId: 'abc',
        authUrl: 'https://a.example',
        tokenUrl: 'https://a.example',
        usesPkce: false,
        tokenEndpointAuthMethod: 'none',
        isDynamicClient: false,
        clientSecretRef: { name: secret, key: 'client-secret' },
      },
    });
  }
  async function collectIt(
    kube: FakeKube,
    beforeLooking: () => void = () => undefined,
    at = 60_000,
  ): Promise<string[]> {
    const controller = await aController(kube);
    await controller.pass(`davit-org/${name}`, 'client-secrets');
    controller.clock.ms += at;
    beforeLooking();
    await controller.pass(`davit-org/${name}`, 'client-secrets');
    return controller.writes();
  }

  it('that no provider names is deleted', async () => {
    const kube = aServer();
    putClientSecret(kube);
    putProvider(kube, 'tracker--client-2');
    expect(await collectIt(kube)).toEqual([`delete Secret ${name}`]);
  });
  it('that a provider names stays, also one that the cache does not know yet', async () => {
    const kube = aServer();
    putClientSecret(kube);
    expect(await collectIt(kube, () => putProvider(kube))).toEqual([]);
    expect(await collectIt(kube)).toEqual([]);
  });
  it('that nothing has named for less than a minute stays: its provider may be on its way', async () => {
    const kube = aServer();
    putClientSecret(kube);
    expect(await collectIt(kube, undefined, 59_999)).toEqual([]);
  });
  it('that we did not make stays', async () => {
    const kube = aServer();
    putClientSecret(kube, {});
    expect(await collectIt(kube)).toEqual([]);
  });
  it('is looked at when it is there at the start, when it comes, and when its provider changes or goes', async () => {
    const kube = aServer();
    putClientSecret(kube);
    putProvider(kube);
    const controller = await aController(kube);
    const woken = controller.wake('client-secrets');
    expect(await woken.take()).toEqual([`davit-org/${name}`]);
    putProvider(kube, 'another');
    expect(await woken.take()).toEqual([`davit-org/${name}`]);
    kube.erase(OAUTH_PROVIDERS, { namespace: 'davit-org', name: 'tracker' });
    expect(await woken.take()).toEqual([`davit-org/${name}`]);
  });
});
