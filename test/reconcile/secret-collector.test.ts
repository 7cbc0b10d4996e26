// The collector over the in-memory API server: what it deletes, and what a live look keeps it from deleting.

import { afterEach, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../src/api/app-deployment.ts';
import { makeSecretCollector } from '../../src/controller/secret-collector.ts';
import type { KubeObject } from '../../src/kube/client.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry, SECRETS } from '../../src/kube/resources.ts';
import { makeLogger } from '../../src/logger.ts';
import type { FakeKube } from '../fake-kube/fake-kube.ts';
import { aController, aServer, type Harness, putRecord } from './harness.ts';

let controller: Harness | undefined;
afterEach(() => controller?.stop());

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
  controller = await aController(kube);
  const shell = { client: kube, caches: controller.caches, registry: makeResourceRegistry(BUILT_IN_RESOURCES) };
  let elapsed = 0;
  const collector = makeSecretCollector(shell, () => elapsed);
  const look = async (): Promise<number | undefined> =>
    (await collector('team/shop--vars-1', new AbortController().signal, makeLogger('silent'))).requeueAfterMs;
  expect([undefined, 60_000]).toContain(await look());
  elapsed = 60_000;
  beforeLooking();
  await look();
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
  controller = await aController(kube);
  const shell = { client: kube, caches: controller.caches, registry: makeResourceRegistry(BUILT_IN_RESOURCES) };
  const collector = makeSecretCollector(shell, () => 0);
  const looked = await collector('team/shop--vars-1', new AbortController().signal, makeLogger('silent'));
  expect(looked).toEqual({ requeueAfterMs: 60_000 });
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
  controller = await aController(kube);
  const shell = { client: kube, caches: controller.caches, registry: makeResourceRegistry(BUILT_IN_RESOURCES) };
  let ms = 0;
  const reconcile = makeSecretCollector(shell, () => ms);
  const collectAgain = (): Promise<unknown> =>
    reconcile('team/shop--vars-1', new AbortController().signal, makeLogger('silent'));
  expect(await collectAgain()).toEqual({});
  kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
  await controller.reconcile();
  ms += 3_600_000;
  expect(await collectAgain()).toEqual({ requeueAfterMs: 60_000 });
  ms += 60_000;
  expect(kube.objects(SECRETS)).toHaveLength(1);
  expect(await collectAgain()).toEqual({});
  expect(kube.objects(SECRETS)).toEqual([]);
});
